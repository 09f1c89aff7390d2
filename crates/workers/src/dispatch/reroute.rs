//! Reroutes or postpones a batch whose provider is paused or whose submission was cancelled.

use std::collections::HashMap;

use chrono::TimeDelta;
use domain::model::Model;
use store::shard::batch_submission::SubmissionRecord;
use store::shard::provider::{self, ProviderPauseRow};

use super::requeue_all;
use crate::claimed_batch::ClaimedBatch;
use crate::deadlines;

/// How often a pause without an end is checked: an operator may have resumed the provider.
const PAUSE_CHECK_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// Whether the batch was rerouted or postponed, and must not be submitted now. A batch that a
/// provider may have is reconciled until it is abandoned, and only then rerouted.
pub(super) async fn reroute_or_postpone(
    claimed: &ClaimedBatch,
    model: &Model,
    paused: &HashMap<String, ProviderPauseRow>,
    record: &SubmissionRecord,
) -> Result<bool, store::Error> {
    let (is_sent, now) = (record.sent_at.is_some(), claimed.claimed_at);
    if !is_sent {
        deadlines::fail_overdue(claimed).await?;
    }
    let pause = paused.get(&claimed.lane.provider);
    let pause = pause.filter(|it| it.is_in_force(now));
    let leaves = if is_sent {
        pause.is_some() && record.is_abandoned(now)
    } else {
        record.cancel_wanted_at.is_some()
            || (pause.is_some() && has_open_route(claimed, model, paused))
    };
    if leaves {
        reroute(claimed, is_sent).await?;
    } else if let Some(pause) = pause {
        let at = pause.retry_at.unwrap_or(now + PAUSE_CHECK_INTERVAL);
        claimed.reschedule(at).await?;
    }
    Ok(leaves || pause.is_some())
}

/// Requeues all cargo. If the batch may have been sent, some cargo may be billed twice.
pub(super) async fn reroute(claimed: &ClaimedBatch, is_sent: bool) -> Result<(), store::Error> {
    let batch = claimed.batch.id;
    if is_sent {
        tracing::error!(batch.id = %batch, "a submission could not be reconciled in time: its cargo is requeued and may be billed twice");
        metrics::counter!("longshore_submissions_possibly_duplicated_total").increment(1);
    }
    requeue_all(claimed).await?;
    provider::release_submission_slot(claimed.shard(), &claimed.lane.provider, batch).await
}

fn has_open_route(
    claimed: &ClaimedBatch,
    model: &Model,
    paused: &HashMap<String, ProviderPauseRow>,
) -> bool {
    let tried = Some((claimed.lane.provider.as_str(), claimed.lane.via));
    let is_open = |provider: &str| !paused.contains_key(provider);
    let next = model
        .routes
        .next(tried, TimeDelta::zero(), |it| is_open(&it.provider));
    is_open(&next.provider)
}
