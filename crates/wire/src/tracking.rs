//! `GET /cargo/{cargo_id}/tracking`: all there is to know about a cargo.

use domain::cargo;
use domain::model;
use domain::money::Money;
use domain::saving::Saving;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::completion::{Completion, Usage};
use crate::moment::Moment;

/// The record of one cargo. Every field is always there; what is not known yet is null.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Tracking {
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    pub status: Status,
    #[schema(example = "svc-mock")]
    pub model: String,
    pub kind: Kind,
    /// Counts from 1; higher when a provider lost the batch and the cargo went into another.
    #[schema(example = 1)]
    pub attempt: u32,
    pub created_at: Moment,
    #[schema(required = true)]
    pub batched_at: Option<Moment>,
    #[schema(required = true)]
    pub processing_at: Option<Moment>,
    #[schema(required = true)]
    pub completed_at: Option<Moment>,
    /// A target: 24 hours after the load.
    pub deadline_at: Moment,
    /// Null until completed. A cargo whose processing failed is completed with `false`.
    #[schema(required = true)]
    pub success: Option<bool>,
    /// The stored bytes, passed on unread.
    #[schema(required = true, value_type = Option<Completion>)]
    pub response: Option<Box<RawValue>>,
    /// Why processing failed.
    #[schema(required = true)]
    pub error: Option<String>,
    #[schema(required = true)]
    pub usage: Option<Usage>,
    pub cost: Cost,
    /// Null when no `callback_url` was given.
    #[schema(required = true)]
    pub callback: Option<Callback>,
    /// Null once completed.
    #[schema(required = true)]
    pub waiting: Option<Waiting>,
    /// As given at load.
    #[schema(required = true, value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
}

/// Where the cargo stands. COMPLETED is the last status when there is no callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CargoStatus)]
pub enum Status {
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

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CargoKind)]
pub enum Kind {
    Chat,
    Embedding,
}

/// Money in whole numbers of 10^-`scale` of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Cost {
    /// What is set aside while the cargo is in flight.
    #[schema(example = 0)]
    pub held: u64,
    /// Null until completed; never more than was held.
    #[schema(required = true, example = 0)]
    pub charged: Option<u64>,
    /// What the same work would have cost in realtime. Null until completed, where it failed or was
    /// free, and where no realtime price is known.
    #[schema(required = true, example = 0)]
    pub realtime: Option<u64>,
    /// What the batch saved of that; null where `realtime` is, and never below 0.
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
pub struct Callback {
    #[schema(example = "https://example.com/callbacks/longshore")]
    pub url: String,
    /// How many attempts have ended.
    #[schema(example = 1)]
    pub attempts: u32,
    #[schema(required = true)]
    pub last_attempt_at: Option<Moment>,
    #[schema(required = true, example = 200)]
    pub last_status_code: Option<u16>,
    #[schema(required = true)]
    pub last_error: Option<String>,
    #[schema(required = true)]
    pub next_attempt_at: Option<Moment>,
    #[schema(required = true)]
    pub delivered_at: Option<Moment>,
}

/// Why the cargo is not further yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Waiting {
    #[schema(example = "waiting to be gathered into a batch")]
    pub reason: String,
    pub since: Moment,
    /// When its outcome is expected, by how long such batches took lately. Never in the past; null
    /// where nobody can know.
    #[schema(required = true)]
    pub expected_at: Option<Moment>,
}

impl Cost {
    /// In nano-dollars, of which there are never less than none.
    pub fn dollars(held: Money, charged: Option<Money>, saving: Option<Saving>) -> Self {
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

impl From<cargo::Status> for Status {
    fn from(status: cargo::Status) -> Self {
        match status {
            cargo::Status::Pending => Self::Pending,
            cargo::Status::Batched => Self::Batched,
            cargo::Status::Processing => Self::Processing,
            cargo::Status::Completed => Self::Completed,
            cargo::Status::Delivered => Self::Delivered,
            cargo::Status::Undeliverable => Self::Undeliverable,
        }
    }
}

impl From<model::Kind> for Kind {
    fn from(kind: model::Kind) -> Self {
        match kind {
            model::Kind::Chat => Self::Chat,
            model::Kind::Embedding => Self::Embedding,
        }
    }
}

/// Stored JSON on its way out. None if it is not JSON, which a stored body never is.
pub fn stored(json: Vec<u8>) -> Option<Box<RawValue>> {
    String::from_utf8(json)
        .ok()
        .and_then(|json| RawValue::from_string(json).ok())
}

#[cfg(test)]
mod tests;
