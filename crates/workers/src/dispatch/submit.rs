//! To a provider that takes jobs: packed, journalled, handed over, and never twice unknowingly.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::again::MOST_REFUSALS;
use domain::batch::{Delay, MOST_TAKEOVERS};
use domain::model::Model;
use domain::time::Timestamp;
use outbound::provider::Job;
use outbound::provider::call::CallFailure;
use outbound::provider::jobs::{Jobs, Label, Order, Upload};
use outbound::provider::spool::Spool;
use store::shard::batch;
use store::shard::manifest;
use store::shard::provider;
use store::shard::submission::{self, Entry};

use super::Submitter;
use super::pack::{BYTES_PER_TOKEN, PackFailure, Packer, Parcel};
use crate::chaos;
use crate::claimed::ClaimedBatch;
use crate::pause::pause;
use crate::providers::Share;
use crate::storing;

/// After trouble that nobody gave a time for.
pub(super) const LATER: TimeDelta = TimeDelta::seconds(5);
/// A queue that is full at the provider is looked at again after this.
const WHEN_FULL: TimeDelta = TimeDelta::seconds(30);
/// While others wait there, at least this part of the limit is sent at once, or all of a batch.
const CRUMB: u64 = 8;
/// How often a new job is written down before it is left to be looked for.
const MAX_NOTES: u32 = 3;
/// How long a provider is believed to take less than we were told.
const LOWERED_FOR: TimeDelta = TimeDelta::minutes(15);

/// Whom a batch goes to.
pub(super) struct Target {
    pub(super) jobs: Arc<dyn Jobs>,
    pub(super) share: Share,
    pub(super) upstream: String,
    pub(super) model: Model,
}

impl Submitter {
    /// Whether it may go on. Where jobs carry no label one is on its way at a time; who is not that
    /// one asks again.
    pub(super) async fn has_turn(
        &self,
        claimed: &ClaimedBatch,
        jobs: &dyn Jobs,
        entry: &Entry,
    ) -> Result<bool, store::Error> {
        let (batch, name) = (&claimed.batch, &claimed.lane.provider);
        let is_to_be_sent = entry.sent_at.is_none() && batch.takeovers < MOST_TAKEOVERS;
        if jobs.labelled() || !is_to_be_sent {
            return Ok(true);
        }
        if !provider::take_turn(&self.shard, name, batch.id).await? {
            let at = claimed.now + TimeDelta::seconds(1);
            batch::ask_again(&self.shard, batch.id, claimed.claim, at).await?;
            return Ok(false);
        }
        chaos::point("dispatch.turn", name);
        Ok(true)
    }

    pub(super) async fn submit_job(
        &self,
        claimed: &ClaimedBatch,
        target: &Target,
        entry: &Entry,
    ) -> Result<(), store::Error> {
        if entry.sent_at.is_some() {
            return self.look_for(claimed, target, entry).await;
        }
        // Only what no provider has may be taken apart.
        if claimed.batch.takeovers >= MOST_TAKEOVERS {
            return self.set_aside(claimed).await;
        }
        match self.pack(claimed, target, entry).await {
            Ok(Some((spool, items))) => self.hand_over(claimed, target, entry, &spool, items).await,
            Ok(None) => Ok(()),
            Err(PackFailure::Store(failure)) => Err(failure),
            Err(failure @ (PackFailure::Disk(_) | PackFailure::Media(_))) => {
                tracing::error!(batch.id = %claimed.batch.id, %failure, "{} cannot be put together yet", claimed.batch.id);
                let at = claimed.now + WHEN_FULL;
                self.not_sent(claimed, Some(Delay::Unready), at).await
            }
        }
    }

