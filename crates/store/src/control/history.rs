//! The oldest entries of the audit log and of the change feed leave.

use domain::time::Timestamp;

use crate::Control;
use crate::Error;

/// Deletes at most `most` of the oldest entries of the audit log, of those made before `before`.
/// With `only_written`, entries that are not in the audit file yet stay. Returns how many.
pub async fn delete_audit_entries(
    control: &Control,
    before: Timestamp,
    only_written: bool,
    most: i64,
) -> Result<u64, Error> {
    let mut tx = control.pool.begin().await?;
    // The trigger that makes the log append-only lets nothing else delete.
    sqlx::query!("set local longshore.retention = 'on'")
        .execute(&mut *tx)
        .await?;
    let deleted = sqlx::query!(
        "delete from control.audit where at < $1
             and id in (select id from control.audit order by id limit $2)
             and (not $3 or id <= (select last_entry from control.audit_file))",
        before,
        most,
        only_written
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(deleted.rows_affected())
}

/// Deletes at most `most` of the oldest changes, of those made before `before`. The newest one stays:
/// nodes that have read it recognize the feed by it. Returns how many.
pub async fn delete_changes(control: &Control, before: Timestamp, most: i64) -> Result<u64, Error> {
    let deleted = sqlx::query!(
        "delete from control.change where at < $1
             and seq in (select seq from control.change order by seq limit $2)
             and seq < (select max(seq) from control.change)",
        before,
        most
    )
    .execute(&control.pool)
    .await?;
    Ok(deleted.rows_affected())
}
