//! The identity of this installation, which object stores are marked with.

use uuid::Uuid;

use crate::Control;
use crate::Error;

/// The id that the first migration generated.
pub async fn read_id(control: &Control) -> Result<Uuid, Error> {
    let id = sqlx::query_scalar!("select id from control.installation")
        .fetch_one(&control.pool)
        .await?;
    Ok(id)
}
