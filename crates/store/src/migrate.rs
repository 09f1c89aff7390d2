//! Schema migrations. Each schema has its own migrations and migrations table, so that one
//! database can hold control and a shard.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use domain::time::Timestamp;
use sqlx::migrate::Migrator;
use sqlx::{Connection as _, migrate};

use crate::Control;
use crate::Error;
use crate::Pool;
use crate::Shard;
use crate::shard::partition;

/// How the version of a schema compares with this program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    Missing,
    Behind,
    Current,
    /// A newer release has migrated already. Migrations only expand, so this release still works.
    AheadByOne,
    TooNew,
}

impl SchemaState {
    /// A server starts when the schema has its version or is one migration ahead.
    pub const fn can_serve(self) -> bool {
        matches!(self, Self::Current | Self::AheadByOne)
    }
}

fn control_migrations() -> Migrator {
    let mut migrator = migrate!("migrations/control");
    migrator.create_schema("control");
    migrator.dangerous_set_table_name("control._migrations");
    migrator.set_ignore_missing(true);
    migrator
}

fn shard_migrations() -> Migrator {
    let mut migrator = migrate!("migrations/shard");
    migrator.create_schema("shard");
    migrator.dangerous_set_table_name("shard._migrations");
    migrator.set_ignore_missing(true);
    migrator
}

pub async fn control(control: &Control) -> Result<(), Error> {
    run(&control_migrations(), &control.pool).await
}

/// Also makes the partitions around `now`, so that the first load finds the partition of its day.
pub async fn shard(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    run(&shard_migrations(), &shard.pool).await?;
    partition::make_days(shard, now).await?;
    Ok(())
}

/// Runs on a connection without timeouts: a migration may take long.
async fn run(migrator: &Migrator, pool: &Pool) -> Result<(), Error> {
    let mut connection = pool.connect_outside_pool().await?;
    migrator.run(&mut connection).await?;
    Ok(connection.close().await?)
}

/// Changes when a migration changes. Tests name their template databases by it.
pub fn fingerprint() -> String {
    let mut hasher = DefaultHasher::new();
    for migrator in [control_migrations(), shard_migrations()] {
        migrator
            .iter()
            .for_each(|migration| migration.checksum.hash(&mut hasher));
    }
    format!("{:016x}", hasher.finish())
}

pub async fn control_state(control: &Control) -> Result<SchemaState, Error> {
    let applied = list_applied_versions(&control.pool, "control").await?;
    Ok(compare_versions(&control_migrations(), applied))
}

pub async fn shard_state(shard: &Shard) -> Result<SchemaState, Error> {
    let applied = list_applied_versions(&shard.pool, "shard").await?;
    Ok(compare_versions(&shard_migrations(), applied))
}

/// The number of the newest migration that a shard has.
pub async fn shard_version(shard: &Shard) -> Result<Option<i64>, Error> {
    Ok(list_applied_versions(&shard.pool, "shard")
        .await?
        .into_iter()
        .max())
}

fn compare_versions(ours: &Migrator, applied: Vec<i64>) -> SchemaState {
    let known = ours
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or_default();
    let Some(newest) = applied.iter().copied().max() else {
        return SchemaState::Missing;
    };
    let beyond = applied
        .into_iter()
        .filter(|version| *version > known)
        .count();
    match (newest < known, beyond) {
        (true, _) => SchemaState::Behind,
        (false, 0) => SchemaState::Current,
        (false, 1) => SchemaState::AheadByOne,
        (false, _) => SchemaState::TooNew,
    }
}

async fn list_applied_versions(pool: &Pool, schema: &'static str) -> Result<Vec<i64>, Error> {
    let table = sqlx::query_scalar!(
        "select to_regclass($1 || '._migrations') is not null as \"exists!\"",
        schema
    );
    if !table.fetch_one(pool).await? {
        return Ok(Vec::new());
    }
    // The table's name is one of two constants. The macros do not know a table that a migrator
    // creates.
    let statement = match schema {
        "control" => "select version from control._migrations where success",
        _ => "select version from shard._migrations where success",
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the migrations table is the migrator's own"
    )]
    let rows = sqlx::query_as::<_, (i64,)>(statement)
        .fetch_all(pool)
        .await?;
    Ok(rows.into_iter().map(|(version,)| version).collect())
}
