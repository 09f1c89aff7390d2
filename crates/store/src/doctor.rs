//! Checks of a database for `longshored doctor`: settings that could lose data, and transactions
//! that keep dead rows from being removed.

use chrono::{DateTime, Utc};
use domain::time::Timestamp;
use sqlx::Connection as _;

use crate::Error;
use crate::Pool;
use crate::pool::{Connector, ServerRole};

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
    /// Without the connections that are reserved for superusers.
    pub max_connections: i32,
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

/// Connects once, outside the pool: the pool would retry, and doctor needs the first error. A
/// standby answers only if no host of the address is a primary.
pub async fn try_connect(url: &str) -> Result<ServerRole, Error> {
    let connector = Connector::new(url, "longshored")?;
    let (connection, role) = connector.connect_outside_pool().await?;
    connection.close().await?;
    Ok(role)
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
            current_setting('max_connections')::int
                - current_setting('superuser_reserved_connections')::int as "most_connections!",
            -- Doctor compares this with the clock of its own host.
            clock_timestamp() as "now!: DateTime<Utc>"
        "#
    )
    .fetch_one(pool)
    .await?;
    Ok(DatabaseServerInfo {
        version: row.version,
        max_connections: row.most_connections,
        now: row.now,
    })
}

/// A consumer of the log that keeps dead rows from being removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicationHold {
    /// The replication slot, or the standby with `hot_standby_feedback`.
    pub name: String,
    pub is_slot: bool,
    /// How many transactions have begun since the oldest that it may still read. PostgreSQL keeps no
    /// time.
    pub transactions: i32,
}

/// Those that hold more than `above` transactions, the oldest first.
pub async fn list_replication_holds(
    pool: &Pool,
    above: i32,
) -> Result<Vec<ReplicationHold>, Error> {
    let rows = sqlx::query!(
        r#"
        select name as "name!", is_slot as "is_slot!", transactions as "transactions!"
        from (
            select slot_name::text as name, true as is_slot, age(xmin) as transactions
            from pg_replication_slots
            union all
            -- A standby without a slot. With one, the slot holds the rows.
            select application_name, false, age(backend_xmin)
            from pg_stat_replication
        ) hold
        where transactions > $1
        order by transactions desc
        limit 20
        "#,
        above
    )
    .fetch_all(pool)
    .await?;
    let holds = rows.into_iter().map(|row| ReplicationHold {
        name: row.name,
        is_slot: row.is_slot,
        transactions: row.transactions,
    });
    Ok(holds.collect())
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
