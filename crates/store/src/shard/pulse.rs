//! What time it is on the shard: the offset that every other moment is corrected by.

use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

pub async fn time(shard: &Shard) -> Result<Timestamp, Error> {
    let told = sqlx::query_scalar!(r#"select clock_timestamp() as "told!""#);
    Ok(told.fetch_one(&shard.pool).await?)
}
