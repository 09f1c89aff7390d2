//! A batch that is not sent yet and cannot wait where it is, or should not.

use std::collections::HashMap;

use chrono::TimeDelta;
use domain::model::Model;
use store::shard::batch;
use store::shard::provider::{self, Paused};
use store::shard::submission::Entry;

use super::Submitter;
use crate::claimed::ClaimedBatch;
use crate::late;

/// How soon a provider that an operator paused is looked at again, whoever resumed it.
const LOOK_AGAIN: TimeDelta = TimeDelta::minutes(1);

impl Submitter {
    /// Whether nothing more is to be done with it now. Only what no provider has may leave; what
    /// one may have is looked for until it is given up, knowingly.
    pub(super) async fn left_for_another_way(
        &self,
        claimed: &ClaimedBatch,
        model: &Model,
        paused: &HashMap<String, Paused>,
        entry: &Entry,
    ) -> Result<bool, store::Error> {
        let is_sent = entry.sent_at.is_some();
        if !is_sent {
            late::fail_overdue(&self.shard, &claimed.batch, claimed.claim, claimed.now).await?;
        }
        let pause = paused.get(&claimed.lane.provider);
        let pause = pause.filter(|it| it.lasts(claimed.now));
        let leaves = if is_sent {
            pause.is_some() && entry.is_given_up(claimed.now)
        } else {
            entry.cancel_wanted_at.is_some()
                || (pause.is_some() && has_open_route(claimed, model, paused))
        };
        if leaves {
            self.leave(claimed, is_sent).await?;
        } else if let Some(pause) = pause {
            let at = pause.retry_at.unwrap_or(claimed.now + LOOK_AGAIN);
            batch::ask_again(&self.shard, claimed.batch.id, claimed.claim, at).await?;
        }
        Ok(leaves || pause.is_some())
    }

    /// All of it takes the next way. If it may have been sent, some of it may be billed twice.
    pub(super) async fn leave(
        &self,
        claimed: &ClaimedBatch,
        is_sent: bool,
    ) -> Result<(), store::Error> {
        let batch = claimed.batch.id;
        if is_sent {
            tracing::error!(batch.id = %batch, "whether {batch} was submitted cannot be learned: its cargo goes on without it and may be billed twice");
            metrics::counter!("submissions_twice_knowingly_total").increment(1);
        }
        self.return_all(claimed).await?;
        provider::end_turn(&self.shard, &claimed.lane.provider, batch).await
    }
}

fn has_open_route(claimed: &ClaimedBatch, model: &Model, paused: &HashMap<String, Paused>) -> bool {
    let tried = Some((claimed.lane.provider.as_str(), claimed.lane.via));
    let is_open = |provider: &str| !paused.contains_key(provider);
    let next = model
        .routes
        .next(tried, TimeDelta::zero(), |it| is_open(&it.provider));
    is_open(&next.provider)
}
