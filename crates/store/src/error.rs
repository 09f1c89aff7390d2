//! What can go wrong with rows.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the database failed")]
    Driver(#[from] sqlx::Error),
    #[error("a migration failed")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("column {column} of {table} holds what it never should")]
    Corrupt {
        table: &'static str,
        column: &'static str,
    },
    /// Someone was faster, or the claim is no longer ours: stop, nothing was written.
    #[error("the row has moved on")]
    Moved,
}

impl Error {
    /// The database cannot be reached, or is starting or stopping: another try may go well.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Driver(error) => is_away(error),
            Self::Migration(_) | Self::Corrupt { .. } | Self::Moved => false,
        }
    }

    /// A unique value exists already.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error)) if error.is_unique_violation())
    }
}

/// Another try on another connection may go well.
pub(crate) fn is_away(error: &sqlx::Error) -> bool {
    if let sqlx::Error::Database(refused) = error {
        let code = refused.code().unwrap_or_default();
        return AWAY.iter().any(|class| code.starts_with(class));
    }
    matches!(
        error,
        sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed
    )
}

/// What servers answer that are away, starting, stopping, full, or standbys.
const AWAY: [&str; 5] = [
    // Connection exceptions.
    "08",    // Too many connections, disk full, out of memory.
    "53",    // Shutdown, starting up, a statement that took too long.
    "57",    // Nothing can be written: a standby that is being promoted.
    "25006", // A lock that was not free in time.
    "55P03",
];
