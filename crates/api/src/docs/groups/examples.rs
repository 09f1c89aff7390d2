//! Example groups.

use domain::cargo_group::GroupCounts;
use domain::money::Money;
use domain::outcome::TokenUsage;
use domain::saving::Saving;
use domain::time::Timestamp;
use wire::group::{
    GROUP_COMPLETED, GroupCallbackBody, GroupCostBody, GroupFailureBody, GroupResponse,
    GroupResultLine, GroupStatusBody,
};
use wire::timestamp::WireTimestamp;
use wire::tracking::raw_json;

use crate::docs::examples;

pub(super) fn open() -> GroupResponse {
    GroupResponse {
        group_id: "grp_019b76da807b774b805000000000002a".to_owned(),
        name: "invoices-2026-11".to_owned(),
        status: GroupStatusBody::Open,
        created_at: moment("2026-11-15T09:30:00Z"),
        sealed_at: None,
        cancel_requested_at: None,
        completed_at: None,
        expected_at: None,
        counts: GroupCounts::default().into(),
        usage: TokenUsage::default().into(),
        cost: GroupCostBody::in_nano_dollars(Money::ZERO, Money::ZERO, Saving::default()),
        failures: None,
        callback: None,
        metadata: raw_json(br#"{"month":11}"#.to_vec()),
        existing: None,
    }
}

pub(super) fn sealed() -> GroupResponse {
    let counts = GroupCounts {
        total: 2000,
        succeeded: 1890,
        failed: 10,
        cancelled: 0,
    };
    let failure = GroupFailureBody {
        error: "storm".to_owned(),
        count: 10,
        cargo_id: examples::cargo_id().to_string(),
    };
    GroupResponse {
        status: GroupStatusBody::Sealed,
        sealed_at: Some(moment("2026-11-15T09:31:00Z")),
        counts: counts.into(),
        usage: TokenUsage {
            input_tokens: 9450,
            output_tokens: 9450,
        }
        .into(),
        failures: Some(vec![failure]),
        expected_at: Some(moment("2026-11-15T09:43:00Z")),
        ..open()
    }
}

pub(super) fn cancelling() -> GroupResponse {
    GroupResponse {
        status: GroupStatusBody::Cancelling,
        cancel_requested_at: Some(moment("2026-11-15T09:32:00Z")),
        expected_at: None,
        ..sealed()
    }
}

pub(super) fn callback() -> GroupCallbackBody {
    let counts = GroupCounts {
        total: 2000,
        succeeded: 1990,
        failed: 10,
        cancelled: 0,
    };
    GroupCallbackBody {
        event: GROUP_COMPLETED,
        group_id: "grp_019b76da807b774b805000000000002a".to_owned(),
        name: "invoices-2026-11".to_owned(),
        status: GroupStatusBody::Completed,
        completed_at: moment("2026-11-15T09:33:00Z"),
        counts: counts.into(),
        metadata: raw_json(br#"{"month":11}"#.to_vec()),
    }
}

pub(super) fn result_line() -> GroupResultLine {
    let answer = examples::response();
    GroupResultLine {
        number: 1,
        position: 0,
        custom_id: "invoice-7".to_owned(),
        cargo_id: examples::cargo_id().to_string(),
        success: true,
        usage: answer.usage().into(),
        response: serde_json::to_vec(&answer).ok().and_then(raw_json),
        error: None,
        error_code: None,
        cost: Money::ZERO.into(),
        model: "svc-mock".to_owned(),
        created_at: moment("2026-11-15T09:30:00Z"),
        completed_at: moment("2026-11-15T09:31:00.1Z"),
        metadata: None,
        erased_at: None,
        params: None,
    }
}

fn moment(text: &str) -> WireTimestamp {
    WireTimestamp(text.parse::<Timestamp>().unwrap_or_default())
}
