//! `GET /cargo`: a page of a project's cargo.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::completion::UsageBody;
use crate::timestamp::WireTimestamp;
use crate::tracking::{CargoKindBody, CargoStatusBody, CostBody};

/// A page of cargo, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CargoList)]
pub struct CargoListResponse {
    pub cargo: Vec<CargoSummaryBody>,
    /// The `cursor` of the next page. Only null is the end of the list: a page can be short, even
    /// empty, and have a next one.
    #[schema(required = true, example = "AQGbdtqAe3dLgFAAAAAAACo")]
    pub next_cursor: Option<String>,
    /// Set if the search ended before the page was full: older cargo was not examined yet. The next
    /// page continues there.
    #[schema(required = true)]
    pub looked_until: Option<WireTimestamp>,
}

/// A cargo without its answer, which tracking has. Every field is always present; unknown values
/// are null.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CargoSummary)]
pub struct CargoSummaryBody {
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    pub status: CargoStatusBody,
    #[schema(example = "svc-mock")]
    pub model: String,
    pub kind: CargoKindBody,
    /// Counts from 1; higher when a provider lost the batch and the cargo went into another one.
    #[schema(example = 1)]
    pub attempt: u32,
    pub created_at: WireTimestamp,
    #[schema(required = true)]
    pub completed_at: Option<WireTimestamp>,
    /// Null until completed.
    #[schema(required = true)]
    pub success: Option<bool>,
    /// Why processing failed, for people.
    #[schema(required = true)]
    pub error: Option<String>,
    /// Why processing failed, for programs.
    #[schema(required = true, example = "request_rejected")]
    pub error_code: Option<String>,
    /// The two counts. Tracking has the details.
    #[schema(required = true)]
    pub usage: Option<UsageBody>,
    pub cost: CostBody,
    /// Null when no `callback_url` was given.
    #[schema(required = true)]
    pub callback: Option<CallbackSummaryBody>,
    /// The caller's name for it within its group.
    #[schema(required = true, example = "row-17")]
    pub custom_id: Option<String>,
    #[schema(required = true, example = "grp_019b76da807b774b805000000000002a")]
    pub group_id: Option<String>,
    /// As given at load.
    #[schema(required = true, value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
}

/// The host of the callback, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CallbackSummary)]
pub struct CallbackSummaryBody {
    /// With its port.
    #[schema(example = "example.com:443")]
    pub host: String,
    pub status: CallbackStatusBody,
}

/// How far a callback is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CallbackStatus)]
pub enum CallbackStatusBody {
    /// The cargo is not completed, or the callback is being tried.
    Open,
    Delivered,
    /// All retries are exhausted.
    Failed,
}

/// The attempts of a callback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CallbackAttempts)]
pub struct CallbackAttemptsResponse {
    /// The last 100, oldest first.
    pub attempts: Vec<CallbackAttemptBody>,
    /// When the next attempt is due; null if none is.
    #[schema(required = true)]
    pub next_attempt_at: Option<WireTimestamp>,
}

/// One POST to `callback_url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CallbackAttempt)]
pub struct CallbackAttemptBody {
    /// Counts from 1.
    #[schema(example = 1)]
    pub number: u32,
    pub started_at: WireTimestamp,
    pub ended_at: WireTimestamp,
    #[schema(example = 84)]
    pub latency_ms: u64,
    /// Null if the receiver did not answer.
    #[schema(required = true, example = 500)]
    pub status_code: Option<u16>,
    /// Why the attempt failed; null if it was acknowledged.
    #[schema(required = true, example = "HTTP 500")]
    pub error: Option<String>,
    /// The first 1 KB of the answer as text. Null if there was none, or if it was erased.
    #[schema(required = true, example = "out of memory")]
    pub answer: Option<String>,
    /// Whether it was a resend, which is tried once.
    pub resend: bool,
}

/// The acknowledgement of a resend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Resend)]
pub struct ResendResponse {
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    pub resend: ResendStateBody,
}

/// What becomes of a resend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ResendState)]
pub enum ResendStateBody {
    /// One attempt is made now.
    Queued,
    /// The callback is still being tried: its next attempt is made now.
    AlreadyDue,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_description() {
        let words = serde_json::to_string(&(
            [ResendStateBody::Queued, ResendStateBody::AlreadyDue],
            [
                CallbackStatusBody::Open,
                CallbackStatusBody::Delivered,
                CallbackStatusBody::Failed,
            ],
        ));
        assert_eq!(
            words.unwrap(),
            r#"[["queued","already_due"],["open","delivered","failed"]]"#
        );
    }
}
