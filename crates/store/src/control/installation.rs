//! Who we are to an object store.

use uuid::Uuid;

use crate::Control;
use crate::Error;

/// The id that this installation got with its first migration.
pub async fn id(control: &Control) -> Result<Uuid, Error> {
    let id = sqlx::query_scalar!("select id from control.installation")
        .fetch_one(&control.pool)
        .await?;
    Ok(id)
}
