//! A batch that is not sent yet and cannot wait where it is, or should not.

use std::collections::HashMap;

use chrono::TimeDelta;
use domain::cargo::DEADLINE;
use domain::id;
use domain::model::Model;
use domain::outcome::Outcome;
use store::shard::batch;
use store::shard::manifest;
use store::shard::provider::{self, Paused};
use store::shard::submission;

use super::{Dispatch, Load};
use crate::storing::{self, Finished};
use crate::sweep::TOO_LATE;

impl Dispatch {
    /// Whether nothing more is to be done with it now. Only what no provider has may leave; what
    /// one may have is looked for until it is given up, knowingly.
    pub(super) async fn left_for_another_way(
        &self,
        load: &Load<'_>,
        model: &Model,
        paused: &HashMap<String, Paused>,
    ) -> Result<bool, store::Error> {
        let entry = submission::read(&self.shard, load.batch.id).await?;
        let is_sent = entry.sent_at.is_some();
        if !is_sent {
            self.fail_overdue(load).await?;
        }
        let pause = paused.get(&load.lane.provider);
        let pause = pause.filter(|it| it.retry_at > load.now);
        let leaves = if is_sent {
            pause.is_some() && entry.is_given_up(load.now)
        } else {
            entry.cancel_wanted_at.is_some()
                || (pause.is_some() && has_open_route(load, model, paused))
        };
        if leaves {
            self.leave(load, is_sent).await?;
        } else if let Some(pause) = pause {
            batch::ask_again(&self.shard, load.batch.id, load.claim, pause.retry_at).await?;
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

    /// At its deadline what is at no provider fails, in a batch as outside of one.
    async fn fail_overdue(&self, load: &Load<'_>) -> Result<(), store::Error> {
        let (batch, now) = (load.batch, load.now);
        let before = id::floor(now - DEADLINE);
        if batch.cargo.iter().all(|cargo| cargo.uuid() >= before) {
            return Ok(());
        }
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let late = heads.into_iter().filter(|it| it.cargo.uuid() < before);
        let failed = late.map(|head| Finished {
            head,
            outcome: Outcome::Failure(TOO_LATE.to_owned()),
        });
        storing::store(
            &self.shard,
            batch.id,
            load.claim,
            None,
            failed.collect(),
            now,
        )
        .await?;
        Ok(())
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
