//! A provider's no, in any of their shapes, and what it means for an item.

use std::time::Duration;

use serde_json::Value;

/// So much of what a provider says is kept.
const LONGEST: usize = 500;

/// What stands in `error`, whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct No {
    /// The most telling name that was given; empty if none was.
    pub(super) code: String,
    pub(super) message: String,
    /// gRPC's or HTTP's, where the body repeats it.
    pub(super) number: Option<u16>,
    pub(super) retry_after: Option<Duration>,
}

/// What becomes of an item that a provider did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The request itself is wrong: nobody else would take it.
    Fails,
    GoesAgain,
    /// The provider refuses the account, not the item: by an error code that says so.
    Account,
}

/// Error codes of an account that cannot pay.
const PAYMENT_CODES: [&str; 4] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "BILLING_DISABLED",
];

/// Error codes of a credential that is not accepted.
const CREDENTIAL_CODES: [&str; 5] = [
    "API_KEY_INVALID",
    "authentication_error",
    "invalid_api_key",
    "permission_error",
    "UNAUTHENTICATED",
];

/// gRPC's number for `UNAUTHENTICATED`.
const GRPC_UNAUTHENTICATED: u16 = 16;

impl No {
    /// What is not JSON, or says nothing, is an empty no.
    pub(super) fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).map_or_else(|_| Self::default(), |body| Self::of(&body))
    }

    /// From a whole answer, or from what stands in its `error`.
    pub(super) fn of(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        let told = ["error", "status"]
            .iter()
            .filter_map(|name| body.get(*name))
            .find(|told| told.is_object())
            .unwrap_or(body);
        // Anthropic wraps an error in an error.
        let told = told
            .get("error")
            .filter(|it| it.is_object())
            .unwrap_or(told);
        let text = |name: &str| told.get(name).and_then(Value::as_str);
        let details = told.get("details").and_then(Value::as_array);
        let detail = |name: &str| details?.iter().find_map(|it| it.get(name)?.as_str());
        // A name beats a number, and the narrower name the wider one.
        let code = detail("reason")
            .or_else(|| text("code"))
            .or_else(|| text("status"))
            .or_else(|| text("type"));
        let number = told.get("code").and_then(Value::as_u64);
        Self {
            code: short(code.unwrap_or_default()),
            message: short(text("message").unwrap_or_default()),
            number: number.and_then(|it| u16::try_from(it).ok()),
            retry_after: detail("retryDelay").and_then(seconds),
        }
    }

    /// For an item, by the status and the error code of its answer.
    ///
    /// The message may repeat what the caller wrote, so it never makes an account fault. At most
    /// it makes the item go again, which counts as an attempt.
    pub(super) fn verdict(&self, status: u16) -> Verdict {
        if self.has_payment_code() || self.has_credential_code() {
            return Verdict::Account;
        }
        match status {
            401..=403 | 408 | 409 | 425 | 429 | 499.. => Verdict::GoesAgain,
            _ if self.asks_for_payment() => Verdict::GoesAgain,
            _ => Verdict::Fails,
        }
    }

    pub(super) fn has_payment_code(&self) -> bool {
        PAYMENT_CODES.contains(&self.code.as_str())
    }

    pub(super) fn has_credential_code(&self) -> bool {
        CREDENTIAL_CODES.contains(&self.code.as_str()) || self.number == Some(GRPC_UNAUTHENTICATED)
    }

    /// Whether the message asks for payment, where a provider has no error code for it. Good
    /// enough for control calls only.
    pub(super) fn asks_for_payment(&self) -> bool {
        // Gemini has one message for two limits: with a delay it means the rate limit.
        let is_gemini = self.code == "RESOURCE_EXHAUSTED"
            && self.message.contains("check your plan and billing")
            && self.retry_after.is_none();
        is_gemini || self.message.starts_with("Your credit balance is too low")
    }

    /// For whoever asked: the message, or at least a name.
    pub(super) fn words(&self, status: u16) -> String {
        match (self.message.as_str(), self.code.as_str()) {
            ("", "") => format!("the provider answered with status {status}"),
            ("", code) => format!("the provider answered with {code}"),
            (message, _) => message.to_owned(),
        }
    }
}

