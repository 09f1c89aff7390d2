//! Failures of the store. Messages never contain a signed URL or a secret.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;

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
    #[error(transparent)]
    Tls(#[from] crate::callback::TlsSetupFailure),
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

    pub(super) fn from_client(error: &legacy::Error) -> Self {
        if error.is_connect() {
            return Self::Unreachable(describe_connect_error(error));
        }
        Self::ConnectionClosed
    }
}

fn format_code(code: &str) -> String {
    if code.is_empty() {
        String::new()
    } else {
        format!(" ({code})")
    }
}

/// Names the first I/O error in the chain of causes.
fn describe_connect_error(error: &(dyn Error + 'static)) -> String {
    let mut causes = std::iter::successors(Some(error), |error| (*error).source());
    let named = causes.find_map(|cause| {
        let error = cause.downcast_ref::<io::Error>()?;
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the standard library may add kinds"
        )]
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Some("connection refused"),
            io::ErrorKind::ConnectionReset => Some("connection reset"),
            io::ErrorKind::TimedOut => Some("could not connect in time"),
            io::ErrorKind::InvalidData => Some("TLS failed"),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Some("host unreachable")
            }
            _ => None,
        }
    });
    named.unwrap_or("could not connect").to_owned()
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
            ),
        }
    }
}
