//! Why an exchange had no end, in words that callers read in tracking.

use std::error::Error;
use std::io;
use std::time::Duration;

use domain::address::AddressRefusal;
use hyper_util::client::legacy;
use tokio_rustls::rustls::{self, CertificateError};

/// An answer longer than anything we would read, such as endless interim answers.
#[derive(Debug, thiserror::Error)]
#[error("answer is too long")]
pub(super) struct TooLong;

#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectFailure {
    #[error(transparent)]
    Address(#[from] AddressRefusal),
    #[error("{}", dialling(.0))]
    Dial(io::Error),
    #[error("TLS failed: {}", securing(.0))]
    Tls(io::Error),
    #[error("timed out after {}", duration(*.0))]
    TimedOut(Duration),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ExchangeFailure {
    #[error("callback_url cannot be called")]
    NotAUrl,
    #[error("{0}")]
    Connect(String),
    #[error("{}", sending(.0))]
    Send(legacy::Error),
    #[error("{}", reading(.0))]
    Cut(hyper::Error),
    #[error("redirects are not followed")]
    Redirect,
    #[error("timed out after {}", duration(*.0))]
    TimedOut(Duration),
}

impl ExchangeFailure {
    pub(super) fn from_client(error: legacy::Error) -> Self {
        match error
            .source()
            .and_then(|source| source.downcast_ref::<ConnectFailure>())
        {
            Some(failure) => Self::Connect(failure.to_string()),
            None => Self::Send(error),
        }
    }
}

fn dialling(error: &io::Error) -> &'static str {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the standard library may add kinds"
    )]
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "host unreachable",
        io::ErrorKind::TimedOut => "could not connect in time",
        _ => "could not connect",
    }
}

fn securing(error: &io::Error) -> String {
    match find::<rustls::Error>(error) {
        Some(rustls::Error::InvalidCertificate(reason)) => certificate(reason).to_owned(),
        Some(other) => other.to_string().chars().take(200).collect(),
        None => "connection closed".to_owned(),
    }
}

fn certificate(reason: &CertificateError) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "rustls adds reasons")]
    match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "certificate is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "certificate is for another name"
        }
        // Signed by another who took the name of a trusted issuer.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate is not trusted"
        }
        CertificateError::Revoked => "certificate is revoked",
        _ => "certificate is not valid",
    }
}

fn sending(error: &legacy::Error) -> &'static str {
    if find::<TooLong>(error).is_some() {
        return "answer is too long";
    }
    match find::<hyper::Error>(error) {
        Some(error) if error.is_parse_too_large() => "answer has too many or too long headers",
        Some(error) if error.is_parse() => "answer is not HTTP/1.1",
        _ if is_reset(error) => "connection reset",
        _ => "connection closed before an answer",
    }
}

fn reading(error: &hyper::Error) -> &'static str {
    if is_reset(error) {
        "connection reset"
    } else {
        "connection closed before the answer's end"
    }
}

fn is_reset(error: &(dyn Error + 'static)) -> bool {
    find::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
}

/// The first of this type in the chain of causes, those wrapped in an `io::Error` included.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        // An `io::Error` names the cause of what it wraps, not what it wraps.
        let wrapped = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

fn duration(duration: Duration) -> String {
    if duration.subsec_nanos() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
