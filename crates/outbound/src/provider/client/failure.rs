//! Failures of provider calls: permanent, temporary or indeterminate.

use std::io;
use std::time::Duration;

use http::HeaderMap;

use super::{RetrySafety, parse_retry_after};
use crate::http_exchange::HttpFailure;
use crate::provider::credential::ProviderCredential;
use crate::provider::provider_error::ProviderError;
use crate::tls::TlsSetupFailure;

/// A longer text is no error code.
const MAX_CODE_BYTES: usize = 64;

/// The settings of a provider account are invalid.
#[derive(Debug, thiserror::Error)]
pub enum ProviderSetupFailure {
    #[error(
        "a provider's base URL must be http or https with a host, without user, query or fragment"
    )]
    BaseUrl,
    #[error(transparent)]
    Tls(#[from] TlsSetupFailure),
}

/// What a failure of a call can mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallTraits {
    pub(super) retry_safety: RetrySafety,
    pub(super) has_caller_input: bool,
    pub(super) is_flex: bool,
}

/// Never contains a credential or a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderCallFailure {
    /// Permanent: a repeated call fails the same way.
    #[error("refused by the provider with status {status}: {message}")]
    Refused {
        status: u16,
        code: String,
        message: String,
    },
    #[error("the provider rejected the credential")]
    Unauthorized,
    #[error("provider account is out of credit (billing limit reached)")]
    OutOfCredit,
    /// The message may repeat a caller's text, so it says nothing about the account.
    #[error("refused with a message about missing credit, but without an error code for it")]
    UnconfirmedOutOfCredit,
    /// The provider did not run the call.
    #[error("rate limited by the provider")]
    RateLimited { retry_after: Option<Duration> },
    /// A flex call: the provider has no spare capacity, did not run the call and bills nothing.
    #[error("the provider has no spare capacity for flex requests")]
    NoCapacity { retry_after: Option<Duration> },
    /// The call had no effect, or a harmless one: a retry is safe.
    #[error("provider unavailable: {why}")]
    Unavailable {
        why: String,
        retry_after: Option<Duration>,
    },
    /// The provider may have run the call: a retry could be billed twice.
    #[error("result unknown, the provider may have run the call: {0}")]
    Indeterminate(String),
    #[error("not found at the provider")]
    NotFound,
    /// The provider's current state does not allow the call, and nothing changed.
    #[error("conflict with the current state at the provider")]
    Conflict,
    #[error("too large for the provider")]
    TooLarge,
    #[error("the provider's response cannot be parsed")]
    UnreadableResponse,
    /// The local spool file failed, not the provider.
    #[error("the spool file failed: {0}")]
    Spool(io::ErrorKind),
}

impl ProviderCallFailure {
    pub(in crate::provider) fn unavailable(why: impl Into<String>) -> Self {
        Self::Unavailable {
            why: why.into(),
            retry_after: None,
        }
    }

    /// What failed, for a log: never the provider's message, which may repeat a prompt.
    pub fn diagnosis(&self) -> String {
        if let Self::Refused { status, code, .. } = self {
            // Some servers write a message where others have a code.
            let is_code = code.len() <= MAX_CODE_BYTES && !code.contains(char::is_whitespace);
            let code = if is_code { code.as_str() } else { "no code" };
            return format!("refused by the provider with status {status} ({code})");
        }
        self.to_string()
    }

    pub(super) fn redact(self, credential: &ProviderCredential) -> Self {
        if let Self::Refused {
            status,
            code,
            message,
        } = self
        {
            return Self::Refused {
                status,
                code: credential.redact(code),
                message: credential.redact(message),
            };
        }
        self
    }
}

impl From<io::Error> for ProviderCallFailure {
    fn from(error: io::Error) -> Self {
        Self::Spool(error.kind())
    }
}

/// Classifies an exchange without a complete response. Unless the connection failed, the provider
/// may have received the request.
pub(super) fn from_exchange(
    failure: HttpFailure,
    retry_safety: RetrySafety,
) -> ProviderCallFailure {
    let why = match failure {
        HttpFailure::NotConnected(kind) => {
            return ProviderCallFailure::unavailable(describe_cause(kind));
        }
        HttpFailure::NoResponse(kind) => describe_cause(kind),
        HttpFailure::ResponseCut | HttpFailure::ResponseTooLarge => {
            "the response was cut off".to_owned()
        }
        HttpFailure::TimedOut(_) => "no response before the timeout".to_owned(),
    };
    match retry_safety {
        RetrySafety::Safe => ProviderCallFailure::unavailable(why),
        RetrySafety::MayBillIfLost | RetrySafety::MayBillTwice => {
            ProviderCallFailure::Indeterminate(why)
        }
    }
}

