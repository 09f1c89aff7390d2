//! `GET /cargo/{cargo_id}/tracking`: the record of a cargo.

use domain::cargo;
use domain::model;
use domain::money::Money;
use domain::saving::Saving;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::completion::{CompletionBody, UsageBody};
use crate::load::LoadWarningBody;
use crate::timestamp::WireTimestamp;

/// The record of one cargo. Every field up to `erased_at` is always present; unknown values are
/// null.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Tracking)]
pub struct TrackingResponse {
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
    pub batched_at: Option<WireTimestamp>,
    #[schema(required = true)]
    pub processing_at: Option<WireTimestamp>,
    #[schema(required = true)]
    pub completed_at: Option<WireTimestamp>,
    /// A target: the deadline of the load, or 24 hours after it.
    pub deadline_at: WireTimestamp,
    /// Null until completed. A cargo whose processing failed is completed with `false`.
    #[schema(required = true)]
    pub success: Option<bool>,
    /// The answer of the model. Null until completed, and on failure.
    #[schema(required = true, value_type = Option<CompletionBody>)]
    pub response: Option<Box<RawValue>>,
    /// Why processing failed. For people: the text may change.
    #[schema(required = true)]
    pub error: Option<String>,
    /// One of the codes for failures. A code keeps its meaning; new codes may be added. Null unless
    /// processing failed, and if it failed before codes existed.
    #[schema(required = true, example = "request_rejected")]
    pub error_code: Option<String>,
    #[schema(required = true)]
    pub usage: Option<UsageBody>,
    pub cost: CostBody,
    /// Null when no `callback_url` was given.
    #[schema(required = true)]
    pub callback: Option<CallbackTrackingBody>,
    /// Null once completed.
    #[schema(required = true)]
    pub waiting: Option<WaitingBody>,
    /// As given at load.
    #[schema(required = true, value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// When the request, the answer and the metadata were erased, by the retention of the project.
    /// `response`, `error` and `metadata` are null from then on. Null until then.
    #[schema(required = true)]
    pub erased_at: Option<WireTimestamp>,
    /// The warnings of the load. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Vec<LoadWarningBody>>)]
    pub warnings: Option<Box<RawValue>>,
    /// Absent unless the load has a deadline or goes by flex.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub route: Option<RouteBody>,
    /// The group of the load. Absent if the load named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "grp_019b76da807b774b805000000000002a")]
    pub group_id: Option<String>,
    /// The name that the load gave it in its group. Absent if the load named none, and after
    /// `erased_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "row-7")]
    pub custom_id: Option<String>,
    /// Its position in its group. Absent if the load named no group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 7)]
    pub position: Option<u64>,
    /// When you first asked to cancel it. Absent if you have not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cancel_requested_at: Option<WireTimestamp>,
}

/// The way that the cargo takes to a provider, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Route)]
pub struct RouteBody {
    /// `batch`, `flex` or `realtime`. Once completed, the way by which the provider served it.
    #[schema(value_type = String, example = "flex")]
    pub via: &'static str,
    /// A code. Absent if the model has one way only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "flex_for_deadline")]
    pub reason: Option<String>,
}

/// The status of the cargo. COMPLETED is the last status when there is no callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CargoStatus)]
pub enum CargoStatusBody {
    #[serde(rename = "PENDING")]
    Pending,
    #[serde(rename = "BATCHED")]
    Batched,
    #[serde(rename = "PROCESSING")]
    Processing,
    #[serde(rename = "COMPLETED")]
    Completed,
    #[serde(rename = "callback_delivered")]
    Delivered,
    #[serde(rename = "callback_failed")]
    Undeliverable,
}

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CargoKind)]
pub enum CargoKindBody {
    Chat,
    Embedding,
}

/// Money in whole numbers of 10^-`scale` of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Cost)]
pub struct CostBody {
    /// What is set aside while the cargo is in flight.
    #[schema(example = 0)]
    pub held: u64,
    /// Null until completed; never more than was held.
    #[schema(required = true, example = 0)]
    pub charged: Option<u64>,
    /// What the same work would have cost in realtime. Null until completed, if it failed or was
    /// free, and if no realtime price is known.
    #[schema(required = true, example = 0)]
    pub realtime: Option<u64>,
    /// What the batch saved against `realtime`; null if `realtime` is null, and never negative.
    #[schema(required = true, example = 0)]
    pub saved: Option<u64>,
    #[schema(value_type = String, example = "USD")]
    pub currency: &'static str,
    #[schema(example = 9)]
    pub scale: u8,
}

/// The callback and its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CallbackTracking)]
pub struct CallbackTrackingBody {
    #[schema(example = "https://example.com/callbacks/longshore")]
    pub url: String,
    /// How many attempts have ended.
    #[schema(example = 1)]
    pub attempts: u32,
    #[schema(required = true)]
    pub last_attempt_at: Option<WireTimestamp>,
    #[schema(required = true, example = 200)]
    pub last_status_code: Option<u16>,
    #[schema(required = true)]
    pub last_error: Option<String>,
    #[schema(required = true)]
    pub next_attempt_at: Option<WireTimestamp>,
    #[schema(required = true)]
    pub delivered_at: Option<WireTimestamp>,
}

/// What the cargo is waiting for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Waiting)]
pub struct WaitingBody {
    /// One of the codes for waiting. A code keeps its meaning; new codes may be added.
    #[schema(value_type = String, example = "waiting_for_batch")]
    pub code: &'static str,
    /// For people: the text may change.
    #[schema(example = "waiting to be gathered into a batch")]
    pub reason: String,
    pub since: WireTimestamp,
    /// When its outcome is expected, by how long recent batches took. Never in the past; null if
    /// no estimate is possible.
    #[schema(required = true)]
    pub expected_at: Option<WireTimestamp>,
}

impl CostBody {
    /// In nano-dollars, never negative.
    pub fn in_nano_dollars(held: Money, charged: Option<Money>, saving: Option<Saving>) -> Self {
        let nanos = |money: Money| u64::try_from(money.nanos()).unwrap_or_default();
        Self {
            held: nanos(held),
            charged: charged.map(nanos),
            realtime: saving.map(|saving| nanos(saving.realtime)),
            saved: saving.map(|saving| nanos(saving.saved)),
            currency: "USD",
            scale: 9,
        }
    }
}

impl From<cargo::CargoStatus> for CargoStatusBody {
    fn from(status: cargo::CargoStatus) -> Self {
        match status {
            cargo::CargoStatus::Pending => Self::Pending,
            cargo::CargoStatus::Batched => Self::Batched,
            cargo::CargoStatus::Processing => Self::Processing,
            cargo::CargoStatus::Completed => Self::Completed,
            cargo::CargoStatus::Delivered => Self::Delivered,
            cargo::CargoStatus::Undeliverable => Self::Undeliverable,
        }
    }
}

impl From<model::ModelKind> for CargoKindBody {
    fn from(kind: model::ModelKind) -> Self {
        match kind {
            model::ModelKind::Chat => Self::Chat,
            model::ModelKind::Embedding => Self::Embedding,
        }
    }
}

/// Stored JSON, passed on unparsed. None if it is not JSON, which a stored body always is.
pub fn raw_json(json: Vec<u8>) -> Option<Box<RawValue>> {
    String::from_utf8(json)
        .ok()
        .and_then(|json| RawValue::from_string(json).ok())
}

#[cfg(test)]
mod tests;
