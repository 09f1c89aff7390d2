//! Parses provider errors in every format and classifies them: permanent, retryable or account.

use std::time::Duration;

use serde_json::Value;

/// Longer texts are cut.
const MAX_TEXT_CHARS: usize = 500;

/// The `error` object of a provider's response, from any provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ProviderError {
    /// The most specific error code; empty if there is none.
    pub(super) code: String,
    pub(super) message: String,
    /// The gRPC or HTTP status, if the body contains it.
    pub(super) numeric_code: Option<u16>,
    pub(super) retry_after: Option<Duration>,
}

/// What an error means for the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProviderErrorClassification {
    /// The request is invalid: no provider would accept it.
    Permanent,
    Retryable,
    /// The error code says that the provider refuses the account, not the item.
    Account,
}

/// Error codes of an account that is out of credit.
const PAYMENT_CODES: [&str; 5] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "BILLING_DISABLED",
    "enforced_spend_limit_reached",
];

/// Error codes of a rejected credential.
const CREDENTIAL_CODES: [&str; 5] = [
    "API_KEY_INVALID",
    "authentication_error",
    "invalid_api_key",
    "permission_error",
    "UNAUTHENTICATED",
];

/// The gRPC status code `UNAUTHENTICATED`.
const GRPC_UNAUTHENTICATED: u16 = 16;

impl ProviderError {
    /// A body that is not JSON, or has no error, gives an empty error.
    pub(super) fn parse(body: &[u8]) -> Self {
        serde_json::from_slice(body).map_or_else(|_| Self::default(), |body| Self::from_json(&body))
    }

    /// Accepts a whole response body or only its `error` object.
    pub(super) fn from_json(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        let error = ["error", "status"]
            .iter()
            .filter_map(|name| body.get(*name))
            .find(|error| error.is_object())
            .unwrap_or(body);
        // Anthropic wraps an error in an error.
        let error = error
            .get("error")
            .filter(|it| it.is_object())
            .unwrap_or(error);
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let details = error.get("details").and_then(Value::as_array);
        let detail = |name: &str| details?.iter().find_map(|it| it.get(name)?.as_str());
        // Prefer the most specific code, and a name over a number.
        let code = detail("reason")
            .or_else(|| text("error_code"))
            .or_else(|| body.get("error_code").and_then(Value::as_str))
            .or_else(|| text("code"))
            .or_else(|| text("status"))
            .or_else(|| text("type"));
        let number = error.get("code").and_then(Value::as_u64);
        Self {
            code: truncate(code.unwrap_or_default()),
            message: truncate(text("message").unwrap_or_default()),
            numeric_code: number.and_then(|it| u16::try_from(it).ok()),
            retry_after: detail("retryDelay").and_then(parse_seconds),
        }
    }

    /// Classifies an item's error by its status and error code.
    ///
    /// The message may repeat the caller's input, so it never leads to an account fault. At most
    /// it leads to a retry, which counts as an attempt.
    pub(super) fn classify(&self, status: u16) -> ProviderErrorClassification {
        if self.has_payment_code() || self.has_credential_code() {
            return ProviderErrorClassification::Account;
        }
        match status {
            401..=403 | 408 | 409 | 425 | 429 | 499.. => ProviderErrorClassification::Retryable,
            _ if self.asks_for_payment() => ProviderErrorClassification::Retryable,
            _ => ProviderErrorClassification::Permanent,
        }
    }

    pub(super) fn has_payment_code(&self) -> bool {
        PAYMENT_CODES.contains(&self.code.as_str())
    }

    pub(super) fn has_credential_code(&self) -> bool {
        CREDENTIAL_CODES.contains(&self.code.as_str())
            || self.numeric_code == Some(GRPC_UNAUTHENTICATED)
    }

    /// Whether the message asks for payment, for providers without an error code for that.
    /// Reliable only for calls that carry no caller input.
    pub(super) fn asks_for_payment(&self) -> bool {
        // Gemini uses one message for two limits. With a retry delay it means the rate limit.
        let is_gemini = self.code == "RESOURCE_EXHAUSTED"
            && self.message.contains("check your plan and billing")
            && self.retry_after.is_none();
        is_gemini || self.message.starts_with("Your credit balance is too low")
    }

    /// The message for the caller, or a default made from the code or the status.
    pub(super) fn message_or_default(&self, status: u16) -> String {
        match (self.message.as_str(), self.code.as_str()) {
            ("", "") => format!("the provider answered with status {status}"),
            ("", code) => format!("the provider answered with {code}"),
            (message, _) => message.to_owned(),
        }
    }
}

/// The HTTP status for a gRPC status code. Other numbers are returned unchanged.
pub(super) const fn http_status_of_code(number: u16) -> u16 {
    match number {
        1 => 499,
        3 | 9 | 11 => 400,
        4 => 504,
        5 => 404,
        6 | 10 => 409,
        7 => 403,
        8 => 429,
        12 => 501,
        14 => 503,
        16 => 401,
        0 | 2 | 13 | 15 => 500,
        other => other,
    }
}

