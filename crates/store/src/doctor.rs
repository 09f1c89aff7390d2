//! Checks of a database for `longshored doctor`: settings that could lose data, and transactions
//! that keep dead rows from being removed.

use chrono::{DateTime, Utc};
use domain::time::Timestamp;
use sqlx::Connection as _;

use crate::Error;
use crate::Pool;
use crate::pool::Connector;

/// Why a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionFailureKind {
    /// No server answers at this address, or not in time.
    Unreachable,
    /// The user or the password is wrong.
    Credentials,
    NoDatabase,
    /// Every connection that the server allows is in use.
    TooManyConnections,
    Other,
}

/// Settings of a PostgreSQL server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseServerInfo {
    /// As `server_version_num`: 150004 is 15.4.
    pub version: i32,
    pub fsync: bool,
    pub full_page_writes: bool,
    /// `on`, `off`, `local`, `remote_write` or `remote_apply`, as this session has it.
    pub synchronous_commit: String,
    /// Without the connections that are reserved for superusers.
    pub max_connections: i32,
    /// The server is a standby, which accepts no writes.
    pub in_recovery: bool,
    pub now: Timestamp,
}

/// A transaction that keeps the server from removing dead rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// The process id or the prepared transaction's name, by which an operator ends it.
    pub name: String,
    pub state: String,
    pub since: Timestamp,
}

/// Connects once, outside the pool: the pool would retry, and doctor needs the first error.
pub async fn try_connect(url: &str) -> Result<(), Error> {
    let connector = Connector::new(url, "longshored")?;
    let connection = connector.connect_outside_pool().await?;
    Ok(connection.close().await?)
}

pub fn classify_connection_failure(error: &Error) -> ConnectionFailureKind {
    let Error::Driver(driver) = error else {
        return ConnectionFailureKind::Other;
    };
    let code = driver
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    match code.as_deref() {
        None if error.is_unavailable() => ConnectionFailureKind::Unreachable,
        Some(code) if code.starts_with("57P0") => ConnectionFailureKind::Unreachable,
        Some(code) if code.starts_with("28") => ConnectionFailureKind::Credentials,
        Some("3D000") => ConnectionFailureKind::NoDatabase,
        Some("53300") => ConnectionFailureKind::TooManyConnections,
        _ => ConnectionFailureKind::Other,
    }
}

pub async fn read_server_info(pool: &Pool) -> Result<DatabaseServerInfo, Error> {
    let row = sqlx::query!(
        r#"
        select
            current_setting('server_version_num')::int as "version!",
            current_setting('fsync')::bool as "fsync!",
            current_setting('full_page_writes')::bool as "full_page_writes!",
            current_setting('synchronous_commit') as "synchronous_commit!",
            current_setting('max_connections')::int
                - current_setting('superuser_reserved_connections')::int as "most_connections!",
            pg_is_in_recovery() as "in_recovery!",
            -- Doctor compares this with the clock of its own host.
            clock_timestamp() as "now!: DateTime<Utc>"
        "#
    )
    .fetch_one(pool)
    .await?;
    Ok(DatabaseServerInfo {
        version: row.version,
        fsync: row.fsync,
        full_page_writes: row.full_page_writes,
        synchronous_commit: row.synchronous_commit,
        max_connections: row.most_connections,
        in_recovery: row.in_recovery,
        now: row.now,
    })
}

/// The time by the server's clock.
pub async fn read_server_time(pool: &Pool) -> Result<Timestamp, Error> {
    let now = sqlx::query_scalar!(r#"select clock_timestamp() as "now!: DateTime<Utc>""#);
    Ok(now.fetch_one(pool).await?)
}

/// Transactions that have been open since before `before`, oldest first: those of sessions of
/// this database, and prepared transactions that were never finished.
pub async fn list_open_transactions(
    pool: &Pool,
    before: Timestamp,
) -> Result<Vec<OpenTransaction>, Error> {
    let rows = sqlx::query!(
        r#"
        select name as "name!", state as "state!", since as "since!: DateTime<Utc>"
        from (
            select 'process ' || pid as name, coalesce(state, 'unknown') as state,
                xact_start as since
            from pg_stat_activity
            where datname = current_database() and xact_start < $1
                and backend_type = 'client backend'
            union all
            select 'prepared transaction ' || quote_literal(gid), 'prepared', prepared
            from pg_prepared_xacts
            where database = current_database() and prepared < $1
        ) open
        order by since
        limit 20
        "#,
        before
    )
    .fetch_all(pool)
    .await?;
    let open = rows.into_iter();
    Ok(open
        .map(|row| OpenTransaction {
            name: row.name,
            state: row.state,
            since: row.since,
        })
        .collect())
}
