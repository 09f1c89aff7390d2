//! A job at a provider: looked at until it ends, then its results are taken in.

use std::time::Duration;

use chrono::TimeDelta;
use domain::again::MOST_REFUSALS;
use domain::model::Model;
use outbound::provider::Job;
use outbound::provider::call::CallFailure;
use outbound::provider::jobs::{JobFault, Jobs, Sight};
use store::shard::batch;
use store::shard::manifest;
use store::shard::provider;
use store::shard::submission::{self, Entry};

use super::{Collector, LATER};
use crate::chaos;
use crate::claimed::ClaimedBatch;
use crate::onward::Going;
use crate::pause::pause;
use crate::providers::Share;
use crate::storing::{self, Finished};

/// A job is not looked at less often than this.
const LONGEST: TimeDelta = TimeDelta::minutes(2);
/// A job that the provider does not know is given up after so many looks, over so many graces.
const MOST_MISSED: u32 = 3;
const MISSED_GRACES: i32 = 10;

/// Whom to ask, and for what.
pub(super) struct Source<'a> {
    pub(super) jobs: &'a dyn Jobs,
    pub(super) share: Share,
    pub(super) model: &'a Model,
    pub(super) job: &'a Job,
}

impl Collector {
    pub(super) async fn poll_job(
        &self,
        claimed: &ClaimedBatch,
        source: &Source<'_>,
    ) -> Result<usize, store::Error> {
        let entry = submission::read(&self.shard, claimed.batch.id).await?;
        if entry.cancel_wanted_at.is_some() && entry.cancelled_at.is_none() {
            chaos::point("collect.cancelling", &claimed.lane.provider);
            let cancelled = claimed.call(source.jobs.cancel(source.job)).await?;
            chaos::point("collect.cancelled", &claimed.lane.provider);
            match cancelled {
                Ok(()) | Err(CallFailure::NotFound | CallFailure::Refused { .. }) => {
                    submission::cancelled(
                        &self.shard,
                        claimed.batch.id,
                        claimed.claim,
                        claimed.now,
                    )
                    .await?;
                }
                Err(failure) => return self.not_seen(claimed, source, &entry, &failure).await,
            }
        }
        let sight = match claimed.call(source.jobs.look(source.job)).await? {
            Ok(sight) => sight,
            Err(CallFailure::NotFound) => Sight::Gone,
            Err(failure) => return self.not_seen(claimed, source, &entry, &failure).await,
        };
        chaos::point("collect.looked", &claimed.lane.provider);
        match sight {
            Sight::Running { hint, .. } => self.running(claimed, source, &entry, hint).await,
            Sight::Gone => self.gone(claimed, source, &entry).await,
            Sight::Failed { reason } => self.failed(claimed, reason).await,
            Sight::Ended { results, .. } => self.take_in(claimed, source, &entry, &results).await,
        }
    }

    async fn running(
        &self,
        claimed: &ClaimedBatch,
        source: &Source<'_>,
        entry: &Entry,
        hint: Option<Duration>,
    ) -> Result<usize, store::Error> {
        let (batch, now) = (claimed.batch.id, claimed.now);
        if entry.is_given_up(now) {
            return self.go_on_without(claimed, source).await;
        }
        let shortest = source.share.grace / 6;
        let told = hint.and_then(|hint| TimeDelta::from_std(hint).ok());
        // The longer it takes, the less often it is asked for.
        let age = entry.sent_at.map_or(TimeDelta::zero(), |sent| now - sent);
        let wait = told
            .unwrap_or(age / 20)
            .clamp(shortest, LONGEST.max(shortest));
        batch::ask_again(&self.shard, batch, claimed.claim, now + wait).await?;
        chaos::point("collect.postponed", &claimed.lane.provider);
        Ok(0)
    }

    async fn go_on_without(
        &self,
        claimed: &ClaimedBatch,
        source: &Source<'_>,
    ) -> Result<usize, store::Error> {
        let batch = claimed.batch.id;
        tracing::error!(batch.id = %batch, job = source.job.0, "{batch} does not end although it was to be cancelled: its cargo goes on without it and may be billed twice");
        metrics::counter!("submissions_twice_knowingly_total").increment(1);
        self.end(claimed, Going::AtOnce).await?;
        Ok(1)
    }