/// HTTP's number for gRPC's; others stay what they are.
pub(super) const fn as_http(number: u16) -> u16 {
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

/// `34s` or `1.5s`, as Google writes durations.
fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn short(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST).map(|(end, _)| end);
    end.and_then(|end| text.get(..end))
        .unwrap_or(text)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_a_no_is_read() {
        let said = |body: &str| {
            let no = No::read(body.as_bytes());
            (no.code, no.message, no.number)
        };
        let told =
            |code: &str, message: &str, number| (code.to_owned(), message.to_owned(), number);
        for (body, expected) in [
            // OpenAI
            (
                r#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#,
                told("c", "m", None),
            ),
            (
                r#"{"error":{"message":"m","type":"t","param":null,"code":null}}"#,
                told("t", "m", None),
            ),
            // vLLM, new and old, and llama.cpp
            (
                r#"{"error":{"message":"m","type":"BadRequestError","param":null,"code":400}}"#,
                told("BadRequestError", "m", Some(400)),
            ),
            (
                r#"{"object":"error","message":"m","type":"NotFoundError","code":404}"#,
                told("NotFoundError", "m", Some(404)),
            ),
            // Anthropic, as an answer and inside a result
            (
                r#"{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"r"}"#,
                told("api_error", "m", None),
            ),
            (
                r#"{"error":{"type":"error","error":{"type":"api_error","message":"m"}}}"#,
                told("api_error", "m", None),
            ),
            // Gemini, by either name, and in a list
            (
                r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}"#,
                told("RESOURCE_EXHAUSTED", "m", Some(429)),
            ),
            (
                r#"{"status":{"code":3,"message":"m"}}"#,
                told("", "m", Some(3)),
            ),
            (
                r#"[{"error":{"code":400,"message":"m","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
                told("API_KEY_INVALID", "m", Some(400)),
            ),
            ("<html>413</html>", told("", "", None)),
            ("", told("", "", None)),
            ("[]", told("", "", None)),
        ] {
            assert_eq!(said(body), expected, "{body}");
        }
    }

    #[test]
    fn an_item_fails_for_its_own_fault_alone() {
        let verdict = |status, code: &str| {
            let code = code.to_owned();
            No {
                code,
                ..No::default()
            }
            .verdict(status)
        };
        for status in [400, 404, 413, 422] {
            assert_eq!(verdict(status, ""), Verdict::Fails, "{status}");
        }
        for status in [401, 402, 403, 408, 409, 429, 500, 502, 503, 504, 529] {
            assert_eq!(verdict(status, ""), Verdict::GoesAgain, "{status}");
        }
    }

    #[test]
    fn an_account_fault_of_an_item_has_an_error_code() {
        let verdict = |status, code: &str, message: &str| {
            let (code, message) = (code.to_owned(), message.to_owned());
            let no = No {
                code,
                message,
                ..No::default()
            };
            no.verdict(status)
        };
        for code in PAYMENT_CODES.iter().chain(&CREDENTIAL_CODES) {
            for status in [400, 401, 402, 403, 429] {
                assert_eq!(verdict(status, code, ""), Verdict::Account, "{code}");
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
                    assert_ne!(verdict, Verdict::Account, "{status} {code} {message}");
                }
            }
        }
    }

    #[test]
    fn a_number_of_grpc_is_an_error_code() {
        let no = |number: u16| No::read(format!(r#"{{"code":{number},"message":"m"}}"#).as_bytes());
        assert_eq!(no(16).verdict(401), Verdict::Account);
        // An item may name a file that the account must not read.
        assert_eq!(no(7).verdict(403), Verdict::GoesAgain);
    }

    #[test]
    fn gemini_says_in_the_body_how_long_to_wait() {
        let body = r#"{"error":{"code":429,"details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#;
        let wait = No::read(body.as_bytes()).retry_after;
        assert_eq!(wait, Some(Duration::from_millis(34_500)));
    }

    #[test]
    fn a_message_asks_for_payment_unless_it_says_when_to_ask_again() {
        let words = "You exceeded your current quota, please check your plan and billing details.";
        let no = |status: &str, details: &str| {
            let body = format!(
                r#"{{"error":{{"code":429,"message":"{words}","status":"{status}",
                    "details":[{details}]}}}}"#
            );
            No::read(body.as_bytes())
        };
        assert!(no("RESOURCE_EXHAUSTED", "").asks_for_payment());
        assert!(!no("RESOURCE_EXHAUSTED", r#"{"retryDelay":"34s"}"#).asks_for_payment());
        assert!(!no("INVALID_ARGUMENT", "").asks_for_payment());
    }

    #[test]
    fn a_long_message_is_cut_between_letters() {
        let body = serde_json::json!({"error": {"message": "é".repeat(2 * LONGEST)}});
        assert_eq!(No::of(&body).message, "é".repeat(LONGEST));
    }
}