/// Classifies a response with an error status. With caller input, no message counts against the
/// account.
pub(super) fn from_response(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    call: CallTraits,
) -> ProviderCallFailure {
    let error = ProviderError::parse(body);
    let retry_after = parse_retry_after(headers, &error);
    let asks_for_payment = error.asks_for_payment();
    if error.has_payment_code() || (asks_for_payment && !call.has_caller_input) {
        return ProviderCallFailure::OutOfCredit;
    }
    if error.has_credential_code() {
        return ProviderCallFailure::Unauthorized;
    }
    if call.is_flex && is_capacity_refusal(status, &error) {
        return ProviderCallFailure::NoCapacity { retry_after };
    }
    match status {
        401 | 403 => ProviderCallFailure::Unauthorized,
        402 => ProviderCallFailure::OutOfCredit,
        404 | 410 => ProviderCallFailure::NotFound,
        413 => ProviderCallFailure::TooLarge,
        429 => ProviderCallFailure::RateLimited { retry_after },
        409 => ProviderCallFailure::Conflict,
        408 | 425 | 500.. if call.retry_safety == RetrySafety::MayBillTwice => {
            ProviderCallFailure::Indeterminate(format!("status {status}"))
        }
        408 | 425 | 500.. => ProviderCallFailure::Unavailable {
            why: format!("status {status}"),
            retry_after,
        },
        _ if asks_for_payment => ProviderCallFailure::UnconfirmedOutOfCredit,
        _ => ProviderCallFailure::Refused {
            status,
            message: error.message_or_default(status),
            code: error.code,
        },
    }
}

/// Gemini answers 503, Groq 498, and `OpenAI` and Azure 429 with a code or a message of their own.
/// Any other 429 is a rate limit.
fn is_capacity_refusal(status: u16, error: &ProviderError) -> bool {
    let says_so = |text: &str| {
        let letters = text.chars().filter(char::is_ascii_alphabetic);
        let letters: String = letters.map(|it| it.to_ascii_lowercase()).collect();
        letters.starts_with("resourceunavailable")
    };
    match status {
        498 | 503 => true,
        429 => says_so(&error.code) || says_so(&error.message),
        _ => false,
    }
}

