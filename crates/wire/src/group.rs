//! Groups of cargo: the requests, the record of a group, and the lines of its results.

use domain::cargo_group::{GroupCounts, GroupStatus};
use domain::money::Money;
use domain::saving::Saving;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::completion::{CompletionBody, UsageBody};
use crate::load::ParamsBody;
use crate::timestamp::WireTimestamp;
use crate::tracking::CallbackTrackingBody;

/// The `type` of the callback of a group.
pub const GROUP_COMPLETED: &str = "group.completed";

/// A new group. Every field is optional.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreateGroupRequest {
    /// Unique in your project. If there is a group of this name, it is returned. Without a name,
    /// the name is the `group_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9._:-]{1,128}$", example = "invoices-2026-11")]
    pub name: Option<String>,
    /// Your tags, at most 4,096 bytes of JSON. The record of the group returns them as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"month": 11}))]
    pub metadata: Option<Map<String, Value>>,
    /// Called once when the group is completed or cancelled, with its counts. The callbacks of
    /// cargo have their own URLs. A group that exists keeps its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048, example = "https://example.com/callbacks/groups")]
    pub callback_url: Option<String>,
}

/// Seals a group: no new cargo is added from then on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SealGroupRequest {
    /// How many cargo the group should have. If it has another number, it is not sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 2000)]
    pub total: Option<u64>,
}

/// The record of a group.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Group)]
pub struct GroupResponse {
    #[schema(example = "grp_019b76da807b774b805000000000002a")]
    pub group_id: String,
    #[schema(example = "invoices-2026-11")]
    pub name: String,
    pub status: GroupStatusBody,
    pub created_at: WireTimestamp,
    #[schema(required = true)]
    pub sealed_at: Option<WireTimestamp>,
    /// When its cancellation was requested.
    #[schema(required = true)]
    pub cancel_requested_at: Option<WireTimestamp>,
    /// When it was sealed and all of its cargo were completed.
    #[schema(required = true)]
    pub completed_at: Option<WireTimestamp>,
    /// When its newest cargo is expected to end, by how long recent batches took. Absent if nothing
    /// is unfinished, if no estimate is possible, in lists, and in the answer of `POST /groups`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub expected_at: Option<WireTimestamp>,
    pub counts: GroupCountsBody,
    /// Of all completed cargo.
    pub usage: UsageBody,
    pub cost: GroupCostBody,
    /// The ten most frequent failures. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub failures: Option<Vec<GroupFailureBody>>,
    /// Absent if the group has no `callback_url`, in lists, and in the answer of `POST /groups`.
    /// Once the group is completed, `next_attempt_at` and `delivered_at` are both null when all
    /// retries have failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub callback: Option<CallbackTrackingBody>,
    /// As given when the group was created.
    #[schema(required = true, value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// Only in the answer of `POST /groups`: whether there was a group of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub existing: Option<bool>,
}

/// The status of a group. `cancelled` and `completed` are last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = GroupStatus)]
pub enum GroupStatusBody {
    /// Cargo can be added.
    Open,
    /// No new cargo is added.
    Sealed,
    /// Its cargo are being cancelled.
    Cancelling,
    /// It was cancelled, and all of its cargo are completed.
    Cancelled,
    /// All of its cargo are completed.
    Completed,
}

/// How many cargo a group has, by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = GroupCounts)]
pub struct GroupCountsBody {
    #[schema(example = 2000)]
    pub total: u64,
    #[schema(example = 100)]
    pub unfinished: u64,
    #[schema(example = 1890)]
    pub succeeded: u64,
    /// Without the cancelled ones.
    #[schema(example = 10)]
    pub failed: u64,
    #[schema(example = 0)]
    pub cancelled: u64,
}

/// Sums over the cargo of a group, in whole numbers of 10^-`scale` of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = GroupCost)]
pub struct GroupCostBody {
    /// What is set aside for cargo in flight.
    #[schema(example = 0)]
    pub held: u64,
    #[schema(example = 0)]
    pub charged: u64,
    /// What the completed work would have cost in realtime, where a realtime price is known.
    #[schema(example = 0)]
    pub realtime: u64,
    /// What batching saved against `realtime`.
    #[schema(example = 0)]
    pub saved: u64,
    #[schema(value_type = String, example = "USD")]
    pub currency: &'static str,
    #[schema(example = 9)]
    pub scale: u8,
}

/// How often cargo of the group failed in the same way, with one of them as an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = GroupFailure)]
pub struct GroupFailureBody {
    /// The error without its details. For people: the text may change.
    #[schema(example = "storm")]
    pub error: String,
    #[schema(example = 10)]
    pub count: u64,
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
}

/// Sent to the `callback_url` of a group when the group is completed or cancelled.
///
/// It may be delivered more than once: deduplicate by `group_id`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = GroupCallback)]
pub struct GroupCallbackBody {
    /// Callbacks of cargo have no `type`.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "group.completed")]
    pub event: &'static str,
    #[schema(example = "grp_019b76da807b774b805000000000002a")]
    pub group_id: String,
    #[schema(example = "invoices-2026-11")]
    pub name: String,
    /// `completed` or `cancelled`.
    pub status: GroupStatusBody,
    pub completed_at: WireTimestamp,
    pub counts: GroupCountsBody,
    /// As given when the group was created.
    #[schema(required = true, value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
}

