//! The clock of a shard's server. Processes measure the offset of their clocks against it.

use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

pub async fn read_time(shard: &Shard) -> Result<Timestamp, Error> {
    let told = sqlx::query_scalar!(r#"select clock_timestamp() as "told!""#);
    Ok(told.fetch_one(&shard.pool).await?)
}
