//! How far the audit log is written to a file. One process at a time writes, under a lease.

use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;

/// Takes or renews the lease until `until`, and returns the id of the last entry in the file.
///
/// Returns None while another process has the lease.
pub async fn hold(
    control: &Control,
    node: Uuid,
    until: Timestamp,
    now: Timestamp,
) -> Result<Option<i64>, Error> {
    let last_entry = sqlx::query_scalar!(
        "update control.audit_file set node = $1, held_until = $2
         where node = $1 or node is null or held_until <= $3
         returning last_entry",
        node,
        until,
        now
    );
    Ok(last_entry.fetch_optional(&control.pool).await?)
}

/// Records that the file holds all entries up to this one. False if the lease was lost: another
/// process then writes these entries once more.
pub async fn advance(control: &Control, node: Uuid, last_entry: i64) -> Result<bool, Error> {
    let moved = sqlx::query!(
        "update control.audit_file set last_entry = $2 where node = $1 and last_entry < $2",
        node,
        last_entry
    );
    let moved = moved.execute(&control.pool).await?;
    Ok(moved.rows_affected() == 1)
}

/// Ends the lease, so that another process continues at once.
pub async fn release(control: &Control, node: Uuid) -> Result<(), Error> {
    sqlx::query!(
        "update control.audit_file set node = null, held_until = null where node = $1",
        node
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}

/// When the oldest entry was made that is not in the file yet. None: the file holds all of them.
pub async fn find_oldest_unwritten(control: &Control) -> Result<Option<Timestamp>, Error> {
    let oldest = sqlx::query_scalar!(
        "select at from control.audit
         where id > (select last_entry from control.audit_file)
         order by id limit 1"
    );
    Ok(oldest.fetch_optional(&control.pool).await?)
}
