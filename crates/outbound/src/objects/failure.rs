//! What may go wrong with the store, in words. Never an address with a signature, never a secret.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;

/// The settings cannot be meant.
#[derive(Debug, thiserror::Error)]
pub enum SetupFailure {
    #[error(
        "the address of the object store must be http or https with a host and nothing behind it"
    )]
    Address,
    #[error("a bucket's name has 3 to 63 of a to z, 0 to 9, dot and hyphen")]
    Bucket,
    #[error(
        "the prefix must end in a slash and hold only letters, digits and - _ . between slashes"
    )]
    Prefix,
    #[error("the keys and the region of the object store must not be empty")]
    Credentials,
    #[error(transparent)]
    Tls(#[from] crate::callback::SetupFailure),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("the object store cannot be reached: {0}")]
    Unreachable(String),
    #[error("the object store did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("the object store broke off the connection")]
    Cut,
    /// Again and again, a 5xx.
    #[error("the object store failed with status {status}{}", coded(.code))]
    Failed { status: u16, code: String },
    #[error("the object store refused to {what}: status {status}{}", coded(.code))]
    Refused {
        what: &'static str,
        status: u16,
        code: String,
    },
    #[error("the object store answered what cannot be read, asked to {0}")]
    Unreadable(&'static str),
    #[error("the object is not there")]
    Missing,
    /// Another took its place since its tag was read.
    #[error("the object is not the one that was meant")]
    Changed,
}

impl Failure {
    /// Nothing was learned about the object: the store is not to be had, or not for us.
    pub const fn is_away(&self) -> bool {
        !matches!(self, Self::Missing | Self::Changed)
    }

    /// Whether the same call may have another end a moment later.
    pub(super) const fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Cut | Self::Failed { .. })
    }

    pub(super) fn from_client(error: &legacy::Error) -> Self {
        if error.is_connect() {
            return Self::Unreachable(reason(error));
        }
        Self::Cut
    }
}

fn coded(code: &str) -> String {
    if code.is_empty() {
        String::new()
    } else {
        format!(" ({code})")
    }
}

/// The innermost cause that has a name.
fn reason(error: &(dyn Error + 'static)) -> String {
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

/// The store must not be used: it lacks what our promises stand on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{check}: {why}")]
pub struct ProbeFailure {
    /// What must be so.
    pub check: &'static str,
    /// What was seen instead.
    pub why: String,
    /// It was not to be had at all, so nothing is known.
    pub away: bool,
}

impl ProbeFailure {
    pub(super) fn seen(check: &'static str, why: impl Into<String>) -> Self {
        Self {
            check,
            why: why.into(),
            away: false,
        }
    }

    pub(super) fn from_failure(check: &'static str, failure: &Failure) -> Self {
        Self {
            check,
            why: failure.to_string(),
            away: matches!(
                failure,
                Failure::Unreachable(_)
                    | Failure::TimedOut(_)
                    | Failure::Cut
                    | Failure::Failed { .. }
            ),
        }
    }
}