    /// The lines, with the journal saying what they are; nothing when there is no room for them.
    async fn pack(
        &self,
        claimed: &ClaimedBatch,
        target: &Target,
        entry: &Entry,
    ) -> Result<Option<(Spool, u64)>, PackFailure> {
        let (shard, batch) = (&self.shard, &claimed.batch);
        let packer = self.packer(target);
        let heads = manifest::heads(shard, batch.id, &batch.cargo).await?;
        chaos::point("dispatch.read", &claimed.lane.provider);
        let (waiting, lowered) =
            provider::enqueued(shard, &claimed.lane.provider, claimed.now - LOWERED_FOR).await?;
        let most = target.share.most_enqueued_tokens;
        let most = most.min(lowered.unwrap_or(most));
        // Room is asked for before anything is built: its tokens are known.
        if let Some(packed) = &entry.packed {
            if !self.has_room(claimed, most).await? {
                return Ok(None);
            }
            if let Some(spool) = packer.rebuild(batch, heads.clone(), packed).await? {
                return Ok(Some((spool, batch.cargo.len() as u64)));
            }
        }
        let room = most.saturating_sub(waiting);
        if waiting > 0 && self.has_crumb_of_room(claimed, room, most).await? {
            self.not_sent(claimed, Some(Delay::Full), claimed.now + WHEN_FULL)
                .await?;
            return Ok(None);
        }
        let Parcel {
            spool,
            order,
            packed,
            unfit,
        } = packer.pack(batch, heads, room).await?;
        chaos::point("dispatch.packed", &claimed.lane.provider);
        // A crumb of a batch is not worth a job: soon there is more room.
        let is_crumb =
            order.len() + unfit.len() < batch.cargo.len() && packed.tokens < most / CRUMB;
        if waiting > 0 && (packed.tokens > room || is_crumb) {
            self.not_sent(claimed, Some(Delay::Full), claimed.now + WHEN_FULL)
                .await?;
            return Ok(None);
        }
        storing::store(shard, batch.id, claimed.claim, None, unfit, claimed.now).await?;
        if order.is_empty() {
            self.return_all(claimed).await?;
            return Ok(None);
        }
        let items = order.len() as u64;
        submission::pack(shard, batch.id, claimed.claim, &order, &packed).await?;
        chaos::point("dispatch.journalled", &claimed.lane.provider);
        Ok(self
            .has_room(claimed, most)
            .await?
            .then_some((spool, items)))
    }

    /// Whether a job of this batch would certainly be a crumb. As it is stored, a batch is not
    /// larger than as a job.
    async fn has_crumb_of_room(
        &self,
        claimed: &ClaimedBatch,
        room: u64,
        most: u64,
    ) -> Result<bool, store::Error> {
        if room == 0 {
            let until = claimed.now + WHEN_FULL;
            claimed.accounts.set_full(&claimed.lane.provider, until);
            return Ok(true);
        }
        if room >= most / CRUMB {
            return Ok(false);
        }
        let bytes = manifest::stored_bytes(&self.shard, &claimed.batch.cargo).await?;
        Ok(bytes / BYTES_PER_TOKEN > room)
    }

    /// Whether its tokens may wait at the provider with the others; if not, it is tried later.
    async fn has_room(&self, claimed: &ClaimedBatch, most: u64) -> Result<bool, store::Error> {
        let (batch, name) = (claimed.batch.id, &claimed.lane.provider);
        let has_room =
            provider::enqueue(&self.shard, name, batch, claimed.claim, most, claimed.now).await?;
        if !has_room {
            self.not_sent(claimed, Some(Delay::Full), claimed.now + WHEN_FULL)
                .await?;
        }
        Ok(has_room)
    }

    pub(super) fn packer<'a>(&'a self, target: &'a Target) -> Packer<'a> {
        Packer {
            shard: &self.shard,
            folder: &self.spools,
            jobs: &*target.jobs,
            share: target.share,
            upstream: &target.upstream,
            objects: self.objects.as_ref(),
        }
    }

