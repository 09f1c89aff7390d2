//! Nodes with a lease, and the size of a database.

use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::Shard;

/// A process with a lease on a shard or in control.
#[derive(Debug, Clone)]
pub struct NodeStatus {
    pub name: String,
    pub epoch: Option<i32>,
    pub seen_until: Timestamp,
    pub dead_at: Option<Timestamp>,
    /// By the database server's clock.
    pub is_alive: bool,
}

/// The nodes of a shard, live ones first.
pub async fn list_shard_nodes(shard: &Shard) -> Result<Vec<NodeStatus>, Error> {
    let rows = sqlx::query_as!(
        NodeStatus,
        r#"select name, epoch as "epoch?", seen_until, dead_at,
               (dead_at is null and seen_until >= clock_timestamp()) as "is_alive!"
           from shard.node order by 5 desc, name, seen_until desc limit 50"#
    );
    Ok(rows.fetch_all(&shard.reads).await?)
}

/// The nodes that serve the API, live ones first.
pub async fn list_serving_nodes(control: &Control) -> Result<Vec<NodeStatus>, Error> {
    let rows = sqlx::query_as!(
        NodeStatus,
        r#"select name, null::integer as epoch, seen_until, null::timestamptz as dead_at,
               seen_until >= clock_timestamp() as "is_alive!"
           from control.node order by 5 desc, name limit 50"#
    );
    Ok(rows.fetch_all(&control.pool).await?)
}

/// The size of the database on disk, in bytes.
pub async fn read_database_size(shard: &Shard) -> Result<i64, Error> {
    let bytes = sqlx::query_scalar!(r#"select pg_database_size(current_database()) as "bytes!""#);
    Ok(bytes.fetch_one(&shard.reads).await?)
}
