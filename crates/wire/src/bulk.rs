//! `POST /cargo/bulk`: many loads in one request, and an answer to each.

use domain::id::CargoId;
use domain::load_warning::LoadWarning;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error_body::ErrorDetail;
use crate::load::{LoadRequest, LoadWarningBody};

/// Up to 1,000 loads. They can also be sent as NDJSON, one load per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BulkLoadRequest {
    #[schema(max_items = 1000)]
    pub cargo: Vec<BulkLoadItem>,
}

/// A load, as `POST /cargo/load` takes it, optionally with its own idempotency key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BulkLoadItem {
    #[serde(flatten)]
    pub load: LoadRequest,
    /// The `Idempotency-Key` of this load. It replaces the one that is made from the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255, example = "order-7")]
    pub idempotency_key: Option<String>,
}

/// One result for each item, in the order of the request.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = BulkLoad)]
pub struct BulkLoadResponse {
    /// How many items are on disk.
    #[schema(example = 1)]
    pub accepted: usize,
    #[schema(example = 0)]
    pub refused: usize,
    pub results: Vec<BulkItemResult>,
}

/// What `POST /cargo/load` would have answered to the item.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum BulkItemResult {
    Accepted(AcceptedItem),
    Refused(RefusedItem),
}

/// The item is on disk.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct AcceptedItem {
    /// The place of the item in the request, from 0.
    #[schema(example = 0)]
    pub index: usize,
    #[schema(example = 202)]
    pub status: u16,
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    /// Whether the item was loaded before: with the same idempotency key, or with the same
    /// `custom_id` in its group.
    pub replay: bool,
    /// Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<LoadWarningBody>,
}

/// The item is not stored.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RefusedItem {
    /// The place of the item in the request, from 0.
    #[schema(example = 1)]
    pub index: usize,
    #[schema(example = 422)]
    pub status: u16,
    /// As in the error of a single load.
    pub detail: ErrorDetail,
    /// Absent unless a retry after this time may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1)]
    pub retry_after_seconds: Option<u64>,
}

impl AcceptedItem {
    pub fn new(index: usize, cargo: CargoId, replay: bool, warnings: Vec<LoadWarning>) -> Self {
        Self {
            index,
            status: 202,
            cargo_id: cargo.to_string(),
            replay,
            warnings: warnings.into_iter().map(LoadWarningBody::from).collect(),
        }
    }
}

impl BulkLoadResponse {
    pub fn new(results: Vec<BulkItemResult>) -> Self {
        let accepted = results.iter().filter(|result| result.is_accepted()).count();
        Self {
            accepted,
            refused: results.len() - accepted,
            results,
        }
    }
}

impl BulkItemResult {
    pub const fn is_accepted(&self) -> bool {
        match self {
            Self::Accepted(_) => true,
            Self::Refused(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_an_acknowledgement_or_an_error() {
        let cargo = "crg_019b76da807b774b805000000000002a".parse().unwrap();
        let accepted = AcceptedItem::new(0, cargo, false, Vec::new());
        let refused = RefusedItem {
            index: 1,
            status: 400,
            detail: ErrorDetail::Text("The body is not JSON.".into()),
            retry_after_seconds: None,
        };
        let response = BulkLoadResponse::new(vec![
            BulkItemResult::Accepted(accepted),
            BulkItemResult::Refused(refused),
        ]);
        insta::assert_snapshot!(serde_json::to_string(&response).unwrap(), @r#"{"accepted":1,"refused":1,"results":[{"index":0,"status":202,"cargo_id":"crg_019b76da807b774b805000000000002a","replay":false},{"index":1,"status":400,"detail":"The body is not JSON."}]}"#);
    }

    #[test]
    fn an_item_is_a_load_with_a_key() {
        let item = r#"{"params":{"model":"m","input_text":"a"},"idempotency_key":"k"}"#;
        let read: BulkLoadItem = serde_json::from_str(item).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), item);
    }
}