    /// Uploads where need be, writes the intent, and creates the job.
    pub(super) async fn hand_over(
        &self,
        claimed: &ClaimedBatch,
        target: &Target,
        entry: &Entry,
        spool: &Spool,
        items: u64,
    ) -> Result<(), store::Error> {
        let (shard, batch, claim) = (&self.shard, &claimed.batch, claimed.claim);
        let label = Label(batch.id.to_string());
        let mut upload = entry.upload.clone().map(Upload);
        if upload.is_none() {
            chaos::point("dispatch.uploading", &claimed.lane.provider);
            upload = match claimed.call(target.jobs.upload(&label, spool)).await? {
                Ok(upload) => upload,
                Err(failure) => return self.not_taken(claimed, failure).await,
            };
            chaos::point("dispatch.uploaded", &claimed.lane.provider);
            if let Some(upload) = &upload {
                submission::uploaded(shard, batch.id, claim, &upload.0).await?;
            }
            chaos::point("dispatch.upload_noted", &claimed.lane.provider);
        }
        let order = Order {
            label,
            upstream: target.upstream.clone(),
            kind: target.model.kind,
            items,
            upload,
        };
        let now = shard.clock.now();
        let until = now + target.share.create_timeout;
        submission::sending(shard, batch.id, claim, until, now).await?;
        chaos::point("dispatch.sending", &claimed.lane.provider);
        let creating = create(target, &order, spool);
        let creating = chaos::during("dispatch.sent", &claimed.lane.provider, creating);
        let created = claimed.call(creating).await;
        chaos::point("dispatch.answered", &claimed.lane.provider);
        let created = created.inspect_err(|_| {
            // The lease was lost: the next worker looks for it.
            metrics::counter!("submissions_unknown_total").increment(1);
        })?;
        match created {
            Ok(job) => self.note(claimed, target, &job).await,
            Err(CallFailure::Unknown(why)) => self.unknown(claimed, target, &why).await,
            Err(CallFailure::Unreadable) => {
                self.unknown(claimed, target, "the answer cannot be read")
                    .await
            }
            Err(failure) => self.not_taken(claimed, failure).await,
        }
    }

    /// Writes down the job that was created. Only this worker knows it, so a database that fails
    /// once is tried again: a job that the provider lists late would be created twice.
    async fn note(
        &self,
        claimed: &ClaimedBatch,
        target: &Target,
        job: &Job,
    ) -> Result<(), store::Error> {
        let mut noted = self.run(claimed, &job.0, target).await;
        for _ in 1..MAX_NOTES {
            if !noted.as_ref().is_err_and(store::Error::is_away) {
                break;
            }
            noted = self.run(claimed, &job.0, target).await;
        }
        match noted {
            Err(store::Error::Moved) => self.orphaned(claimed, target, job).await,
            noted => noted,
        }
    }

    /// The provider has it.
    pub(super) async fn run(
        &self,
        claimed: &ClaimedBatch,
        job: &str,
        target: &Target,
    ) -> Result<(), store::Error> {
        let now = self.shard.clock.now();
        let at = now + target.share.grace / 6;
        batch::run(&self.shard, claimed.batch.id, claimed.claim, job, at, now).await?;
        chaos::point("dispatch.running", &claimed.lane.provider);
        provider::recover(&self.shard, &claimed.lane.provider).await?;
        provider::end_turn(&self.shard, &claimed.lane.provider, claimed.batch.id).await
    }

    /// It may have it: before anything else it is looked for.
    async fn unknown(
        &self,
        claimed: &ClaimedBatch,
        target: &Target,
        why: &str,
    ) -> Result<(), store::Error> {
        tracing::warn!(batch.id = %claimed.batch.id, why, "whether {} was submitted is not known: it is looked for", claimed.batch.id);
        metrics::counter!("submissions_unknown_total").increment(1);
        let now = self.shard.clock.now();
        let at = now + target.share.grace / 6;
        submission::unanswered(&self.shard, claimed.batch.id, claimed.claim, at, now).await
    }

