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

use super::Submitter;
use super::pack::PackFailure;
use super::submit::{LATER, Target};
use crate::chaos;
use crate::claimed::ClaimedBatch;
use crate::pause::pause;
use crate::providers::Share;

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

impl Submitter {
    pub(super) async fn look_for(
        &self,
        claimed: &ClaimedBatch,
        target: &Target,
        entry: &Entry,
    ) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.now);
        let sent_at = entry.sent_at.unwrap_or(now);
        let grace = target.share.grace;
        let sought = Sought {
            label: Label(batch.id.to_string()),
            upload: entry.upload.clone().map(Upload),
            items: batch.cargo.len() as u64,
            since: sent_at - SKEW,
        };
        chaos::point("dispatch.looking", &claimed.lane.provider);
        let candidates = match claimed.call(target.jobs.find(&sought)).await? {
            Ok(candidates) => candidates,
            Err(_) if entry.is_given_up(now) => return self.leave(claimed, true).await,
            Err(failure) => return self.not_seen(claimed, failure).await,
        };
        chaos::point("dispatch.looked", &claimed.lane.provider);
        match self.sort_out(candidates, &sought).await? {
            Seen::Found { job, others } => {
                for other in others {
                    self.stop(claimed, target, &other).await;
                }
                self.run(claimed, &job.0, target).await
            }
            Seen::Unclear if entry.is_given_up(now) => self.leave(claimed, true).await,
            Seen::Unclear => {
                tracing::error!(batch.id = %batch.id, provider = claimed.lane.provider, "more than one job at the provider may be {}: cancel there what is not ours, or wait", batch.id);
                metrics::counter!("submissions_unclear_total").increment(1);
                let at = now + grace;
                submission::looked(&self.shard, batch.id, claim, at, now).await
            }
            // Nobody has it, and it is wanted nowhere: another way is better.
            Seen::Nothing
                if is_missing(entry, &target.share, now) && entry.cancel_wanted_at.is_some() =>
            {
                self.leave(claimed, false).await
            }
            Seen::Nothing if is_missing(entry, &target.share, now) => {
                self.send_again(claimed, target, entry).await
            }
            Seen::Nothing => {
                chaos::point("dispatch.not_found", &claimed.lane.provider);
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
    async fn stop(&self, claimed: &ClaimedBatch, target: &Target, job: &Job) {
        metrics::counter!("submissions_twice_total").increment(1);
        let stopped = target.jobs.cancel(job).await;
        tracing::error!(batch.id = %claimed.batch.id, job = job.0, ?stopped, "{} was submitted twice: the second job is cancelled", claimed.batch.id);
    }

    async fn not_seen(
        &self,
        claimed: &ClaimedBatch,
        failure: CallFailure,
    ) -> Result<(), store::Error> {
        let (batch, now) = (&claimed.batch, claimed.now);
        tracing::warn!(batch.id = %batch.id, %failure, "{} could not be looked for", batch.id);
        let mut again_at = now + LATER;
        if matches!(failure, CallFailure::Unauthorized | CallFailure::OutOfFunds) {
            let (name, reason) = (&claimed.lane.provider, failure.to_string());
            again_at = pause(&self.shard, name, &reason, now).await?;
        }
        batch::ask_again(&self.shard, batch.id, claimed.claim, again_at).await
    }

    /// The provider had time enough to show it, and does not have it.
    async fn send_again(
        &self,
        claimed: &ClaimedBatch,
        target: &Target,
        entry: &Entry,
    ) -> Result<(), store::Error> {
        let batch = &claimed.batch;
        metrics::counter!("submissions_sent_again_total").increment(1);
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let rebuilt = match &entry.packed {
            Some(packed) => self.packer(target).rebuild(batch, heads, packed).await,
            None => Ok(None),
        };
        chaos::point("dispatch.rebuilt", &claimed.lane.provider);
        match rebuilt {
            Ok(Some(spool)) => {
                tracing::warn!(batch.id = %batch.id, "{} did not reach the provider and is sent again", batch.id);
                let items = batch.cargo.len() as u64;
                self.hand_over(claimed, target, entry, &spool, items).await
            }
            // Not the same any more: what is open goes again, under new names.
            Ok(None) => {
                self.return_all(claimed).await?;
                provider::end_turn(&self.shard, &claimed.lane.provider, batch.id).await
            }
            Err(PackFailure::Store(failure)) => Err(failure),
            Err(failure @ (PackFailure::Disk(_) | PackFailure::Media(_))) => {
                tracing::error!(batch.id = %batch.id, %failure, "{} cannot be built again yet", batch.id);
                batch::ask_again(&self.shard, batch.id, claimed.claim, claimed.now + LATER).await
            }
        }
    }
}

/// At least two looks, a grace apart, and no call that creates the job may be under way any more:
/// not even by a worker that lost its claim.
fn is_missing(entry: &Entry, share: &Share, now: Timestamp) -> bool {
    let first = entry.looked_at.filter(|_| entry.looks >= 1);
    let by_timeout = entry.sent_at.map(|sent| sent + share.create_timeout);
    let is_over = entry
        .sending_until
        .or(by_timeout)
        .is_none_or(|until| until <= now);
    is_over && first.is_some_and(|first| now - first >= share.grace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_still_be_on_its_way_is_not_missing() {
        let share = Share {
            most_items: 1,
            most_bytes: 1,
            most_tokens: 1,
            most_enqueued_tokens: 1,
            most_questions: 1,
            linger: TimeDelta::zero(),
            grace: TimeDelta::minutes(1),
            create_timeout: TimeDelta::minutes(30),
        };
        let at = |minutes| Timestamp::UNIX_EPOCH + TimeDelta::minutes(minutes);
        let entry = |sending_until| Entry {
            sent_at: Some(at(0)),
            sending_until,
            looks: 1,
            looked_at: Some(at(1)),
            ..Entry::default()
        };
        // The call has ended; or it has not, as far as is known; or a worker of the version before
        // made it.
        for (until, minutes) in [(Some(at(0)), 2), (Some(at(30)), 30), (None, 30)] {
            assert!(!is_missing(&entry(until), &share, at(minutes - 1)));
            assert!(is_missing(&entry(until), &share, at(minutes)));
        }
    }
}
