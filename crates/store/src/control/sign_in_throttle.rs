//! The throttle of sign-ins: attempts by subject, counted for all nodes together before the password
//! is checked.

use domain::api_key::SecretDigest;
use domain::person::{SIGN_IN_FAILURE_WINDOW, sign_in_lockouts};
use domain::time::Timestamp;

use crate::Control;
use crate::Error;

/// What an attempt is counted under, and how many failures block nothing.
#[derive(Debug, Clone, Copy)]
pub struct ThrottleSubject {
    pub digest: SecretDigest,
    pub free: u32,
}

/// Counts an attempt as a failure, unless the subject is blocked: then until when.
///
/// One statement checks and counts, so parallel attempts cannot pass the limit together.
pub async fn count_attempt(
    control: &Control,
    subject: ThrottleSubject,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let row = sqlx::query!(
        r#"
        with counted as (
            insert into control.throttle as t (subject, failures, first_at, blocked_until)
            values ($1, 1, $2, $2::timestamptz + make_interval(secs => ($4::bigint[])[1]))
            on conflict (subject) do update
                set failures = case when t.first_at < $3 then 1 else t.failures + 1 end,
                    first_at = case when t.first_at < $3 then $2 else t.first_at end,
                    blocked_until = $2::timestamptz + make_interval(secs => ($4::bigint[])[
                        case when t.first_at < $3 then 1
                             else least(t.failures + 1, cardinality($4::bigint[])) end])
                -- Reads the row as the attempt before has left it.
                where t.blocked_until is null or t.blocked_until <= $2
            returning subject
        )
        select exists (select from counted) as "is_admitted!",
               (select blocked_until from control.throttle where subject = $1) as blocked_until
        "#,
        subject.digest.0.as_slice(),
        now,
        now - SIGN_IN_FAILURE_WINDOW,
        &sign_in_lockouts(subject.free)
    )
    .fetch_one(&control.pool)
    .await?;
    Ok((!row.is_admitted).then(|| row.blocked_until.unwrap_or(now)))
}

/// Takes an attempt back that was no failure. Failures of others keep their lockout.
pub async fn forgive_attempt(control: &Control, subject: ThrottleSubject) -> Result<(), Error> {
    sqlx::query!(
        "update control.throttle
         set failures = greatest(failures - 1, 0),
             blocked_until = case when failures > $2::bigint then blocked_until end
         where subject = $1",
        subject.digest.0.as_slice(),
        i64::from(subject.free)
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}

/// Resets the count of a subject.
pub async fn clear(control: &Control, subject: ThrottleSubject) -> Result<(), Error> {
    sqlx::query!(
        "delete from control.throttle where subject = $1",
        subject.digest.0.as_slice()
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}

/// Deletes some rows that count nothing any more. No other job does.
pub async fn delete_expired(control: &Control, now: Timestamp) -> Result<(), Error> {
    sqlx::query!(
        "delete from control.throttle where subject in (
             select subject from control.throttle
             where first_at < $1 and coalesce(blocked_until < $2, true)
             order by first_at limit 100 for update skip locked)",
        now - SIGN_IN_FAILURE_WINDOW,
        now
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}
