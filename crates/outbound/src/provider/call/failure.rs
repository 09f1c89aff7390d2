//! How a call can end badly: for good, for now, or nobody knows.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::HeaderMap;
use hyper_util::client::legacy;

use super::{Effect, retry_after};
use crate::provider::credential::Credential;
use crate::provider::no::No;

/// The settings cannot be meant.
#[derive(Debug, thiserror::Error)]
pub enum SetupFailure {
    #[error("the address of a provider must be http or https with a host, and no user or query")]
    Address,
    #[error(transparent)]
    Tls(#[from] crate::callback::SetupFailure),
}

/// Never with a credential or a prompt in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    /// For good: the same call will have the same end.
    #[error("refused with status {status}: {message}")]
    Refused {
        status: u16,
        code: String,
        message: String,
    },
    #[error("the credential is not accepted")]
    Unauthorized,
    #[error("the account cannot pay")]
    OutOfFunds,
    /// Too much was asked for; nothing happened.
    #[error("too busy for us")]
    Busy { retry_after: Option<Duration> },
    /// Nothing happened, or nothing that matters: it may be asked again.
    #[error("unavailable: {why}")]
    Unavailable {
        why: String,
        retry_after: Option<Duration>,
    },
    /// It may have happened: asked again, it could be billed twice.
    #[error("unknown: {0}")]
    Unknown(String),
    #[error("not there")]
    NotFound,
    /// Not as things stand: nothing happened.
    #[error("in conflict with what is there")]
    Conflict,
    #[error("too large")]
    TooLarge,
    #[error("the answer cannot be read")]
    Unreadable,
    /// Our own disk.
    #[error("the spool failed: {0}")]
    Spool(io::ErrorKind),
}

impl CallFailure {
    pub(in crate::provider) fn unavailable(why: impl Into<String>) -> Self {
        Self::Unavailable {
            why: why.into(),
            retry_after: None,
        }
    }

    pub(super) fn scrubbed(self, credential: &Credential) -> Self {
        if let Self::Refused {
            status,
            code,
            message,
        } = self
        {
            return Self::Refused {
                status,
                code: credential.scrubbed(code),
                message: credential.scrubbed(message),
            };
        }
        self
    }
}

impl From<io::Error> for CallFailure {
    fn from(error: io::Error) -> Self {
        Self::Spool(error.kind())
    }
}

/// The call was sent, and what became of it was not heard.
pub(super) fn lost(effect: Effect, why: &str) -> CallFailure {
    match effect {
        Effect::None => CallFailure::unavailable(why),
        Effect::Creates => CallFailure::Unknown(why.to_owned()),
    }
}

pub(super) fn of_client(error: &legacy::Error, effect: Effect) -> CallFailure {
    let why = reason(error);
    if error.is_connect() {
        return CallFailure::unavailable(why);
    }
    lost(effect, &why)
}

/// Of an answer that is no success.
pub(super) fn of_answer(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    effect: Effect,
) -> CallFailure {
    let no = No::read(body);
    let retry_after = retry_after(headers, &no);
    if no.has_payment_code() || no.asks_for_payment() {
        return CallFailure::OutOfFunds;
    }
    if no.has_credential_code() {
        return CallFailure::Unauthorized;
    }
    match status {
        401 | 403 => CallFailure::Unauthorized,
        402 => CallFailure::OutOfFunds,
        404 | 410 => CallFailure::NotFound,
        413 => CallFailure::TooLarge,
        429 => CallFailure::Busy { retry_after },
        409 => CallFailure::Conflict,
        408 | 425 | 500.. if effect == Effect::Creates => {
            CallFailure::Unknown(format!("status {status}"))
        }
        408 | 425 | 500.. => CallFailure::Unavailable {
            why: format!("status {status}"),
            retry_after,
        },
        _ => CallFailure::Refused {
            status,
            message: no.words(status),
            code: no.code,
        },
    }
}

/// The innermost cause that has a kind.
fn reason(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let kinds = causes.filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    match kinds.last() {
        None | Some(io::ErrorKind::Other) => "the connection failed".to_owned(),
        Some(io::ErrorKind::InvalidData) => "TLS failed".to_owned(),
        Some(kind) => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str, effect: Effect) -> CallFailure {
        of_answer(status, &HeaderMap::new(), body.as_bytes(), effect)
    }

    #[test]
    fn a_server_that_failed_may_have_created_what_it_was_asked_for() {
        for status in [408, 500, 502, 503, 504, 529] {
            let known = of(status, "", Effect::None);
            assert!(matches!(known, CallFailure::Unavailable { .. }), "{status}");
            let unknown = of(status, "", Effect::Creates);
            assert!(matches!(unknown, CallFailure::Unknown(_)), "{status}");
        }
    }

    #[test]
    fn a_no_is_for_good_for_now_or_about_us() {
        let openai = |code: &str| format!(r#"{{"error":{{"message":"m","code":"{code}"}}}}"#);
        let busy = CallFailure::Busy { retry_after: None };
        for (status, body, expected) in [
            (401, openai("invalid_api_key"), CallFailure::Unauthorized),
            (403, String::new(), CallFailure::Unauthorized),
            (402, String::new(), CallFailure::OutOfFunds),
            (429, openai("insufficient_quota"), CallFailure::OutOfFunds),
            (429, openai("rate_limit_exceeded"), busy),
            (404, String::new(), CallFailure::NotFound),
            (410, String::new(), CallFailure::NotFound),
            (409, String::new(), CallFailure::Conflict),
            (413, "<html>".to_owned(), CallFailure::TooLarge),
            (
                400,
                openai("invalid_request"),
                CallFailure::Refused {
                    status: 400,
                    code: "invalid_request".to_owned(),
                    message: "m".to_owned(),
                },
            ),
            (
                302,
                String::new(),
                CallFailure::Refused {
                    status: 302,
                    code: String::new(),
                    message: "the provider answered with status 302".to_owned(),
                },
            ),
        ] {
            assert_eq!(
                of(status, &body, Effect::Creates),
                expected,
                "{status} {body}"
            );
        }
    }

    #[test]
    fn a_credential_that_was_said_back_is_not_repeated() {
        let body = r#"{"error":{"message":"bad key sk-secret","code":"sk-secret"}}"#;
        let failure = of(400, body, Effect::None);
        let failure = failure.scrubbed(&Credential::new("sk-secret"));
        assert!(!format!("{failure:?} {failure}").contains("secret"));
    }
}
