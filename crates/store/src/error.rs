//! Errors of the store.

use std::borrow::Cow;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the database failed")]
    Driver(#[from] sqlx::Error),
    #[error("a migration failed")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("column {column} of {table} holds an invalid value")]
    Corrupt {
        table: &'static str,
        column: &'static str,
    },
    /// The claim was lost, or another transaction changed the row first. Nothing was written; the
    /// caller stops.
    #[error("the claim was lost or the row has changed")]
    Fenced,
    /// A data key cannot be unwrapped: this process has no master key, or its command fails. A
    /// retry may succeed. The database itself works.
    #[error("the data key of a project is unavailable: {0}")]
    KeyUnavailable(String),
}

impl Error {
    /// The database cannot be reached, is starting or stopping, or did not run the statement in
    /// time. A retry may succeed.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Driver(error) => is_away(error),
            Self::Migration(_) | Self::Corrupt { .. } | Self::Fenced | Self::KeyUnavailable(_) => {
                false
            }
        }
    }

    /// What failed, for a log: never a value of a row. PostgreSQL quotes values in its texts, but
    /// not when it is unavailable.
    pub fn diagnosis(&self) -> String {
        let error = match self {
            Self::Driver(sqlx::Error::Database(error)) if !self.is_unavailable() => error,
            Self::Driver(error) => return error.to_string(),
            Self::Migration(_) | Self::Corrupt { .. } | Self::Fenced | Self::KeyUnavailable(_) => {
                return self.to_string();
            }
        };
        let parts = [
            ("SQLSTATE", error.code()),
            ("table", error.table().map(Cow::from)),
            ("constraint", error.constraint().map(Cow::from)),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// A row cannot be written as it is: a retry would fail in the same way.
    pub fn is_data_error(&self) -> bool {
        match self {
            Self::Driver(sqlx::Error::Database(error)) => {
                // Cardinality, data exceptions, broken constraints, program limits, raised errors.
                let code = error.code().unwrap_or_default();
                let classes = ["21", "22", "23", "54", "P0"];
                classes.iter().any(|class| code.starts_with(class))
            }
            Self::Driver(sqlx::Error::Encode(_)) | Self::Corrupt { .. } => true,
            Self::Driver(_) | Self::Migration(_) | Self::Fenced | Self::KeyUnavailable(_) => false,
        }
    }

    /// The day of the row's id has no partition. PostgreSQL reports that as a check violation
    /// without a constraint; the checks of this schema all have names.
    pub fn is_missing_partition(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error))
            if error.code().as_deref() == Some("23514") && error.constraint().is_none())
    }

    /// The server cancelled the statement because it reached its timeout.
    pub(crate) fn is_statement_timeout(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error))
            if error.code().as_deref() == Some("57014"))
    }

    /// A text contains a NUL character, which PostgreSQL cannot store or compare.
    pub fn is_nul_in_text(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error))
            if error.code().as_deref() == Some("22021"))
    }

    /// A unique value exists already.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Driver(sqlx::Error::Database(error)) if error.is_unique_violation())
    }
}

/// A retry may succeed: the server is unreachable, or did not run the statement in time.
pub(crate) fn is_away(error: &sqlx::Error) -> bool {
    is_connection_lost(error) || has_code(error, &TRANSIENT_CODES)
}

/// The connection is lost, or its server no longer accepts writes.
pub(crate) fn is_connection_lost(error: &sqlx::Error) -> bool {
    if matches!(error, sqlx::Error::Database(_)) {
        return has_code(error, &CONNECTION_LOST_CODES);
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

pub(crate) fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| codes.iter().any(|class| code.starts_with(class)))
}

/// Connection exceptions; shutdown, crash and start; too many connections; a standby, which is
/// read only; a transaction that was idle or took too long, so that the server ended its session.
const CONNECTION_LOST_CODES: [&str; 6] = ["08", "57P", "53300", "25006", "25P03", "25P04"];

/// A cancelled statement, an unavailable lock, a deadlock or serialization failure, insufficient
/// resources such as a full disk.
const TRANSIENT_CODES: [&str; 4] = ["57014", "55P03", "40", "53"];
