//! A transaction, on a session of its own.

use std::ops::{Deref, DerefMut};

use super::session::Session;

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
