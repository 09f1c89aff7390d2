//! The connection of a migration: no statement of it makes a load wait longer than a second.

use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::schema_name::SchemaName;
use crate::Error;
use crate::Pool;
use crate::error;

/// Loads queue behind a statement that waits for a lock, so it gives up after this time.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);
/// Until it is tried again: in the meantime the queue of loads drains.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Together about ten minutes.
const MAX_LOCK_ATTEMPTS: u32 = 750;
/// How often another `longshored migrate` is looked for.
const LOCK_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The server ends the statement of a process that was killed.
const CLIENT_CHECK_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct DdlSession {
    connection: PgConnection,
    pub(super) schema: SchemaName,
}

impl DdlSession {
    pub(super) async fn open(pool: &Pool, schema: SchemaName) -> Result<Self, Error> {
        let connection = pool.connect_outside_pool().await?;
        let mut opened = Self { connection, schema };
        let check = CLIENT_CHECK_INTERVAL.as_millis();
        let settings = format!("set client_connection_check_interval = {check}");
        opened.execute_raw(&settings).await?;
        opened.bound_locks().await?;
        Ok(opened)
    }

    pub(super) async fn close(self) -> Result<(), Error> {
        Ok(self.connection.close().await?)
    }

    pub(super) const fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    async fn bound_locks(&mut self) -> Result<(), Error> {
        let timeout = LOCK_TIMEOUT.as_millis();
        let bound = format!("set lock_timeout = {timeout}");
        self.execute_raw(&bound).await
    }

    async fn execute_raw(&mut self, statement: &str) -> Result<(), Error> {
        let statement = AssertSqlSafe(statement.to_owned());
        sqlx::raw_sql(statement)
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    /// Runs statements in one transaction, again and again until each has its locks.
    pub(super) async fn execute_briefly(&mut self, statements: &str) -> Result<(), Error> {
        repeat_while_blocked(async || self.execute_raw(statements).await).await
    }

    /// Runs a statement that waits for others as long as it must, because none waits for it.
    pub(super) async fn execute_concurrently(&mut self, statement: &str) -> Result<(), Error> {
        self.execute_raw("set lock_timeout = 0").await?;
        let ended = self.execute_raw(statement).await;
        self.bound_locks().await?;
        ended
    }

    /// The text that a statement finds.
    pub(super) async fn fetch_text(&mut self, statement: String) -> Result<Option<String>, Error> {
        let text = sqlx::query_scalar(AssertSqlSafe(statement));
        Ok(text.fetch_optional(&mut self.connection).await?)
    }

    /// Takes an advisory lock until the connection closes. Asks again and again: a session that
    /// waits would be an old transaction to `create index concurrently`, which waits for those.
    pub(super) async fn take_lock(&mut self, lock: AdvisoryLock) -> Result<(), Error> {
        while !self.try_lock(lock).await? {
            tokio::time::sleep(LOCK_POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Whether the advisory lock was free.
    pub(super) async fn try_lock(&mut self, lock: AdvisoryLock) -> Result<bool, Error> {
        let schema = self.schema.as_str();
        let taken = match lock {
            AdvisoryLock::OnlineSteps => {
                sqlx::query_scalar!(
                    r#"select pg_try_advisory_lock(hashtext('longshore.online_steps.' || $1))
                           as "taken!""#,
                    schema
                )
                .fetch_one(&mut self.connection)
                .await?
            }
            AdvisoryLock::Days => {
                sqlx::query_scalar!(
                    r#"select pg_try_advisory_lock_shared(hashtext('longshore.drop_day'))
                           as "taken!""#
                )
                .fetch_one(&mut self.connection)
                .await?
            }
        };
        Ok(taken)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum AdvisoryLock {
    /// One process at a time runs the steps of a schema.
    OnlineSteps,
    /// No day is dropped while its partitions get an index.
    Days,
}

/// A lock was not free in time, or a deadlock was resolved.
fn is_blocked(error: &Error) -> bool {
    let failure = match error {
        Error::Driver(failure)
        | Error::Migration(
            MigrateError::Execute(failure) | MigrateError::ExecuteMigration(failure, _),
        ) => failure,
        Error::Migration(_) | Error::Corrupt { .. } | Error::Fenced | Error::KeyUnavailable(_) => {
            return false;
        }
    };
    error::has_code(failure, &["55P03", "40P01"])
}

/// Repeats an attempt until it has its locks.
pub(super) async fn repeat_while_blocked(
    mut attempt: impl AsyncFnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    for _ in 1..MAX_LOCK_ATTEMPTS {
        match attempt().await {
            Err(error) if is_blocked(&error) => {}
            ended => return ended,
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
    attempt().await
}
