//! A batch that is not sent yet and cannot wait where it is, or should not.

use std::collections::HashMap;

use chrono::TimeDelta;
use domain::model::Model;
use store::shard::batch;
use store::shard::provider::{self, Paused};
use store::shard::submission::Entry;

use super::{Dispatch, Load};
use crate::late;

/// How soon a provider that an operator paused is looked at again, whoever resumed it.
const LOOK_AGAIN: TimeDelta = TimeDelta::minutes(1);

impl Dispatch {
    /// Whether nothing more is to be done with it now. Only what no provider has may leave; what
    /// one may have is looked for until it is given up, knowingly.
    pub(super) async fn left_for_another_way(
        &self,
        load: &Load<'_>,
        model: &Model,
        paused: &HashMap<String, Paused>,
        entry: &Entry,
    ) -> Result<bool, store::Error> {
        let is_sent = entry.sent_at.is_some();
        if !is_sent {
            late::fail_overdue(&self.shard, load.batch, load.claim, load.now).await?;
        }
        let pause = paused.get(&load.lane.provider);
        let pause = pause.filter(|it| it.lasts(load.now));
        let leaves = if is_sent {
            pause.is_some() && entry.is_given_up(load.now)
        } else {
            entry.cancel_wanted_at.is_some()
                || (pause.is_some() && has_open_route(load, model, paused))
        };
        if leaves {
            self.leave(load, is_sent).await?;
        } else if let Some(pause) = pause {
            let at = pause.retry_at.unwrap_or(load.now + LOOK_AGAIN);
            batch::ask_again(&self.shard, load.batch.id, load.claim, at).await?;
        }
        Ok(leaves || pause.is_some())
    }

    /// All of it takes the next way. If it may have been sent, some of it may be billed twice.
    pub(super) async fn leave(&self, load: &Load<'_>, is_sent: bool) -> Result<(), store::Error> {
        let batch = load.batch.id;
        if is_sent {
            tracing::error!(batch.id = %batch, "whether {batch} was submitted cannot be learned: its cargo goes on without it and may be billed twice");
            metrics::counter!("submissions_twice_knowingly_total").increment(1);
        }
        self.return_all(load).await?;
        provider::end_turn(&self.shard, &load.lane.provider, batch).await
    }
}

fn has_open_route(load: &Load<'_>, model: &Model, paused: &HashMap<String, Paused>) -> bool {
    let tried = Some((load.lane.provider.as_str(), load.lane.via));
    let is_open = |provider: &str| !paused.contains_key(provider);
    let next = model
        .routes
        .next(tried, TimeDelta::zero(), |it| is_open(&it.provider));
    is_open(&next.provider)
}
