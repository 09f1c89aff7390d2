//! Failures of the store. Messages never contain a signed URL or a secret.

use std::time::Duration;

use crate::connection::describe_connect_error;
use crate::http_exchange::HttpFailure;
use crate::tls::TlsSetupFailure;

/// The settings are invalid.
#[derive(Debug, thiserror::Error)]
pub enum ObjectStoreSetupFailure {
    #[error(
        "the address of the object store must be http or https with a host and no path or query"
    )]
    Address,
    #[error("the bucket's name must have 3 to 63 characters: a to z, 0 to 9, dot and hyphen")]
    Bucket,
    #[error(
        "the prefix must end in a slash and have only letters, digits and - _ . between slashes"
    )]
    Prefix,
    #[error("the keys and the region of the object store must not be empty")]
    Credentials,
    /// What the environment says about credentials cannot be used.
    #[error("no source of credentials for the object store: {0}")]
    CredentialSource(String),
    #[error(transparent)]
    Tls(#[from] TlsSetupFailure),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectStoreFailure {
    #[error("the object store cannot be reached: {0}")]
    Unreachable(String),
    #[error("the object store did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("the object store closed the connection early")]
    ConnectionClosed,
    /// A 5xx on every attempt.
    #[error("the object store failed with status {status}{}", format_code(.code))]
    Failed { status: u16, code: String },
    #[error("the object store refused to {what}: status {status}{}", format_code(.code))]
    Refused {
        what: &'static str,
        status: u16,
        code: String,
    },
    #[error("the object store sent an unreadable response to the request to {0}")]
    Unreadable(&'static str),
    /// The credentials of a role could not be fetched, or have expired.
    #[error("no valid credentials for the object store: {0}")]
    NoCredentials(String),
    #[error("the object does not exist")]
    Missing,
    /// Its `ETag` is not the one that was read before.
    #[error("the object has changed: its ETag does not match")]
    Changed,
}

impl ObjectStoreFailure {
    /// Nothing is known about the object: the store is unreachable or refuses us.
    pub const fn is_unavailable(&self) -> bool {
        !matches!(self, Self::Missing | Self::Changed)
    }

    /// Whether a retry may succeed.
    pub(super) const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::ConnectionClosed | Self::Failed { .. }
        )
    }
}

impl From<HttpFailure> for ObjectStoreFailure {
    fn from(failure: HttpFailure) -> Self {
        match failure {
            HttpFailure::NotConnected(kind) => {
                Self::Unreachable(describe_connect_error(kind).to_owned())
            }
            HttpFailure::NoResponse(_)
            | HttpFailure::ResponseCut
            | HttpFailure::ResponseTooLarge => Self::ConnectionClosed,
            HttpFailure::TimedOut(deadline) => Self::TimedOut(deadline),
        }
    }
}

fn format_code(code: &str) -> String {
    if code.is_empty() {
        String::new()
    } else {
        format!(" ({code})")
    }
}

/// The store must not be used: it failed a check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{check}: {why}")]
pub struct ObjectStoreProbeFailure {
    /// The requirement.
    pub check: &'static str,
    /// What happened instead.
    pub why: String,
    /// The store did not answer, so nothing is known about it.
    pub is_unreachable: bool,
}

impl ObjectStoreProbeFailure {
    pub(super) fn new(check: &'static str, why: impl Into<String>) -> Self {
        Self {
            check,
            why: why.into(),
            is_unreachable: false,
        }
    }

    pub(super) fn from_failure(check: &'static str, failure: &ObjectStoreFailure) -> Self {
        Self {
            check,
            why: failure.to_string(),
            is_unreachable: matches!(
                failure,
                ObjectStoreFailure::Unreachable(_)
                    | ObjectStoreFailure::TimedOut(_)
                    | ObjectStoreFailure::ConnectionClosed
                    | ObjectStoreFailure::Failed { .. }
                    | ObjectStoreFailure::NoCredentials(_)
            ),
        }
    }
}
