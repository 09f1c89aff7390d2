//! Why an exchange failed, in texts that callers read in tracking.

use std::error::Error;
use std::io;
use std::time::Duration;

use domain::ssrf_guard::AddressRefusal;
use hyper_util::client::legacy;
use tokio_rustls::rustls::{self, CertificateError};

use crate::connection::describe_connect_error;

/// A response longer than the limit, such as endless interim responses.
#[derive(Debug, thiserror::Error)]
#[error("answer is too long")]
pub(super) struct ResponseTooLong;

#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectFailure {
    #[error(transparent)]
    Address(#[from] AddressRefusal),
    #[error("{}", describe_connect_error(Some(.0.kind())))]
    Dial(io::Error),
    #[error("TLS failed: {}", describe_tls_error(.0))]
    Tls(io::Error),
    #[error("timed out after {}", format_duration(*.0))]
    TimedOut(Duration),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ExchangeFailure {
    #[error("callback_url cannot be called")]
    InvalidUrl,
    #[error(
        "not sent: plain http callbacks are not delivered in production; \
         load again with an https callback_url"
    )]
    PlainHttp,
    #[error("{0}")]
    Connect(String),
    #[error("{}", describe_send_error(.0))]
    Send(legacy::Error),
    #[error("{}", describe_read_error(.0))]
    ResponseCut(hyper::Error),
    #[error("redirects are not followed")]
    Redirect,
    #[error("timed out after {}", format_duration(*.0))]
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

fn describe_tls_error(error: &io::Error) -> String {
    match find_cause::<rustls::Error>(error) {
        Some(rustls::Error::InvalidCertificate(reason)) => {
            describe_certificate_error(reason).to_owned()
        }
        Some(other) => other.to_string().chars().take(200).collect(),
        None => "connection closed".to_owned(),
    }
}

fn describe_certificate_error(reason: &CertificateError) -> &'static str {
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
        // `BadSignature`: signed by a CA that uses the name of a trusted issuer.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate is not trusted"
        }
        CertificateError::Revoked => "certificate is revoked",
        _ => "certificate is not valid",
    }
}

fn describe_send_error(error: &legacy::Error) -> &'static str {
    if find_cause::<ResponseTooLong>(error).is_some() {
        return "answer is too long";
    }
    match find_cause::<hyper::Error>(error) {
        Some(error) if error.is_parse_too_large() => "answer has too many or too long headers",
        Some(error) if error.is_parse() => "answer is not HTTP/1.1",
        _ if is_reset(error) => "connection reset",
        _ => "connection closed before an answer",
    }
}

fn describe_read_error(error: &hyper::Error) -> &'static str {
    if is_reset(error) {
        "connection reset"
    } else {
        "connection closed before the answer's end"
    }
}

fn is_reset(error: &(dyn Error + 'static)) -> bool {
    find_cause::<io::Error>(error)
        .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
}

/// The first error of this type in the chain of causes, including those inside an `io::Error`.
fn find_cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        // `io::Error::source` skips the wrapped error and returns its cause.
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

fn format_duration(duration: Duration) -> String {
    if duration.subsec_nanos() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