/// Parses Google's duration format: `34s` or `1.5s`.
fn parse_seconds(text: &str) -> Option<Duration> {
    let seconds = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn truncate(text: &str) -> String {
    let end = text.char_indices().nth(MAX_TEXT_CHARS).map(|(end, _)| end);
    end.and_then(|end| text.get(..end))
        .unwrap_or(text)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_format_is_parsed() {
        let parsed = |body: &str| {
            let error = ProviderError::parse(body.as_bytes());
            (error.code, error.message, error.numeric_code)
        };
        let fields =
            |code: &str, message: &str, number| (code.to_owned(), message.to_owned(), number);
        for (body, expected) in [
            // OpenAI
            (
                r#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#,
                fields("c", "m", None),
            ),
            (
                r#"{"error":{"message":"m","type":"t","param":null,"code":null}}"#,
                fields("t", "m", None),
            ),
            // vLLM, new and old, and llama.cpp
            (
                r#"{"error":{"message":"m","type":"BadRequestError","param":null,"code":400}}"#,
                fields("BadRequestError", "m", Some(400)),
            ),
            (
                r#"{"object":"error","message":"m","type":"NotFoundError","code":404}"#,
                fields("NotFoundError", "m", Some(404)),
            ),
            // Anthropic: a response, and inside a result line
            (
                r#"{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"r"}"#,
                fields("api_error", "m", None),
            ),
            (
                r#"{"error":{"type":"error","error":{"type":"api_error","message":"m"}}}"#,
                fields("api_error", "m", None),
            ),
            // Anthropic: the limit of spending that the customer set
            (
                r#"{"error":{"type":"rate_limit_error","error_code":"enforced_spend_limit_reached","message":"m"}}"#,
                fields("enforced_spend_limit_reached", "m", None),
            ),
            (
                r#"{"error":{"type":"rate_limit_error","message":"m"},"error_code":"enforced_spend_limit_reached"}"#,
                fields("enforced_spend_limit_reached", "m", None),
            ),
            // Gemini: in `error`, in `status`, and in a list
            (
                r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}"#,
                fields("RESOURCE_EXHAUSTED", "m", Some(429)),
            ),
            (
                r#"{"status":{"code":3,"message":"m"}}"#,
                fields("", "m", Some(3)),
            ),
            (
                r#"[{"error":{"code":400,"message":"m","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
                fields("API_KEY_INVALID", "m", Some(400)),
            ),
            ("<html>413</html>", fields("", "", None)),
            ("", fields("", "", None)),
            ("[]", fields("", "", None)),
        ] {
            assert_eq!(parsed(body), expected, "{body}");
        }
    }

    #[test]
    fn an_item_fails_for_its_own_fault_alone() {
        let verdict = |status, code: &str| {
            let code = code.to_owned();
            ProviderError {
                code,
                ..ProviderError::default()
            }
            .classify(status)
        };
        for status in [400, 404, 413, 422] {
            assert_eq!(
                verdict(status, ""),
                ProviderErrorClassification::Permanent,
                "{status}"
            );
        }
        for status in [401, 402, 403, 408, 409, 429, 500, 502, 503, 504, 529] {
            assert_eq!(
                verdict(status, ""),
                ProviderErrorClassification::Retryable,
                "{status}"
            );
        }
    }

    #[test]
    fn an_account_fault_of_an_item_has_an_error_code() {
        let verdict = |status, code: &str, message: &str| {
            let (code, message) = (code.to_owned(), message.to_owned());
            let error = ProviderError {
                code,
                message,
                ..ProviderError::default()
            };
            error.classify(status)
        };
        for code in PAYMENT_CODES.iter().chain(&CREDENTIAL_CODES) {
            for status in [400, 401, 402, 403, 429] {
                assert_eq!(
                    verdict(status, code, ""),
                    ProviderErrorClassification::Account,
                    "{code}"
                );
            }
        }
        for message in [
            "You exceeded your current quota, please check your plan and billing details.",
            "Your credit balance is too low to access the API",
            "invalid role: 'check your plan and billing'",
            "invalid_api_key",
            "insufficient_quota",
        ] {
            for code in ["", "invalid_request_error", "RESOURCE_EXHAUSTED"] {
                for status in [400, 401, 402, 403, 404, 422, 429, 500] {
                    let verdict = verdict(status, code, message);
                    assert_ne!(
                        verdict,
                        ProviderErrorClassification::Account,
                        "{status} {code} {message}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_number_of_grpc_is_an_error_code() {
        let error = |number: u16| {
            ProviderError::parse(format!(r#"{{"code":{number},"message":"m"}}"#).as_bytes())
        };
        assert_eq!(
            error(16).classify(401),
            ProviderErrorClassification::Account
        );
        // An item may reference a file that the account must not read.
        assert_eq!(
            error(7).classify(403),
            ProviderErrorClassification::Retryable
        );
    }

    #[test]
    fn gemini_says_in_the_body_how_long_to_wait() {
        let body = r#"{"error":{"code":429,"details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#;
        let wait = ProviderError::parse(body.as_bytes()).retry_after;
        assert_eq!(wait, Some(Duration::from_millis(34_500)));
    }

    #[test]
    fn a_message_asks_for_payment_unless_it_says_when_to_ask_again() {
        let message =
            "You exceeded your current quota, please check your plan and billing details.";
        let error = |status: &str, details: &str| {
            let body = format!(
                r#"{{"error":{{"code":429,"message":"{message}","status":"{status}",
                    "details":[{details}]}}}}"#
            );
            ProviderError::parse(body.as_bytes())
        };
        assert!(error("RESOURCE_EXHAUSTED", "").asks_for_payment());
        assert!(!error("RESOURCE_EXHAUSTED", r#"{"retryDelay":"34s"}"#).asks_for_payment());
        assert!(!error("INVALID_ARGUMENT", "").asks_for_payment());
    }

    #[test]
    fn a_long_message_is_cut_between_letters() {
        let body = serde_json::json!({"error": {"message": "é".repeat(2 * MAX_TEXT_CHARS)}});
        assert_eq!(
            ProviderError::from_json(&body).message,
            "é".repeat(MAX_TEXT_CHARS)
        );
    }
}
