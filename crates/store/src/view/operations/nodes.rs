//! Who works, and how large a database is.

use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::Shard;

/// A process with a lease: on a shard, or in control.
#[derive(Debug, Clone)]
pub struct Node {
    pub name: String,
    pub epoch: Option<i32>,
    pub seen_until: Timestamp,
    pub dead_at: Option<Timestamp>,
    /// By the database's own clock.
    pub is_alive: bool,
}

/// Those that work on a shard; those that are alive first.
pub async fn nodes(shard: &Shard) -> Result<Vec<Node>, Error> {
    let rows = sqlx::query_as!(
        Node,
        r#"select name, epoch as "epoch?", seen_until, dead_at,
               (dead_at is null and seen_until >= clock_timestamp()) as "is_alive!"
           from shard.node order by 5 desc, name, seen_until desc limit 50"#
    );
    Ok(rows.fetch_all(&shard.reads).await?)
}

/// Those that serve.
pub async fn serving(control: &Control) -> Result<Vec<Node>, Error> {
    let rows = sqlx::query_as!(
        Node,
        r#"select name, null::integer as epoch, seen_until, null::timestamptz as dead_at,
               seen_until >= clock_timestamp() as "is_alive!"
           from control.node order by 5 desc, name limit 50"#
    );
    Ok(rows.fetch_all(&control.pool).await?)
}

/// How large the database is on its disk.
pub async fn bytes(shard: &Shard) -> Result<i64, Error> {
    let bytes = sqlx::query_scalar!(r#"select pg_database_size(current_database()) as "bytes!""#);
    Ok(bytes.fetch_one(&shard.reads).await?)
}
