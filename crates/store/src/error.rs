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
            Self::Driver(error) => driver_is_away(error),
            Self::Migration(_) | Self::Corrupt { .. } | Self::Moved => false,
        }
    }

    /// A unique value exists already.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error)) if error.is_unique_violation())
    }
}

fn driver_is_away(error: &sqlx::Error) -> bool {
    if let sqlx::Error::Database(refused) = error {
        // Connection exceptions, operator intervention (shutdown, cut connections),
        // too many connections.
        let code = refused.code().unwrap_or_default();
        return code.starts_with("08") || code.starts_with("57") || code.starts_with("53");
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
