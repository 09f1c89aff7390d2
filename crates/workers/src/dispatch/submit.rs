//! To a provider that takes jobs: packed, journalled, handed over, and never twice unknowingly.

use chrono::TimeDelta;
use domain::again::MOST_REFUSALS;
use domain::batch::{Delay, MOST_TAKEOVERS};
use domain::model::Model;
use domain::time::Timestamp;
use outbound::provider::call::CallFailure;
use outbound::provider::jobs::{Jobs, Label, Order, Upload};
use outbound::provider::spool::Spool;
use store::shard::batch;
use store::shard::manifest;
use store::shard::provider;
use store::shard::submission::{self, Entry};

use super::pack::{PackFailure, Packer, Parcel};
use super::{Dispatch, Load};
use crate::chaos;
use crate::pause::pause;
use crate::providers::Share;
use crate::storing;

/// After trouble that nobody gave a time for.
pub(super) const LATER: TimeDelta = TimeDelta::seconds(5);
/// A queue that is full at the provider is looked at again after this.
const WHEN_FULL: TimeDelta = TimeDelta::seconds(30);
/// While others wait there, at least this part of the limit is sent at once, or all of a batch.
const CRUMB: u64 = 8;
/// How long a provider is believed to take less than we were told.
const LOWERED_FOR: TimeDelta = TimeDelta::minutes(15);

/// Whom a batch goes to.
pub(super) struct Target<'a> {
    pub(super) jobs: &'a dyn Jobs,
    pub(super) share: Share,
    pub(super) upstream: &'a str,
    pub(super) model: &'a Model,
}

impl Dispatch {
    /// Whether it may go on. Where jobs carry no label one is on its way at a time; who is not that
    /// one asks again.
    pub(super) async fn has_turn(
        &self,
        load: &Load<'_>,
        jobs: &dyn Jobs,
        entry: &Entry,
    ) -> Result<bool, store::Error> {
        let (batch, name) = (load.batch, &load.lane.provider);
        let is_to_be_sent = entry.sent_at.is_none() && batch.takeovers < MOST_TAKEOVERS;
        if jobs.labelled() || !is_to_be_sent {
            return Ok(true);
        }
        if !provider::take_turn(&self.shard, name, batch.id).await? {
            let at = load.now + TimeDelta::seconds(1);
            batch::ask_again(&self.shard, batch.id, load.claim, at).await?;
            return Ok(false);
        }
        chaos::point("dispatch.turn", name);
        Ok(true)
    }

    pub(super) async fn submit_job(
        &self,
        load: &Load<'_>,
        target: &Target<'_>,
        entry: &Entry,
    ) -> Result<(), store::Error> {
        if entry.sent_at.is_some() {
            return self.look_for(load, target, entry).await;
        }
        // Only what no provider has may be taken apart.
        if load.batch.takeovers >= MOST_TAKEOVERS {
            return self.set_aside(load).await;
        }
        match self.pack(load, target, entry).await {
            Ok(Some((spool, items))) => self.hand_over(load, target, entry, &spool, items).await,
            Ok(None) => Ok(()),
            Err(PackFailure::Store(failure)) => Err(failure),
            Err(failure @ (PackFailure::Disk(_) | PackFailure::Media(_))) => {
                tracing::error!(batch.id = %load.batch.id, %failure, "{} cannot be put together yet", load.batch.id);
                let at = load.now + WHEN_FULL;
                self.not_sent(load, Some(Delay::Unready), at).await
            }
        }
    }

