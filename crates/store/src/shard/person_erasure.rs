//! Where a shard names people: who started a resend, and who paused a lane or an account.

use domain::person::ERASED_PERSON;

use crate::Error;
use crate::Shard;

/// Replaces the e-mail address of a person. Returns in how many rows.
pub async fn erase_email(shard: &Shard, email: &str) -> Result<u64, Error> {
    let resends = sqlx::query!(
        "update shard.resend set started_by = $2 where started_by = $1",
        email,
        ERASED_PERSON
    )
    .execute(&shard.pool)
    .await?;
    let lanes = sqlx::query!(
        "update shard.lane set paused_by = $2 where paused_by = $1",
        email,
        ERASED_PERSON
    )
    .execute(&shard.pool)
    .await?;
    let accounts = sqlx::query!(
        "update shard.provider set reason = replace(reason, $1, $2)
         where position($1 in reason) > 0",
        email,
        ERASED_PERSON
    )
    .execute(&shard.pool)
    .await?;
    Ok(resends.rows_affected() + lanes.rows_affected() + accounts.rows_affected())
}
