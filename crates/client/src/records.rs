//! What the API answers, as far as programs act on it. Unknown fields are ignored.

use serde::Deserialize;
use serde_json::Value;

/// The acknowledgement of a load.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct LoadReceipt {
    pub cargo_id: String,
    #[serde(default)]
    pub warnings: Vec<Value>,
}

/// One result for each item of a bulk load.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BulkAnswer {
    pub results: Vec<BulkItemAnswer>,
}

/// What a single load would have answered to the item.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BulkItemAnswer {
    pub index: usize,
    pub status: u16,
    pub cargo_id: Option<String>,
    #[serde(default)]
    pub replay: bool,
    #[serde(default)]
    pub detail: Value,
    pub retry_after_seconds: Option<f64>,
}

/// A group with its progress.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct GroupRecord {
    pub group_id: String,
    pub name: String,
    pub status: String,
    pub counts: GroupCountsRecord,
    pub cost: GroupTotals,
    /// Only in the answer to its creation: whether there was a group of this name.
    #[serde(default)]
    pub existing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct GroupCountsRecord {
    pub total: u64,
    pub unfinished: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub cancelled: u64,
}

/// In nano-dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct GroupTotals {
    pub held: u64,
    pub charged: u64,
}

/// The fields of a line of results that a program needs to store the line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ResultLineHead {
    pub number: u64,
    pub position: u64,
    pub success: bool,
    pub cost: ResultCharge,
}

/// In nano-dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ResultCharge {
    pub charged: u64,
}

impl GroupRecord {
    /// Whether new cargo can be added.
    pub fn is_open(&self) -> bool {
        self.status == "open"
    }

    pub fn is_completed(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "cancelled")
    }
}