/// A page of groups, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = GroupList)]
pub struct GroupListResponse {
    pub groups: Vec<GroupResponse>,
    /// Null on the last page.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}

/// One line of the results of a group.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = GroupResult)]
pub struct GroupResultLine {
    /// The place in the order of completion, from 1 without a gap.
    #[schema(example = 1)]
    pub number: u64,
    /// The place in the group, from 0.
    #[schema(example = 0)]
    pub position: u64,
    /// Of the load, or its position as text.
    #[schema(example = "invoice-7")]
    pub custom_id: String,
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    pub success: bool,
    /// The answer of the model. Null on failure.
    #[schema(required = true, value_type = Option<CompletionBody>)]
    pub response: Option<Box<RawValue>>,
    /// Why processing failed. For people: the text may change.
    #[schema(required = true)]
    pub error: Option<String>,
    /// One of the codes for failures.
    #[schema(required = true, example = "request_rejected")]
    pub error_code: Option<String>,
    pub usage: UsageBody,
    pub cost: GroupResultCost,
    #[schema(example = "svc-mock")]
    pub model: String,
    pub created_at: WireTimestamp,
    pub completed_at: WireTimestamp,
    /// As given at load.
    #[schema(required = true, value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// When the request, the answer and the metadata were erased. Absent until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub erased_at: Option<WireTimestamp>,
    /// The params of the load. Only with `include=params`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<ParamsBody>)]
    pub params: Option<Box<RawValue>>,
}

/// What the cargo cost, in nano-dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct GroupResultCost {
    #[schema(example = 0)]
    pub charged: u64,
}

impl From<GroupStatus> for GroupStatusBody {
    fn from(status: GroupStatus) -> Self {
        match status {
            GroupStatus::Open => Self::Open,
            GroupStatus::Sealed => Self::Sealed,
            GroupStatus::Cancelling => Self::Cancelling,
            GroupStatus::Cancelled => Self::Cancelled,
            GroupStatus::Completed => Self::Completed,
        }
    }
}

impl From<GroupCounts> for GroupCountsBody {
    fn from(counts: GroupCounts) -> Self {
        Self {
            total: counts.total,
            unfinished: counts.unfinished(),
            succeeded: counts.succeeded,
            failed: counts.failed,
            cancelled: counts.cancelled,
        }
    }
}

impl GroupCallbackBody {
    pub fn encode(&self) -> Vec<u8> {
        // All of its fields always serialize.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether this is the body of a callback of a group, and not of a cargo.
    pub fn is_group_body(body: &[u8]) -> bool {
        let start = format!(r#"{{"type":"{GROUP_COMPLETED}","#);
        body.starts_with(start.as_bytes())
    }
}

impl GroupCostBody {
    /// In nano-dollars, never negative.
    pub fn in_nano_dollars(held: Money, charged: Money, saving: Saving) -> Self {
        Self {
            held: nano_dollars(held),
            charged: nano_dollars(charged),
            realtime: nano_dollars(saving.realtime),
            saved: nano_dollars(saving.saved),
            currency: "USD",
            scale: 9,
        }
    }
}

impl From<Money> for GroupResultCost {
    fn from(charged: Money) -> Self {
        Self {
            charged: nano_dollars(charged),
        }
    }
}

fn nano_dollars(money: Money) -> u64 {
    u64::try_from(money.nanos()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_spelled_as_the_domain_spells_them() {
        for status in GroupStatus::ALL {
            let written = serde_json::to_value(GroupStatusBody::from(*status)).unwrap();
            assert_eq!(written, status.as_str());
        }
    }

    #[test]
    fn the_callback_of_a_group_is_told_from_that_of_a_cargo() {
        let counts = GroupCounts {
            total: 3,
            succeeded: 2,
            failed: 1,
            cancelled: 0,
        };
        let body = GroupCallbackBody {
            event: GROUP_COMPLETED,
            group_id: "grp_019b76da807b774b805000000000002a".to_owned(),
            name: "run".to_owned(),
            status: GroupStatusBody::Completed,
            completed_at: WireTimestamp("2026-11-15T09:31:00Z".parse().unwrap()),
            counts: counts.into(),
            metadata: crate::tracking::raw_json(br#"{"z":1,"a":2}"#.to_vec()),
        };
        let encoded = body.encode();
        assert!(GroupCallbackBody::is_group_body(&encoded));
        let cargo = "crg_019b76da807b774b805000000000002a".parse().unwrap();
        let of_cargo = crate::callback::failure_body(cargo, None, "type");
        assert!(!GroupCallbackBody::is_group_body(&of_cargo));
        insta::assert_snapshot!(String::from_utf8(encoded).unwrap(), @r#"{"type":"group.completed","group_id":"grp_019b76da807b774b805000000000002a","name":"run","status":"completed","completed_at":"2026-11-15T09:31:00.000000Z","counts":{"total":3,"unfinished":0,"succeeded":2,"failed":1,"cancelled":0},"metadata":{"z":1,"a":2}}"#);
    }

    #[test]
    fn unfinished_is_what_has_not_ended() {
        let counts = GroupCounts {
            total: 10,
            succeeded: 4,
            failed: 2,
            cancelled: 1,
        };
        let written = serde_json::to_string(&GroupCountsBody::from(counts)).unwrap();
        insta::assert_snapshot!(written, @r#"{"total":10,"unfinished":3,"succeeded":4,"failed":2,"cancelled":1}"#);
    }
}
