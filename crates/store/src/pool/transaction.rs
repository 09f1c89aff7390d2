//! A transaction on one session.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use super::session::DatabaseSession;

/// A statement with more bytes than this may take long to arrive.
const LARGE_STATEMENT_BYTES: usize = 256 << 10;

/// If it is dropped without a commit, its connection is closed and the server rolls back.
#[derive(Debug)]
pub struct Transaction(DatabaseSession);

impl Transaction {
    pub(super) async fn begin(mut session: DatabaseSession) -> Result<Self, sqlx::Error> {
        session.begin().await?;
        Ok(Self(session))
    }

    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.0.commit().await
    }

    /// Call before a statement of `bytes` bytes. PostgreSQL counts the time in which a statement
    /// arrives as idle, so a large one gets `idle` as its limit. Returns whether it is large.
    pub(crate) async fn expect_statement_bytes(
        &mut self,
        bytes: usize,
        idle: Duration,
    ) -> Result<bool, sqlx::Error> {
        let is_large = bytes > LARGE_STATEMENT_BYTES;
        if is_large {
            self.allow_idle(idle).await?;
        }
        Ok(is_large)
    }

    /// Sets how long the rest of this transaction may be idle between two statements.
    pub(crate) async fn allow_idle(&mut self, idle: Duration) -> Result<(), sqlx::Error> {
        let limit = idle.as_millis().to_string();
        sqlx::query_scalar!(
            "select set_config('idle_in_transaction_session_timeout', $1, true)",
            limit
        )
        .fetch_one(&mut **self)
        .await?;
        Ok(())
    }

    /// Keeps the connection in the pool; dropping the transaction would close it.
    pub async fn rollback(mut self) -> Result<(), sqlx::Error> {
        self.0.rollback().await
    }
}

impl Deref for Transaction {
    type Target = DatabaseSession;

    fn deref(&self) -> &DatabaseSession {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut DatabaseSession {
        &mut self.0
    }
}
