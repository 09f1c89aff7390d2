//! A transaction, on a session of its own.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use super::session::Session;

/// A statement with more bytes than this may take a while to arrive.
const LARGE_STATEMENT: usize = 256 << 10;

/// Dropped without a commit, it closes its connection, and the server rolls back.
#[derive(Debug)]
pub struct Transaction(Session);

impl Transaction {
    pub(super) async fn begin(mut session: Session) -> Result<Self, sqlx::Error> {
        session.begin().await?;
        Ok(Self(session))
    }

    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.0.commit().await
    }

    /// A statement of so many bytes follows. PostgreSQL counts the time in which it arrives as
    /// idle, so a large one is allowed `idle`. Says whether it is large.
    pub(crate) async fn expect_bytes(
        &mut self,
        bytes: usize,
        idle: Duration,
    ) -> Result<bool, sqlx::Error> {
        let is_large = bytes > LARGE_STATEMENT;
        if is_large {
            self.allow_idle(idle).await?;
        }
        Ok(is_large)
    }

    /// How long the rest of this transaction may be idle at a time.
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

    /// Keeps the connection, where dropping would close it.
    pub async fn rollback(mut self) -> Result<(), sqlx::Error> {
        self.0.rollback().await
    }
}

impl Deref for Transaction {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.0
    }
}
