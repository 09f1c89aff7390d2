//! A submission of which nobody knows whether the provider has it: looked for, then sent again.

use chrono::TimeDelta;
use domain::time::Timestamp;
use outbound::provider::Job;
use outbound::provider::call::CallFailure;
use outbound::provider::jobs::{Candidate, Label, Sought, Upload};
use store::shard::batch;
use store::shard::manifest;
use store::shard::provider;
use store::shard::submission::{self, Entry};

use super::pack::PackFailure;
use super::submit::{LATER, Target};
use super::{Dispatch, Load};
use crate::chaos;
use crate::pause::pause;

/// Clocks of providers may differ from ours by this.
const SKEW: TimeDelta = TimeDelta::minutes(5);

/// What a look came to.
enum Seen {
    Found {
        job: Job,
        others: Vec<Job>,
    },
    Nothing,
    /// More than one may be meant, and none says so.
    Unclear,
}

impl Dispatch {
    pub(super) async fn look_for(
        &self,
        load: &Load<'_>,
        target: &Target<'_>,
        entry: &Entry,
    ) -> Result<(), store::Error> {
        let (batch, claim, now) = (load.batch, load.claim, load.now);
        let sent_at = entry.sent_at.unwrap_or(now);
        let grace = target.share.grace;
        let sought = Sought {
            label: Label(batch.id.to_string()),
            upload: entry.upload.clone().map(Upload),
            items: batch.cargo.len() as u64,
            since: sent_at - SKEW,
        };
        chaos::point("dispatch.looking", &load.lane.provider);
        let candidates = match target.jobs.find(&sought).await {
            Ok(candidates) => candidates,
            Err(_) if entry.is_given_up(now) => return self.leave(load, true).await,
            Err(failure) => return self.not_seen(load, failure).await,
        };
        chaos::point("dispatch.looked", &load.lane.provider);
        match self.sort_out(candidates, &sought).await? {
            Seen::Found { job, others } => {
                for other in others {
                    self.stop(load, target, &other).await;
                }
                self.run(load, &job.0, target).await
            }
            Seen::Unclear if entry.is_given_up(now) => self.leave(load, true).await,
            Seen::Unclear => {
                tracing::error!(batch.id = %batch.id, provider = load.lane.provider, "more than one job at the provider may be {}: cancel there what is not ours, or wait", batch.id);
                metrics::counter!("submissions_unclear_total").increment(1);
                let at = now + grace;
                submission::looked(&self.shard, batch.id, claim, at, now).await
            }
            // Nobody has it, and it is wanted nowhere: another way is better.
            Seen::Nothing if is_missing(entry, grace, now) && entry.cancel_wanted_at.is_some() => {
                self.leave(load, false).await
            }
            Seen::Nothing if is_missing(entry, grace, now) => {
                self.send_again(load, target, entry).await
            }
            Seen::Nothing => {
                chaos::point("dispatch.not_found", &load.lane.provider);
                let at = now + grace / 2;
                submission::looked(&self.shard, batch.id, claim, at, now).await
            }
        }
    }

    async fn sort_out(
        &self,
        candidates: Vec<Candidate>,
        sought: &Sought,
    ) -> Result<Seen, store::Error> {
        let (mut exact, alike): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|candidate| candidate.exact);
        exact.sort_by_key(|candidate| candidate.created_at);
        let mut exact = exact.into_iter().map(|candidate| candidate.job);
        if let Some(job) = exact.next() {
            let others = exact.collect();
            return Ok(Seen::Found { job, others });
        }
        let names: Vec<String> = alike.iter().map(|it| it.job.0.clone()).collect();
        let owned = provider::owned(&self.shard, &names).await?;
        let fits = |it: &Candidate| {
            !owned.contains(&it.job.0) && it.items.is_none_or(|items| items == sought.items)
        };
        let mut free = alike.into_iter().filter(fits).map(|it| it.job);
        Ok(match (free.next(), free.next()) {
            (None, _) => Seen::Nothing,
            (Some(job), None) => Seen::Found {
                job,
                others: Vec::new(),
            },
            (Some(_), Some(_)) => Seen::Unclear,
        })
    }

    /// A second job under the same label: knowing of it, we let only one run.
    async fn stop(&self, load: &Load<'_>, target: &Target<'_>, job: &Job) {
        metrics::counter!("submissions_twice_total").increment(1);
        let stopped = target.jobs.cancel(job).await;
        tracing::error!(batch.id = %load.batch.id, job = job.0, ?stopped, "{} was submitted twice: the second job is cancelled", load.batch.id);
    }

    async fn not_seen(&self, load: &Load<'_>, failure: CallFailure) -> Result<(), store::Error> {
        let (batch, now) = (load.batch, load.now);
        tracing::warn!(batch.id = %batch.id, %failure, "{} could not be looked for", batch.id);
        let mut again_at = now + LATER;
        if matches!(failure, CallFailure::Unauthorized | CallFailure::OutOfFunds) {
            let (name, reason) = (&load.lane.provider, failure.to_string());
            again_at = pause(&self.shard, name, &reason, now).await?;
        }
        batch::ask_again(&self.shard, batch.id, load.claim, again_at).await
    }

    /// The provider had time enough to show it, and does not have it.
    async fn send_again(
        &self,
        load: &Load<'_>,
        target: &Target<'_>,
        entry: &Entry,
    ) -> Result<(), store::Error> {
        let batch = load.batch;
        metrics::counter!("submissions_sent_again_total").increment(1);
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let rebuilt = match &entry.packed {
            Some(packed) => self.packer(target).rebuild(batch, heads, packed).await,
            None => Ok(None),
        };
        chaos::point("dispatch.rebuilt", &load.lane.provider);
        match rebuilt {
            Ok(Some(spool)) => {
                tracing::warn!(batch.id = %batch.id, "{} did not reach the provider and is sent again", batch.id);
                let items = batch.cargo.len() as u64;
                self.hand_over(load, target, entry, &spool, items).await
            }
            // Not the same any more: what is open goes again, under new names.
            Ok(None) => {
                self.return_all(load).await?;
                provider::end_turn(&self.shard, &load.lane.provider, batch.id).await
            }
            Err(PackFailure::Store(failure)) => Err(failure),
            Err(failure @ (PackFailure::Disk(_) | PackFailure::Media(_))) => {
                tracing::error!(batch.id = %batch.id, %failure, "{} cannot be built again yet", batch.id);
                batch::ask_again(&self.shard, batch.id, load.claim, load.now + LATER).await
            }
        }
    }
}

/// At least two looks, a grace apart, and the first of them after the job could show.
fn is_missing(entry: &Entry, grace: TimeDelta, now: Timestamp) -> bool {
    let first = entry.looked_at.filter(|_| entry.looks >= 1);
    first.is_some_and(|first| now - first >= grace)
}
