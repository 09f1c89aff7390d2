//! The databases of a trial, and how they are distributed over servers.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, PgPool};

use crate::harness::servers::postgres;
use crate::harness::{DatabaseUrls, FailureContext as _, Result, TrialPostgresServer};

pub const CONTROL: &str = "control";
/// The name of the only shard in a single-shard layout.
pub const SHARD: &str = "north";
/// A bench must not measure a cache that is too small.
pub const BENCH_MEMORY: &str = "1GB";
pub const CHAOS_MEMORY: &str = "256MB";

/// How databases are distributed over servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseLayout {
    /// One server with control and two shards.
    SharedServer,
    ServerPerDatabase,
    /// One server with control and a single shard.
    SingleShard,
}

impl DatabaseLayout {
    const fn shard_names(self) -> &'static [&'static str] {
        match self {
            Self::SharedServer | Self::ServerPerDatabase => &[SHARD, "south"],
            Self::SingleShard => &[SHARD],
        }
    }

    pub const fn server_names(self) -> &'static [&'static str] {
        match self {
            Self::SharedServer | Self::SingleShard => &["all"],
            Self::ServerPerDatabase => &[CONTROL, SHARD, "south"],
        }
    }
}

/// Creates control and the shards; returns their URLs and connection pools.
pub async fn create_databases(
    postgres: &[TrialPostgresServer],
    layout: DatabaseLayout,
) -> Result<(DatabaseUrls, Vec<(String, PgPool)>)> {
    let (mut urls, mut shards) = (Vec::new(), Vec::new());
    for (place, name) in [CONTROL].iter().chain(layout.shard_names()).enumerate() {
        let server = postgres.get(place);
        let server = server.map_or_else(|| postgres::first_server(postgres), Ok)?;
        server.create_database(name).await?;
        urls.push(((*name).to_owned(), server.url(name)));
        shards.push(((*name).to_owned(), server.pool(name)));
    }
    let (_, control) = urls.remove(0);
    shards.remove(0);
    let urls = DatabaseUrls {
        control,
        shards: urls,
    };
    Ok((urls, shards))
}

/// The rows of a query on every shard.
pub async fn fetch_rows<T>(shards: &[(String, PgPool)], query: &'static str) -> Result<Vec<T>>
where
    T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
{
    let mut rows = Vec::new();
    for (name, pool) in shards {
        let here = sqlx::query_as::<_, T>(query).fetch_all(pool).await;
        rows.extend(here.context(format!("reading rows of {name}"))?);
    }
    Ok(rows)
}
