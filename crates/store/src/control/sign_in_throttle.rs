//! The rate limit of sign-ins: failures per e-mail address and per client host, counted for all
//! nodes together.

use domain::api_key::SecretDigest;
use domain::person::{SIGN_IN_FAILURE_WINDOW, sign_in_lockout};
use domain::time::Timestamp;

use crate::Control;
use crate::Error;

/// Until when sign-ins of any of these subjects are blocked, if they are.
pub async fn find_blocked_until(
    control: &Control,
    subjects: &[SecretDigest],
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let subjects: Vec<Vec<u8>> = subjects.iter().map(|subject| subject.0.to_vec()).collect();
    let until = sqlx::query_scalar!(
        "select max(blocked_until) from control.throttle
         where subject = any($1) and blocked_until > $2",
        &subjects,
        now
    );
    Ok(until.fetch_one(&control.pool).await?)
}

/// Counts a failure. The first `free` failures block nothing.
pub async fn record_failure(
    control: &Control,
    subject: SecretDigest,
    free: u32,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    let failures = sqlx::query_scalar!(
        "insert into control.throttle as t (subject, failures, first_at) values ($1, 1, $2)
         on conflict (subject) do update
             set failures = case when t.first_at < $3 then 1 else t.failures + 1 end,
                 first_at = case when t.first_at < $3 then $2 else t.first_at end
         returning failures",
        subject.0.as_slice(),
        now,
        now - SIGN_IN_FAILURE_WINDOW
    )
    .fetch_one(&mut *tx)
    .await?;
    let wait = sign_in_lockout(u32::try_from(failures).unwrap_or(u32::MAX), free);
    sqlx::query!(
        "update control.throttle set blocked_until = $2 where subject = $1",
        subject.0.as_slice(),
        wait.map(|wait| now + wait)
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "delete from control.throttle where first_at < $1 and coalesce(blocked_until < $2, true)",
        now - SIGN_IN_FAILURE_WINDOW,
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}

/// Resets the count after a successful sign-in.
pub async fn clear(control: &Control, subject: SecretDigest) -> Result<(), Error> {
    sqlx::query!(
        "delete from control.throttle where subject = $1",
        subject.0.as_slice()
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}