    async fn gone(
        &self,
        claimed: &ClaimedBatch,
        source: &Source<'_>,
        entry: &Entry,
    ) -> Result<usize, store::Error> {
        let (batch, now) = (claimed.batch.id, claimed.now);
        let long = source.share.grace * MISSED_GRACES;
        let is_lost = entry.missed + 1 >= MOST_MISSED
            && entry.missed_at.is_some_and(|first| now - first >= long);
        if is_lost {
            tracing::error!(batch.id = %batch, job = source.job.0, "the provider has lost {batch}: its cargo goes again");
            metrics::counter!("jobs_lost_total").increment(1);
            self.end(claimed, Going::AtOnce).await?;
            return Ok(1);
        }
        let at = now + long / 4;
        submission::missed(&self.shard, batch, claimed.claim, at, now).await?;
        Ok(0)
    }

    /// Nothing of it was run.
    async fn failed(
        &self,
        claimed: &ClaimedBatch,
        reason: JobFault,
    ) -> Result<usize, store::Error> {
        let (batch, name, now) = (&claimed.batch, &claimed.lane.provider, claimed.now);
        tracing::warn!(batch.id = %batch.id, ?reason, "the provider did not run {}", batch.id);
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let going = match reason {
            // Those beside a line that is wrong need not wait.
            JobFault::Lines(_) => Going::AtOnce,
            JobFault::TokenLimit | JobFault::Other(_) => Going::Rested,
        };
        let wrong: Vec<Finished> = match reason {
            JobFault::TokenLimit => {
                let (enqueued, _) = provider::enqueued(&self.shard, name, now).await?;
                provider::lower(&self.shard, name, enqueued / 2, now).await?;
                Vec::new()
            }
            JobFault::Lines(lines) => {
                let at = |line: u64| usize::try_from(line.checked_sub(1)?).ok();
                let cargo = |line| at(line).and_then(|at| batch.cargo.get(at).copied());
                let mut open: std::collections::HashMap<_, _> =
                    heads.into_iter().map(|head| (head.cargo, head)).collect();
                let failed = lines.into_iter().filter_map(|(line, message)| {
                    let head = open.remove(&cargo(line)?)?;
                    Some(Finished::failed(head, message))
                });
                failed.collect()
            }
            JobFault::Other(message) => {
                let tired = heads
                    .into_iter()
                    .filter(|head| head.attempt >= MOST_REFUSALS);
                let failed = tired.map(|head| Finished::failed(head, message.clone()));
                failed.collect()
            }
        };
        let slots = Some(&self.callback_slots);
        storing::store(&self.shard, batch.id, claimed.claim, slots, wrong, now).await?;
        self.end(claimed, going).await?;
        Ok(1)
    }

    pub(super) async fn not_seen(
        &self,
        claimed: &ClaimedBatch,
        source: &Source<'_>,
        entry: &Entry,
        failure: &CallFailure,
    ) -> Result<usize, store::Error> {
        let (batch, now) = (claimed.batch.id, self.shard.clock.now());
        tracing::warn!(batch.id = %batch, job = source.job.0, %failure, "{batch} could not be asked for");
        if entry.is_given_up(now) {
            return self.go_on_without(claimed, source).await;
        }
        let again_at = match failure {
            CallFailure::Unauthorized | CallFailure::OutOfFunds => {
                let reason = failure.to_string();
                pause(&self.shard, &claimed.lane.provider, &reason, now).await?
            }
            CallFailure::Busy { retry_after } | CallFailure::Unavailable { retry_after, .. } => {
                let told = retry_after.and_then(|it| TimeDelta::from_std(it).ok());
                now + told.map_or(LATER, |told| told.clamp(LATER, LONGEST))
            }
            CallFailure::Refused { .. }
            | CallFailure::Unknown(_)
            | CallFailure::NotFound
            | CallFailure::Conflict
            | CallFailure::TooLarge
            | CallFailure::Unreadable
            | CallFailure::Spool(_) => now + LATER,
        };
        batch::ask_again(&self.shard, batch, claimed.claim, again_at).await?;
        Ok(0)
    }
}