    /// The lines, with the journal saying what they are; nothing when there is no room for them.
    async fn pack(
        &self,
        load: &Load<'_>,
        target: &Target<'_>,
        entry: &Entry,
    ) -> Result<Option<(Spool, u64)>, PackFailure> {
        let (shard, batch) = (&self.shard, load.batch);
        let packer = self.packer(target);
        let heads = manifest::heads(shard, batch.id, &batch.cargo).await?;
        chaos::point("dispatch.read", &load.lane.provider);
        let (waiting, lowered) =
            provider::enqueued(shard, &load.lane.provider, load.now - LOWERED_FOR).await?;
        let most = target.share.most_enqueued_tokens;
        let most = most.min(lowered.unwrap_or(most));
        if let Some(packed) = &entry.packed
            && let Some(spool) = packer.rebuild(batch, heads.clone(), packed).await?
        {
            let items = batch.cargo.len() as u64;
            return Ok(self.has_room(load, most).await?.then_some((spool, items)));
        }
        let room = most.saturating_sub(waiting);
        if waiting > 0 && room == 0 {
            self.not_sent(load, Some(Delay::Full), load.now + WHEN_FULL)
                .await?;
            return Ok(None);
        }
        let Parcel {
            spool,
            order,
            packed,
            unfit,
        } = packer.pack(batch, heads, room).await?;
        chaos::point("dispatch.packed", &load.lane.provider);
        // A crumb of a batch is not worth a job: soon there is more room.
        let is_crumb =
            order.len() + unfit.len() < batch.cargo.len() && packed.tokens < most / CRUMB;
        if waiting > 0 && (packed.tokens > room || is_crumb) {
            self.not_sent(load, Some(Delay::Full), load.now + WHEN_FULL)
                .await?;
            return Ok(None);
        }
        storing::store(shard, batch.id, load.claim, None, unfit, load.now).await?;
        if order.is_empty() {
            self.return_all(load).await?;
            return Ok(None);
        }
        let items = order.len() as u64;
        submission::pack(shard, batch.id, load.claim, &order, &packed).await?;
        chaos::point("dispatch.journalled", &load.lane.provider);
        Ok(self.has_room(load, most).await?.then_some((spool, items)))
    }

    /// Whether its tokens may wait at the provider with the others; if not, it is tried later.
    async fn has_room(&self, load: &Load<'_>, most: u64) -> Result<bool, store::Error> {
        let (batch, name) = (load.batch.id, &load.lane.provider);
        let has_room =
            provider::enqueue(&self.shard, name, batch, load.claim, most, load.now).await?;
        if !has_room {
            self.not_sent(load, Some(Delay::Full), load.now + WHEN_FULL)
                .await?;
        }
        Ok(has_room)
    }

