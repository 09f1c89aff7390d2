//! What doctor asks a database: settings that would lose work, and what holds it back.

use chrono::{DateTime, Utc};
use domain::time::Timestamp;
use sqlx::Connection as _;

use crate::Error;
use crate::Pool;
use crate::pool::Connector;

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody answers there, or not in time.
    Unreachable,
    /// The user or its password.
    Credentials,
    NoDatabase,
    /// Every connection that the server allows is taken.
    Full,
    Other,
}

/// How a PostgreSQL is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// As `server_version_num`: 150004 is 15.4.
    pub version: i32,
    pub fsync: bool,
    pub full_page_writes: bool,
    /// `on`, `off`, `local`, `remote_write` or `remote_apply`, as this session has it.
    pub synchronous_commit: String,
    /// Connections for everyone but superusers.
    pub most_connections: i32,
    /// A standby: nothing can be written there.
    pub in_recovery: bool,
    pub now: Timestamp,
}

/// A transaction that keeps the server from clearing dead rows away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// How an operator finds and ends it.
    pub name: String,
    pub state: String,
    pub since: Timestamp,
}

/// Connects once, past the pool: it would wait where doctor wants the reason.
pub async fn knock(url: &str) -> Result<(), Error> {
    let connector = Connector::new(url, "longshored")?;
    let connection = connector.connect_past_pool().await?;
    Ok(connection.close().await?)
}

pub fn trouble(error: &Error) -> Trouble {
    let Error::Driver(driver) = error else {
        return Trouble::Other;
    };
    let code = driver
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    match code.as_deref() {
        None if error.is_away() => Trouble::Unreachable,
        Some(code) if code.starts_with("57P0") => Trouble::Unreachable,
        Some(code) if code.starts_with("28") => Trouble::Credentials,
        Some("3D000") => Trouble::NoDatabase,
        Some("53300") => Trouble::Full,
        _ => Trouble::Other,
    }
}

pub async fn server(pool: &Pool) -> Result<Server, Error> {
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
    Ok(Server {
        version: row.version,
        fsync: row.fsync,
        full_page_writes: row.full_page_writes,
        synchronous_commit: row.synchronous_commit,
        most_connections: row.most_connections,
        in_recovery: row.in_recovery,
        now: row.now,
    })
}

/// What time the server has.
pub async fn now(pool: &Pool) -> Result<Timestamp, Error> {
    let now = sqlx::query_scalar!(r#"select clock_timestamp() as "now!: DateTime<Utc>""#);
    Ok(now.fetch_one(pool).await?)
}

/// What has been open since before `before`, oldest first: sessions of this
/// database, and transactions that were prepared and forgotten.
pub async fn open_transactions(
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
