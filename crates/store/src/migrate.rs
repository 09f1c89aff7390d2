//! Schema migrations. Each schema has its own migrations and migrations table, so that one
//! database can hold control and a shard.
//!
//! The transactional part changes the catalogue only. What reads or writes many rows is an online
//! step, which runs afterwards while processes serve.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use domain::time::Timestamp;
use sqlx::migrate::{Migration, Migrator};
use sqlx::{AssertSqlSafe, SqlSafeStr as _, migrate};

mod backfill;

mod concurrent_index;

mod ddl_session;

mod online_run;

mod online_step;

mod schema_floor;

mod schema_name;

mod step_state;

use crate::Control;
use crate::Error;
use crate::Pool;
use crate::Shard;
use crate::shard::partition;
use ddl_session::DdlSession;
pub use online_run::{OpenStep, ReportProgress, StepProgress, run_steps};
pub use online_step::{OnlineStep, OnlineWork, online_steps};
pub use schema_name::SchemaName;

/// How migration files begin that set their own timeout for locks.
const LOCK_TIMEOUT_STATEMENT: &str = "set local lock_timeout";

/// How the version of a schema compares with this program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    Missing,
    Behind,
    Current,
    /// A newer release has migrated already, and its schema supports this program.
    AheadSupported,
    TooNew,
}

impl SchemaState {
    /// A server starts when the schema has its version, or a later one that supports it.
    pub const fn can_serve(self) -> bool {
        matches!(self, Self::Current | Self::AheadSupported)
    }
}

/// What is done and what is left to do in a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaStatus {
    pub state: SchemaState,
    /// The newest migration that is applied.
    pub applied: Option<i64>,
    /// How many migrations of this program are not applied.
    pub pending: usize,
    /// The steps of applied migrations that are not finished.
    pub open_steps: Vec<OpenStep>,
}

fn migrations(schema: SchemaName) -> Migrator {
    let (mut migrator, table) = match schema {
        SchemaName::Control => (migrate!("migrations/control"), "control._migrations"),
        SchemaName::Shard => (migrate!("migrations/shard"), "shard._migrations"),
    };
    let files = migrator.migrations.iter().map(without_lock_timeout);
    migrator.migrations = files.collect();
    migrator.create_schema(schema.as_str());
    migrator.dangerous_set_table_name(table);
    migrator.set_ignore_missing(true);
    migrator
}

/// Files that set a longer timeout would let loads wait that long. Without it, the timeout of the
/// session holds. The checksum stays that of the file.
fn without_lock_timeout(file: &Migration) -> Migration {
    let lines = file.sql.as_str().lines();
    let lines = lines.filter(|line| !line.starts_with(LOCK_TIMEOUT_STATEMENT));
    let sql = lines.collect::<Vec<_>>().join("\n");
    Migration {
        sql: AssertSqlSafe(sql).into_sql_str(),
        ..file.clone()
    }
}

/// All migrations, without the online steps.
pub async fn control(control: &Control) -> Result<(), Error> {
    apply(&control.pool, SchemaName::Control, usize::MAX).await
}

/// All migrations, without the online steps. Also makes the partitions around `now`, so that the
/// first load finds the partition of its day.
pub async fn shard(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    apply(&shard.pool, SchemaName::Shard, usize::MAX).await?;
    partition::make_days(shard, now).await?;
    Ok(())
}

/// Applies up to this many migrations, each in one transaction. A migration that does not get a
/// lock is rolled back and repeated, so no load waits for it longer than a second.
pub async fn apply(pool: &Pool, schema: SchemaName, at_most: usize) -> Result<(), Error> {
    let migrator = migrations(schema);
    let pending = list_pending(pool, schema).await?;
    for version in pending.into_iter().take(at_most) {
        ddl_session::repeat_while_blocked(async || {
            let mut session = DdlSession::open(pool, schema).await?;
            let applied = migrator.run_to(version, session.connection()).await;
            session.close().await?;
            Ok(applied?)
        })
        .await?;
    }
    if list_pending(pool, schema).await?.is_empty() {
        schema_floor::raise(pool, schema).await?;
    }
    Ok(())
}

/// Runs the online steps of the applied migrations; continues those that were interrupted.
pub async fn finish_steps(
    pool: &Pool,
    schema: SchemaName,
    report: ReportProgress<'_>,
) -> Result<(), Error> {
    let applied = list_applied_versions(pool, schema).await?;
    let newest = applied.into_iter().max().unwrap_or_default();
    run_steps(pool, schema, online_steps(schema), newest, report).await
}

