//! Deliver: an outcome is POSTed to its callback, never early and never skipped.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::TimeDelta;
use domain::batch::MOST_TAKEOVERS;
use domain::delivery::{Next, Schedule};
use domain::id::CargoId;
use domain::time::Timestamp;
use domain::turns::Ring;
use outbound::callback::{Attempt, Callbacks};
use store::Shard;
use store::shard::attempt::{self, Ended, Verdict};
use store::shard::delivery::{self, Claimed, Destination};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::desk::{Desk, Parcel};
use crate::lease::Lease;
use crate::stage::{Bell, Stage, Step};
use crate::storing;

/// The most attempts recorded in one transaction, and claimed in one.
const MOST: usize = 1000;
/// How often what became due is looked for.
const LOOK: TimeDelta = TimeDelta::milliseconds(50);
/// Commits come out of order; this far back what became due is looked for again.
const OVERLAP: TimeDelta = TimeDelta::seconds(2);
/// How often everyone with something due is looked at anew.
const LOOK_AGAIN: TimeDelta = TimeDelta::seconds(10);
/// How often claims are held against what is under way.
const GIVE_BACK: TimeDelta = TimeDelta::seconds(5);

#[derive(Debug)]
pub struct Deliver {
    shard: Arc<Shard>,
    lease: Lease,
    callbacks: Arc<Callbacks>,
    schedule: Schedule,
    desk: Desk,
    /// Destinations with something due in the rows.
    ring: Ring<u64>,
    names: HashMap<u64, Destination>,
    numbers: HashMap<Destination, u64>,
    looked_at: Timestamp,
    look_again_at: Timestamp,
    under_way: TaskTracker,
    /// Ended, but not yet written down.
    unrecorded: Vec<Ended>,
    /// Claims that nobody here knew of when they were last looked at.
    suspects: HashSet<CargoId>,
    give_back_at: Timestamp,
    ended: (
        mpsc::UnboundedSender<Finished>,
        mpsc::UnboundedReceiver<Finished>,
    ),
    bell: Bell,
}

/// A POST that ended, whichever way.
#[derive(Debug)]
struct Finished {
    cargo: CargoId,
    destination: Destination,
    number: u32,
    is_resend: bool,
    started_at: Timestamp,
    attempt: Attempt,
}

/// What delivering needs besides the rows.
#[derive(Debug)]
pub(crate) struct Means {
    pub(crate) callbacks: Arc<Callbacks>,
    pub(crate) schedule: Schedule,
    pub(crate) desk: Desk,
    pub(crate) bell: Bell,
}

impl Deliver {
    pub(crate) fn new(shard: Arc<Shard>, lease: Lease, means: Means) -> Self {
        Self {
            shard,
            lease,
            callbacks: means.callbacks,
            schedule: means.schedule,
            desk: means.desk,
            ring: Ring::default(),
            names: HashMap::new(),
            numbers: HashMap::new(),
            looked_at: Timestamp::UNIX_EPOCH,
            look_again_at: Timestamp::UNIX_EPOCH,
            under_way: TaskTracker::new(),
            unrecorded: Vec::new(),
            suspects: HashSet::new(),
            give_back_at: Timestamp::UNIX_EPOCH,
            ended: mpsc::unbounded_channel(),
            bell: means.bell,
        }
    }

    /// Steps until nothing of what is due now is left or under way: for tests and for the end.
    pub async fn settle(&mut self, now: Timestamp) -> Result<(), store::Error> {
        loop {
            let did = self.step(now).await?;
            if did == Step::Idle && self.under_way.is_empty() && self.ended.1.is_empty() {
                return Ok(());
            }
            if did == Step::Idle {
                self.bell.rung().await;
            }
        }
    }

    /// Makes no new attempt; records what is under way as it ends.
    pub(crate) async fn finish(&mut self) {
        let claim = self.lease.claim();
        for parcel in self.desk.collect() {
            // Not begun: its row is freed with the lease.
            self.desk.release(&parcel.destination);
        }
        while !(self.under_way.is_empty() && self.ended.1.is_empty() && self.unrecorded.is_empty())
        {
            let now = self.shard.clock.now();
            match self.record(now).await {
                Ok(0) => self.bell.rung().await,
                Ok(_) => {}
                Err(failure) => {
                    tracing::warn!(shard = %self.shard.name, node = %claim.node, failure = %failure, "attempts were not recorded: they will be repeated");
                    return;
                }
            }
        }
    }

    async fn record(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        while self.unrecorded.len() < MOST
            && let Ok(finished) = self.ended.1.try_recv()
        {
            self.desk.release(&finished.destination);
            self.unrecorded.push(self.verdict(finished, now));
        }
        if self.unrecorded.is_empty() {
            return Ok(0);
        }
        // Kept until they are written: a POST that was made must not be made again.
        attempt::record(&self.shard, self.lease.claim(), &self.unrecorded, now).await?;
        let recorded = std::mem::take(&mut self.unrecorded);
        self.desk.let_go(recorded.iter().map(|ended| ended.cargo));
        Ok(recorded.len())
    }

    /// Gives back claims that nobody here knows of: the answer that told of them was lost.
    ///
    /// One that is seen once may be on its way here; one that is seen twice is not.
    async fn give_back(&mut self, now: Timestamp) -> Result<(), store::Error> {
        if now < self.give_back_at {
            return Ok(());
        }
        self.give_back_at = now + GIVE_BACK;
        let claim = self.lease.claim();
        let unknown = self.desk.unknown(delivery::held(&self.shard, claim).await?);
        let lost: Vec<_> = unknown.intersection(&self.suspects).copied().collect();
        if !lost.is_empty() {
            delivery::free(&self.shard, claim, &lost).await?;
            tracing::warn!(shard = %self.shard.name, count = lost.len(), "claims that were lost on their way are free again");
        }
        self.suspects = unknown;
        Ok(())
    }

