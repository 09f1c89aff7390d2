//! Why there are no new credentials. Messages never contain a token or a key.

use domain::session_credentials::InvalidCredentials;
use http::StatusCode;

use crate::connection::describe_connect_error;
use crate::http_exchange::HttpFailure;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleCredentialFailure {
    #[error("the token file {path} cannot be used: {why}")]
    TokenFile { path: String, why: String },
    #[error("{at} cannot be reached: {why}")]
    Unreachable { at: &'static str, why: String },
    #[error("{at} refused: status {status}{}", format_code(.code))]
    Refused {
        at: &'static str,
        status: u16,
        code: String,
    },
    #[error("{0} sent an unreadable answer")]
    Unreadable(&'static str),
    #[error("{at} sent credentials that cannot be used: {why}")]
    Unusable {
        at: &'static str,
        why: InvalidCredentials,
    },
    #[error("the address or the token for {0} is invalid")]
    InvalidRequest(&'static str),
    #[error("the EC2 instance has no role; attach an instance profile with a role to it")]
    NoRole,
}

fn format_code(code: &str) -> String {
    if code.is_empty() {
        String::new()
    } else {
        format!(" ({code})")
    }
}

impl RoleCredentialFailure {
    pub(super) fn from_http(at: &'static str, failure: HttpFailure) -> Self {
        let why = match failure {
            HttpFailure::NotConnected(kind) => describe_connect_error(kind).to_owned(),
            HttpFailure::NoResponse(_)
            | HttpFailure::ResponseCut
            | HttpFailure::ResponseTooLarge
            | HttpFailure::TimedOut(_) => failure.to_string(),
        };
        Self::Unreachable { at, why }
    }

    pub(super) fn refused(at: &'static str, status: StatusCode, code: String) -> Self {
        Self::Refused {
            at,
            status: status.as_u16(),
            code,
        }
    }
}
