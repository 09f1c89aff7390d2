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

    /// A row cannot be written as it is: another try will fail in the same way.
    pub fn is_about_data(&self) -> bool {
        match self {
            Self::Driver(sqlx::Error::Database(error)) => {
                // Cardinality, data exceptions, broken constraints, program limits, raised errors.
                let code = error.code().unwrap_or_default();
                let classes = ["21", "22", "23", "54", "P0"];
                classes.iter().any(|class| code.starts_with(class))
            }
            Self::Driver(sqlx::Error::Encode(_)) | Self::Corrupt { .. } => true,
            Self::Driver(_) | Self::Migration(_) | Self::Moved => false,
        }
    }

    /// No partition takes the row: the day of its id was not made. PostgreSQL reports it as a
    /// check violation without a constraint; our own checks all have names.
    pub fn is_missing_day(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error))
            if error.code().as_deref() == Some("23514") && error.constraint().is_none())
    }

    /// The statement was stopped because it took longer than it may.
    pub(crate) fn is_timed_out(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error))
            if error.code().as_deref() == Some("57014"))
    }

    /// A unique value exists already.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error)) if error.is_unique_violation())
    }
}

/// Another try may go well: the server is away, or did not do it in time.
pub(crate) fn is_away(error: &sqlx::Error) -> bool {
    is_lost(error) || has_code(error, &NOT_IN_TIME)
}

/// The session is gone, or its server can no longer be written to.
pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    if matches!(error, sqlx::Error::Database(_)) {
        return has_code(error, &LOST);
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

fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| codes.iter().any(|class| code.starts_with(class)))
}

/// Connection exceptions; shutdown, crash and start; too many connections; a standby, which is
/// read only; a transaction that was idle, or took too long, and was ended with its session.
const LOST: [&str; 6] = ["08", "57P", "53300", "25006", "25P03", "25P04"];

/// A statement that was cancelled, a lock that was not free, a deadlock or a conflict of
/// transactions, a full disk.
const NOT_IN_TIME: [&str; 4] = ["57014", "55P03", "40", "53"];