/// Changes when a migration or a step changes. Tests name their template databases by it.
pub fn fingerprint() -> String {
    let mut hasher = DefaultHasher::new();
    for schema in [SchemaName::Control, SchemaName::Shard] {
        migrations(schema)
            .iter()
            .for_each(|migration| migration.checksum.hash(&mut hasher));
        format!("{:?}", online_steps(schema)).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

pub async fn control_state(control: &Control) -> Result<SchemaState, Error> {
    read_state(&control.pool, SchemaName::Control).await
}

pub async fn shard_state(shard: &Shard) -> Result<SchemaState, Error> {
    read_state(&shard.pool, SchemaName::Shard).await
}

/// The number of the newest migration that a shard has.
pub async fn shard_version(shard: &Shard) -> Result<Option<i64>, Error> {
    Ok(list_applied_versions(&shard.pool, SchemaName::Shard)
        .await?
        .into_iter()
        .max())
}

pub async fn read_status(pool: &Pool, schema: SchemaName) -> Result<SchemaStatus, Error> {
    let newest = list_applied_versions(pool, schema).await?.into_iter().max();
    let is_due = |step: &&OnlineStep| Some(step.after) <= newest;
    let steps = online_steps(schema).iter().filter(is_due);
    Ok(SchemaStatus {
        state: read_state(pool, schema).await?,
        applied: newest,
        pending: list_pending(pool, schema).await?.len(),
        open_steps: online_run::list_open(pool, schema, steps).await?,
    })
}

async fn read_state(pool: &Pool, schema: SchemaName) -> Result<SchemaState, Error> {
    let applied = list_applied_versions(pool, schema).await?;
    let floor = schema_floor::read(pool, schema).await?;
    Ok(compare_versions(newest_known(schema), &applied, floor))
}

fn newest_known(schema: SchemaName) -> i64 {
    let known = migrations(schema);
    let versions = known.iter().map(|migration| migration.version);
    versions.max().unwrap_or_default()
}

/// `floor` is the newest migration that a program must know. A schema without it is of a release
/// that supported programs one migration behind.
fn compare_versions(known: i64, applied: &[i64], floor: Option<i64>) -> SchemaState {
    let Some(newest) = applied.iter().copied().max() else {
        return SchemaState::Missing;
    };
    let beyond = applied.iter().filter(|version| **version > known).count();
    let is_supported = floor.map_or(beyond <= 1, |floor| floor <= known);
    match (newest < known, beyond) {
        (true, _) => SchemaState::Behind,
        (false, 0) => SchemaState::Current,
        (false, _) if is_supported => SchemaState::AheadSupported,
        (false, _) => SchemaState::TooNew,
    }
}

async fn list_pending(pool: &Pool, schema: SchemaName) -> Result<Vec<i64>, Error> {
    let applied = list_applied_versions(pool, schema).await?;
    let known = migrations(schema);
    let versions = known.iter().map(|migration| migration.version);
    Ok(versions.filter(|it| !applied.contains(it)).collect())
}

async fn list_applied_versions(pool: &Pool, schema: SchemaName) -> Result<Vec<i64>, Error> {
    let table = sqlx::query_scalar!(
        "select to_regclass($1 || '._migrations') is not null as \"exists!\"",
        schema.as_str()
    );
    if !table.fetch_one(pool).await? {
        return Ok(Vec::new());
    }
    // The table's name is one of two constants. The macros do not know a table that a migrator
    // creates.
    let statement = match schema {
        SchemaName::Control => "select version from control._migrations where success",
        SchemaName::Shard => "select version from shard._migrations where success",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_serves_a_later_schema_that_supports_it() {
        let state = |applied: &[i64], floor| compare_versions(12, applied, floor);
        assert_eq!(state(&[], None), SchemaState::Missing);
        assert_eq!(state(&[11], None), SchemaState::Behind);
        assert_eq!(state(&[11, 12], Some(12)), SchemaState::Current);
        assert_eq!(state(&[12, 13], None), SchemaState::AheadSupported);
        assert_eq!(state(&[12, 13, 14], None), SchemaState::TooNew);
        assert_eq!(state(&[12, 13, 14], Some(12)), SchemaState::AheadSupported);
        assert_eq!(state(&[12, 13, 14], Some(13)), SchemaState::TooNew);
    }
}