    /// The job was created after the claim was lost. It is cancelled, unless the worker that has
    /// the batch now has found it already.
    async fn orphaned(
        &self,
        claimed: &ClaimedBatch,
        target: &Target,
        job: &Job,
    ) -> Result<(), store::Error> {
        let batch = claimed.batch.id;
        if batch::job(&self.shard, batch).await?.as_ref() == Some(&job.0) {
            return Ok(());
        }
        metrics::counter!("submissions_orphaned_total").increment(1);
        let cancelled = target.jobs.cancel(job).await;
        tracing::error!(batch.id = %batch, job = job.0, ?cancelled, "the job of {batch} was created after its claim was lost: it is cancelled");
        Err(store::Error::Moved)
    }

    /// It certainly does not have it.
    pub(super) async fn not_taken(
        &self,
        claimed: &ClaimedBatch,
        failure: CallFailure,
    ) -> Result<(), store::Error> {
        let (batch, now) = (&claimed.batch, self.shard.clock.now());
        tracing::warn!(batch.id = %batch.id, %failure, "{} was not taken", batch.id);
        match failure {
            CallFailure::Unauthorized | CallFailure::OutOfFunds => {
                let reason = failure.to_string();
                pause(&self.shard, &claimed.lane.provider, &reason, now).await?;
                // At once: whoever takes it up sees the pause, and whether there is another way.
                self.not_sent(claimed, None, now).await
            }
            CallFailure::Busy { retry_after } | CallFailure::Unavailable { retry_after, .. } => {
                let at = now + wait(retry_after);
                self.not_sent(claimed, Some(Delay::Refused), at).await
            }
            CallFailure::TooLarge if batch.cargo.len() > 1 => self.halve(claimed).await,
            CallFailure::TooLarge => self.fail(claimed, "too large for the provider").await,
            CallFailure::Refused { message, .. } => self.refused(claimed, &message).await,
            CallFailure::NotFound
            | CallFailure::Conflict
            | CallFailure::Unknown(_)
            | CallFailure::Unreadable
            | CallFailure::Spool(_) => {
                let delay = Some(Delay::Unready);
                self.not_sent(claimed, delay, now + LATER).await
            }
        }
    }

    /// All of it was refused: perhaps another provider takes it.
    async fn refused(&self, claimed: &ClaimedBatch, message: &str) -> Result<(), store::Error> {
        let heads = manifest::heads(&self.shard, claimed.batch.id, &claimed.batch.cargo).await?;
        if heads.iter().all(|head| head.attempt >= MOST_REFUSALS) {
            return self.fail(claimed, message).await;
        }
        self.return_all(claimed).await
    }

    pub(super) async fn not_sent(
        &self,
        claimed: &ClaimedBatch,
        delay: Option<Delay>,
        again_at: Timestamp,
    ) -> Result<(), store::Error> {
        let (shard, batch) = (&self.shard, claimed.batch.id);
        submission::unsent(shard, batch, claimed.claim, delay, again_at).await?;
        provider::end_turn(&self.shard, &claimed.lane.provider, claimed.batch.id).await
    }
}

/// Creates the job; a call that takes too long has an unknown end.
async fn create(target: &Target, order: &Order, spool: &Spool) -> Result<Job, CallFailure> {
    let within = target.share.create_timeout.to_std().unwrap_or_default();
    let creating = tokio::time::timeout(within, target.jobs.create(order, spool));
    let no_answer = || Err(CallFailure::Unknown("no answer in time".to_owned()));
    creating.await.unwrap_or_else(|_| no_answer())
}

fn wait(told: Option<std::time::Duration>) -> TimeDelta {
    let told = told.and_then(|it| TimeDelta::from_std(it).ok());
    told.map_or(LATER, |told| told.clamp(LATER, TimeDelta::minutes(10)))
}