    fn verdict(&self, finished: Finished, now: Timestamp) -> Ended {
        let attempt = finished.attempt;
        let success = attempt.is_success();
        let outcome = if success { "delivered" } else { "failed" };
        metrics::counter!("callback_attempts_total", "outcome" => outcome).increment(1);
        metrics::histogram!("callback_seconds").record(attempt.latency.as_secs_f64());
        let verdict = match (finished.is_resend, success) {
            (false, true) => Verdict::Delivered,
            (true, true) => Verdict::DeliveredAgain,
            (true, false) => Verdict::LeftAsItWas,
            // The wait counts from the end of the attempt, as it is recorded: never early.
            (false, false) => match self.schedule.after_failure(finished.number, now) {
                Next::Attempt { at } => Verdict::TryAgain { due_at: at },
                Next::GiveUp => Verdict::GivenUp,
            },
        };
        Ended {
            cargo: finished.cargo,
            number: finished.number,
            started_at: finished.started_at,
            ended_at: now,
            took: attempt.latency,
            status: attempt.status,
            error: attempt.error,
            answer: attempt.answer.to_vec(),
            verdict,
        }
    }

    fn start(&self, parcel: Parcel, now: Timestamp) {
        let (callbacks, ended, bell) = (
            self.callbacks.clone(),
            self.ended.0.clone(),
            self.bell.clone(),
        );
        self.under_way.spawn(async move {
            let attempt = callbacks.post(&parcel.url, parcel.payload).await;
            let Parcel {
                cargo,
                destination,
                number,
                is_resend,
                ..
            } = parcel;
            let finished = Finished {
                cargo,
                destination,
                number,
                is_resend,
                started_at: now,
                attempt,
            };
            // Only a deliverer that is gone does not listen, and then the row is free again.
            let _ = ended.send(finished);
            bell.ring();
        });
    }

    /// Enters everyone who has something due.
    async fn discover(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let due = if self.look_again_at <= now {
            self.look_again_at = now + LOOK_AGAIN;
            delivery::destinations(&self.shard, now).await?
        } else {
            delivery::newly_due(&self.shard, self.looked_at - OVERLAP, now).await?
        };
        self.looked_at = now;
        for destination in due {
            let next = u64::try_from(self.numbers.len()).unwrap_or(u64::MAX);
            let number = *self.numbers.entry(destination.clone()).or_insert(next);
            self.names.entry(number).or_insert(destination);
            self.ring.enter(number);
        }
        if self.ring.is_empty() {
            self.names.clear();
            self.numbers.clear();
        }
        Ok(())
    }

    /// Claims a round of what is due, within the shares.
    async fn claim(&mut self, now: Timestamp) -> Result<Vec<Claimed>, store::Error> {
        let room = self.desk.total_room().min(MOST);
        let mut turns = Vec::new();
        for turn in self.ring.round(room, MOST) {
            let Some(destination) = self.names.get(&turn.key) else {
                continue;
            };
            let most = turn.most.min(self.desk.room(destination));
            if most > 0 {
                turns.push((turn.key, destination.clone(), most));
            }
        }
        if turns.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<_> = turns
            .iter()
            .map(|(_, to, most)| (to.clone(), *most))
            .collect();
        let claimed = delivery::claim(&self.shard, self.lease.claim(), &asked, now).await?;
        let mut counts: HashMap<&Destination, usize> = HashMap::new();
        for delivery in &claimed {
            *counts.entry(&delivery.destination).or_default() += 1;
        }
        // Who had less than its turn allowed has nothing left.
        let gone = turns
            .iter()
            .filter(|(_, to, most)| counts.get(to).copied().unwrap_or_default() < *most)
            .map(|(key, _, _)| *key)
            .collect();
        self.ring.leave_all(&gone);
        Ok(claimed)
    }

    fn begin(&mut self, claimed: Claimed, now: Timestamp) {
        // The room was seen a moment ago; a share overdrawn by one is given back all the same.
        self.desk.take(claimed.cargo, &claimed.destination);
        if claimed.takeovers >= MOST_TAKEOVERS {
            let attempt = Attempt {
                status: None,
                error: Some("set aside: its attempts were interrupted too often".to_owned()),
                latency: std::time::Duration::ZERO,
                answer: bytes::Bytes::new(),
            };
            let Claimed {
                cargo,
                destination,
                number,
                is_resend,
                ..
            } = claimed;
            let finished = Finished {
                cargo,
                destination,
                number,
                is_resend,
                started_at: now,
                attempt,
            };
            let _ = self.ended.0.send(finished);
            return;
        }
        let payload = storing::payload(claimed.cargo, claimed.success, &claimed.outcome);
        let Claimed {
            cargo,
            destination,
            url,
            number,
            is_resend,
            ..
        } = claimed;
        self.start(
            Parcel {
                cargo,
                destination,
                url,
                number,
                is_resend,
                payload,
            },
            now,
        );
    }
}

#[async_trait::async_trait]
impl Stage for Deliver {
    fn name(&self) -> &'static str {
        "deliver"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let recorded = self.record(now).await?;
        let parcels = self.desk.collect();
        let mut begun = parcels.len();
        for parcel in parcels {
            self.start(parcel, now);
        }
        if now >= self.looked_at + LOOK || now < self.looked_at {
            self.discover(now).await?;
            self.give_back(now).await?;
        }
        if !self.ring.is_empty() {
            let claimed = self.claim(now).await?;
            begun += claimed.len();
            for delivery in claimed {
                self.begin(delivery, now);
            }
        }
        Ok(if recorded + begun == 0 {
            Step::Idle
        } else {
            Step::Did(recorded + begun)
        })
    }
}
