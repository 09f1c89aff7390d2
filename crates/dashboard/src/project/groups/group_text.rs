//! How groups and their results are shown: chips, progress, expected end.

use std::borrow::Borrow;

use chrono::TimeDelta;
use domain::cargo_group::GroupStatus;
use domain::reason_code::FailureCode;
use domain::time::Timestamp;
use store::view::groups::{GroupResultItem, ProjectGroup};

use crate::chart;
use crate::text::{self, Markup};

/// Chip class and text.
pub(crate) fn chip(group: &ProjectGroup) -> (&'static str, &'static str) {
    let status = group.status();
    let class = match status {
        GroupStatus::Open | GroupStatus::Sealed => "busy",
        GroupStatus::Cancelling | GroupStatus::Cancelled => "warm",
        GroupStatus::Completed => "good",
    };
    (class, status.as_str())
}

pub(crate) fn progress(group: &ProjectGroup) -> Markup {
    let counts = group.counts;
    let parts = [
        ("good", "succeeded", counts.succeeded),
        ("bad", "failed", counts.failed),
        ("warm", "cancelled", counts.cancelled),
    ];
    let name = format!("{} cargo in this group", text::count(counts.total));
    chart::progress_bar(&name, counts.total, &parts)
}

/// `7 succeeded, 1 failed, 2 unfinished`. Counts of zero are left out.
pub(crate) fn count_text(group: &ProjectGroup) -> String {
    let counts = group.counts;
    let parts = [
        (counts.succeeded, "succeeded"),
        (counts.failed, "failed"),
        (counts.cancelled, "cancelled"),
        (counts.unfinished(), "unfinished"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, word)| format!("{} {word}", text::count(count)))
        .collect();
    if parts.is_empty() {
        "no cargo yet".to_owned()
    } else {
        parts.join(", ")
    }
}

pub(crate) fn completed(group: &ProjectGroup) -> u64 {
    group.counts.total.saturating_sub(group.counts.unfinished())
}

/// From the usual turnaround of the lane of its newest cargo. None if that time has passed, or if
/// nothing is unfinished.
pub(crate) fn expected_end(group: &ProjectGroup, now: impl Borrow<Timestamp>) -> Option<Timestamp> {
    group.pace().expected_end(*now.borrow())
}

/// From its creation until its end.
pub(crate) fn duration(group: &ProjectGroup) -> Option<TimeDelta> {
    Some(group.times.completed_at? - group.times.created_at)
}

pub(crate) fn result_chip(result: &GroupResultItem) -> (&'static str, &'static str) {
    if result.success {
        ("good", "succeeded")
    } else if result.failure_code.as_deref() == Some(FailureCode::Cancelled.as_str()) {
        ("warm", "cancelled")
    } else {
        ("bad", "failed")
    }
}

#[cfg(test)]
mod tests {
    use domain::cargo_group::{GroupCounts, GroupTimes};
    use domain::id::GroupId;
    use domain::money::Money;
    use domain::outcome::TokenUsage;
    use domain::saving::Saving;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap()
    }

    fn running_group() -> ProjectGroup {
        ProjectGroup {
            id: GroupId::from_uuid(domain::id::first_id_at(at(100))),
            name: "run".to_owned(),
            times: GroupTimes {
                created_at: at(100),
                sealed_at: None,
                cancel_requested_at: None,
                completed_at: None,
            },
            loaded_at: Some(at(160)),
            counts: GroupCounts {
                total: 1210,
                succeeded: 1200,
                failed: 0,
                cancelled: 1,
            },
            usage: TokenUsage::default(),
            held: Money::ZERO,
            charged: Money::ZERO,
            saving: Saving::default(),
            turnaround_seconds: Some(40.0),
        }
    }

    #[test]
    fn counts_of_zero_are_left_out() {
        let mut group = running_group();
        assert_eq!(
            count_text(&group),
            "1,200 succeeded, 1 cancelled, 9 unfinished"
        );
        assert_eq!(completed(&group), 1201);
        group.counts = GroupCounts::default();
        assert_eq!(count_text(&group), "no cargo yet");
    }
}
