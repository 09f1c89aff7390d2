//! Failed sign-ins, counted by what was tried: for all nodes together.

use domain::api_key::Digest;
use domain::person::{FORGOTTEN_AFTER, kept_out};
use domain::time::Timestamp;

use crate::Control;
use crate::Error;

/// Until when one of these may not try, if any.
pub async fn blocked_until(
    control: &Control,
    subjects: &[Digest],
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

/// Counts a failure; `free` of them cost nothing.
pub async fn fail(
    control: &Control,
    subject: Digest,
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
        now - FORGOTTEN_AFTER
    )
    .fetch_one(&mut *tx)
    .await?;
    let wait = kept_out(u32::try_from(failures).unwrap_or(u32::MAX), free);
    sqlx::query!(
        "update control.throttle set blocked_until = $2 where subject = $1",
        subject.0.as_slice(),
        wait.map(|wait| now + wait)
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "delete from control.throttle where first_at < $1 and coalesce(blocked_until < $2, true)",
        now - FORGOTTEN_AFTER,
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}

/// Who got in is no longer suspected.
pub async fn forget(control: &Control, subject: Digest) -> Result<(), Error> {
    sqlx::query!(
        "delete from control.throttle where subject = $1",
        subject.0.as_slice()
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}