    pub(super) fn packer<'a>(&'a self, target: &'a Target<'_>) -> Packer<'a> {
        Packer {
            shard: &self.shard,
            folder: &self.spools,
            jobs: target.jobs,
            share: target.share,
            upstream: target.upstream,
            objects: self.objects.as_ref(),
        }
    }

    /// Uploads where need be, writes the intent, and creates the job.
    pub(super) async fn hand_over(
        &self,
        load: &Load<'_>,
        target: &Target<'_>,
        entry: &Entry,
        spool: &Spool,
        items: u64,
    ) -> Result<(), store::Error> {
        let (shard, batch, claim) = (&self.shard, load.batch, load.claim);
        let label = Label(batch.id.to_string());
        let mut upload = entry.upload.clone().map(Upload);
        if upload.is_none() {
            chaos::point("dispatch.uploading", &load.lane.provider);
            upload = match target.jobs.upload(&label, spool).await {
                Ok(upload) => upload,
                Err(failure) => return self.not_taken(load, failure).await,
            };
            chaos::point("dispatch.uploaded", &load.lane.provider);
            if let Some(upload) = &upload {
                submission::uploaded(shard, batch.id, claim, &upload.0).await?;
            }
            chaos::point("dispatch.upload_noted", &load.lane.provider);
        }
        let order = Order {
            label,
            upstream: target.upstream.to_owned(),
            kind: target.model.kind,
            items,
            upload,
        };
        submission::sending(shard, batch.id, claim, load.now).await?;
        chaos::point("dispatch.sending", &load.lane.provider);
        let creating = target.jobs.create(&order, spool);
        let created = chaos::during("dispatch.sent", &load.lane.provider, creating).await;
        chaos::point("dispatch.answered", &load.lane.provider);
        match created {
            Ok(job) => self.run(load, &job.0, target).await,
            Err(CallFailure::Unknown(why)) => self.unknown(load, target, &why).await,
            Err(CallFailure::Unreadable) => {
                self.unknown(load, target, "the answer cannot be read")
                    .await
            }
            Err(failure) => self.not_taken(load, failure).await,
        }
    }

    /// The provider has it.
    pub(super) async fn run(
        &self,
        load: &Load<'_>,
        job: &str,
        target: &Target<'_>,
    ) -> Result<(), store::Error> {
        let at = load.now + target.share.grace / 6;
        batch::run(&self.shard, load.batch.id, load.claim, job, at, load.now).await?;
        chaos::point("dispatch.running", &load.lane.provider);
        provider::recover(&self.shard, &load.lane.provider).await?;
        provider::end_turn(&self.shard, &load.lane.provider, load.batch.id).await
    }

    /// It may have it: before anything else it is looked for.
    async fn unknown(
        &self,
        load: &Load<'_>,
        target: &Target<'_>,
        why: &str,
    ) -> Result<(), store::Error> {
        tracing::warn!(batch.id = %load.batch.id, why, "whether {} was submitted is not known: it is looked for", load.batch.id);
        metrics::counter!("submissions_unknown_total").increment(1);
        let at = load.now + target.share.grace / 6;
        batch::ask_again(&self.shard, load.batch.id, load.claim, at).await
    }

    /// It certainly does not have it.
    pub(super) async fn not_taken(
        &self,
        load: &Load<'_>,
        failure: CallFailure,
    ) -> Result<(), store::Error> {
        let (batch, now) = (load.batch, load.now);
        tracing::warn!(batch.id = %batch.id, %failure, "{} was not taken", batch.id);
        match failure {
            CallFailure::Unauthorized | CallFailure::OutOfFunds => {
                let reason = failure.to_string();
                pause(&self.shard, &load.lane.provider, &reason, now).await?;
                // At once: whoever takes it up sees the pause, and whether there is another way.
                self.not_sent(load, None, now).await
            }
            CallFailure::Busy { retry_after } | CallFailure::Unavailable { retry_after, .. } => {
                let at = now + wait(retry_after);
                self.not_sent(load, Some(Delay::Refused), at).await
            }
            CallFailure::TooLarge if batch.cargo.len() > 1 => self.halve(load).await,
            CallFailure::TooLarge => self.fail(load, "too large for the provider").await,
            CallFailure::Refused { message, .. } => self.refused(load, &message).await,
            CallFailure::NotFound
            | CallFailure::Conflict
            | CallFailure::Unknown(_)
            | CallFailure::Unreadable
            | CallFailure::Spool(_) => {
                let delay = Some(Delay::Unready);
                self.not_sent(load, delay, now + LATER).await
            }
        }
    }

    /// All of it was refused: perhaps another provider takes it.
    async fn refused(&self, load: &Load<'_>, message: &str) -> Result<(), store::Error> {
        let heads = manifest::heads(&self.shard, load.batch.id, &load.batch.cargo).await?;
        if heads.iter().all(|head| head.attempt >= MOST_REFUSALS) {
            return self.fail(load, message).await;
        }
        self.return_all(load).await
    }

    pub(super) async fn not_sent(
        &self,
        load: &Load<'_>,
        delay: Option<Delay>,
        again_at: Timestamp,
    ) -> Result<(), store::Error> {
        let (shard, batch) = (&self.shard, load.batch.id);
        submission::unsent(shard, batch, load.claim, delay, again_at).await?;
        provider::end_turn(&self.shard, &load.lane.provider, load.batch.id).await
    }
}

fn wait(told: Option<std::time::Duration>) -> TimeDelta {
    let told = told.and_then(|it| TimeDelta::from_std(it).ok());
    told.map_or(LATER, |told| told.clamp(LATER, TimeDelta::minutes(10)))
}