fn describe_cause(kind: Option<io::ErrorKind>) -> String {
    match kind {
        None | Some(io::ErrorKind::Other) => "the connection failed".to_owned(),
        Some(io::ErrorKind::InvalidData) => "TLS failed".to_owned(),
        Some(kind) => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str, retry_safety: RetrySafety) -> ProviderCallFailure {
        let call = CallTraits {
            retry_safety,
            has_caller_input: false,
            is_flex: false,
        };
        from_response(status, &HeaderMap::new(), body.as_bytes(), call)
    }

    #[test]
    fn h2_a_message_that_may_repeat_caller_input_says_nothing_about_the_account() {
        let headers = HeaderMap::new();
        let judge = |status, body: &str, has_caller_input| {
            let call = CallTraits {
                retry_safety: RetrySafety::Safe,
                has_caller_input,
                is_flex: false,
            };
            from_response(status, &headers, body.as_bytes(), call)
        };
        let anthropic = r#"{"error":{"type":"invalid_request_error",
            "message":"Your credit balance is too low"}}"#;
        let gemini = r#"{"error":{"status":"RESOURCE_EXHAUSTED",
            "message":"please check your plan and billing"}}"#;
        let unconfirmed = ProviderCallFailure::UnconfirmedOutOfCredit;
        let busy = ProviderCallFailure::RateLimited { retry_after: None };
        for (status, body, expected) in [(400, anthropic, unconfirmed), (429, gemini, busy)] {
            let known = judge(status, body, false);
            assert_eq!(known, ProviderCallFailure::OutOfCredit, "{body}");
            assert_eq!(judge(status, body, true), expected, "{body}");
        }
        // A status or an error code counts, whatever the request carries.
        let coded = r#"{"error":{"type":"billing_error","message":""}}"#;
        for (status, body) in [(400, coded), (402, anthropic)] {
            let known = judge(status, body, true);
            assert_eq!(known, ProviderCallFailure::OutOfCredit, "{body}");
        }
    }

    #[test]
    fn a_server_that_failed_may_have_created_what_it_was_asked_for() {
        for status in [408, 500, 502, 503, 504, 529] {
            let known = of(status, "", RetrySafety::Safe);
            assert!(
                matches!(known, ProviderCallFailure::Unavailable { .. }),
                "{status}"
            );
            let unknown = of(status, "", RetrySafety::MayBillTwice);
            assert!(
                matches!(unknown, ProviderCallFailure::Indeterminate(_)),
                "{status}"
            );
        }
    }

    #[test]
    fn only_a_lost_response_of_one_request_may_be_billed() {
        let safety = RetrySafety::MayBillIfLost;
        let refused = of(500, "", safety);
        assert!(matches!(refused, ProviderCallFailure::Unavailable { .. }));
        let lost = from_exchange(HttpFailure::ResponseCut, safety);
        assert!(matches!(lost, ProviderCallFailure::Indeterminate(_)));
    }

    #[test]
    fn spare_capacity_can_be_missing_for_flex_calls_only() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", http::HeaderValue::from_static("7"));
        let judge = |status, body: &str, is_flex| {
            let call = CallTraits {
                retry_safety: RetrySafety::MayBillIfLost,
                has_caller_input: true,
                is_flex,
            };
            from_response(status, &headers, body.as_bytes(), call)
        };
        let coded = r#"{"error":{"message":"m","code":"resource_unavailable"}}"#;
        let told = r#"{"error":{"message":"Resource Unavailable: try later","code":null}}"#;
        let groq = r#"{"error":{"message":"m","code":"capacity_exceeded"}}"#;
        for (status, body) in [(429, coded), (429, told), (498, groq), (503, "")] {
            let retry_after = Some(Duration::from_secs(7));
            let expected = ProviderCallFailure::NoCapacity { retry_after };
            assert_eq!(judge(status, body, true), expected, "{status} {body}");
            assert_ne!(judge(status, body, false), expected, "{status} {body}");
        }
        let limited = r#"{"error":{"message":"m","code":"rate_limit_exceeded"}}"#;
        let failure = judge(429, limited, true);
        assert!(matches!(failure, ProviderCallFailure::RateLimited { .. }));
    }

    #[test]
    fn an_error_response_is_permanent_temporary_or_about_the_account() {
        let openai = |code: &str| format!(r#"{{"error":{{"message":"m","code":"{code}"}}}}"#);
        let busy = ProviderCallFailure::RateLimited { retry_after: None };
        for (status, body, expected) in [
            (
                401,
                openai("invalid_api_key"),
                ProviderCallFailure::Unauthorized,
            ),
            (403, String::new(), ProviderCallFailure::Unauthorized),
            (402, String::new(), ProviderCallFailure::OutOfCredit),
            (
                429,
                openai("insufficient_quota"),
                ProviderCallFailure::OutOfCredit,
            ),
            (429, openai("rate_limit_exceeded"), busy),
            (404, String::new(), ProviderCallFailure::NotFound),
            (410, String::new(), ProviderCallFailure::NotFound),
            (409, String::new(), ProviderCallFailure::Conflict),
            (413, "<html>".to_owned(), ProviderCallFailure::TooLarge),
            (
                400,
                openai("invalid_request"),
                ProviderCallFailure::Refused {
                    status: 400,
                    code: "invalid_request".to_owned(),
                    message: "m".to_owned(),
                },
            ),
            (
                302,
                String::new(),
                ProviderCallFailure::Refused {
                    status: 302,
                    code: String::new(),
                    message: "the provider answered with status 302".to_owned(),
                },
            ),
        ] {
            assert_eq!(
                of(status, &body, RetrySafety::MayBillTwice),
                expected,
                "{status} {body}"
            );
        }
    }

    #[test]
    fn a_log_does_not_repeat_the_message() {
        let body = r#"{"error":{"message":"not allowed: a prompt","code":"invalid"}}"#;
        let refused = of(400, body, RetrySafety::Safe);
        insta::assert_snapshot!(refused.diagnosis(), @"refused by the provider with status 400 (invalid)");
        let body = r#"{"error":{"message":"m","type":"not allowed: a prompt"}}"#;
        let refused = of(400, body, RetrySafety::Safe);
        insta::assert_snapshot!(refused.diagnosis(), @"refused by the provider with status 400 (no code)");
        let busy = ProviderCallFailure::RateLimited { retry_after: None };
        assert_eq!(busy.diagnosis(), busy.to_string());
    }

    #[test]
    fn a_credential_that_was_said_back_is_not_repeated() {
        let body = r#"{"error":{"message":"bad key sk-secret","code":"sk-secret"}}"#;
        let failure = of(400, body, RetrySafety::Safe);
        let failure = failure.redact(&ProviderCredential::new("sk-secret"));
        assert!(!format!("{failure:?} {failure}").contains("secret"));
    }
}
