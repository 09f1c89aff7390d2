//! Sweep: partitions, deadlines, counts and everything else that time alone makes due.
//!
//! Its parts are independent: one that fails is logged, counted and repeated when it is due again,
//! and the others go on.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::idempotency;
use domain::model::Catalogue;
use domain::outcome::Usage;
use domain::time::Timestamp;
use store::Shard;
use store::body;
use store::shard::fold::Counts;
use store::shard::outcome::{NewOutcome, Standing};
use store::shard::{batch, delivery, load, node, outcome, partition};
use tokio::sync::watch;

use crate::late::TOO_LATE;
use crate::lease::Lease;
use crate::stage::{Stage, Step};

use self::fold::FoldCursor;
use self::oldest::{Head, HeadCursor};
use self::overdue::OverdueCursor;

pub mod files;
mod fold;
mod oldest;
mod overdue;
mod urgent;

const MAX_ROWS_PER_STATEMENT: i64 = 1000;
const SECOND: TimeDelta = TimeDelta::seconds(1);
const MINUTE: TimeDelta = TimeDelta::minutes(1);
/// Batches older than this are looked for once a minute only: their indexes are full of dead
/// entries while an old transaction is open.
const RECENT_BATCHES: TimeDelta = TimeDelta::minutes(10);
const OLDEST_BATCH_TIMEOUT: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct Sweep {
    shard: Arc<Shard>,
    lease: Lease,
    catalogue: watch::Receiver<Arc<Catalogue>>,
    retention: TimeDelta,
    second_at: Timestamp,
    minute_at: Timestamp,
    usage: FoldCursor,
    callbacks: FoldCursor,
    waiting: HeadCursor,
    overdue: OverdueCursor,
    batches_from: Timestamp,
    keys_from: Timestamp,
}

impl Sweep {
    pub(crate) fn new(
        shard: Arc<Shard>,
        lease: Lease,
        catalogue: watch::Receiver<Arc<Catalogue>>,
        retention: TimeDelta,
    ) -> Self {
        let due = Timestamp::UNIX_EPOCH;
        Self {
            shard,
            lease,
            catalogue,
            retention,
            second_at: due,
            minute_at: due,
            usage: FoldCursor::new(Counts::Usage),
            callbacks: FoldCursor::new(Counts::Callback),
            waiting: HeadCursor::default(),
            overdue: OverdueCursor::default(),
            batches_from: due,
            keys_from: due,
        }
    }

    async fn every_minute(&mut self, now: Timestamp) -> Result<(), store::Error> {
        // First of all: without today's partitions every load fails.
        let made = self.make_days(now).await;
        self.report("partitions", made)?;
        let rerouted = self.reroute_urgent(now).await;
        self.report("urgent", rerouted)?;
        let dropped = self.drop_days(now).await;
        self.report("retention", dropped)?;
        let forgotten = self.forget_keys(now).await;
        self.report("idempotency_keys", forgotten)?;
        let forgotten = node::forget(&self.shard).await;
        self.report("nodes", forgotten)?;
        self.batches_from = Timestamp::UNIX_EPOCH;
        Ok(())
    }

    async fn every_second(&mut self, now: Timestamp) -> Result<u64, store::Error> {
        let failed = self.fail_overdue(now).await;
        let failed = self.report("overdue", failed)?.unwrap_or_default();
        let usage = self.usage.fold(&self.shard, now).await;
        let usage = self.report("usage", usage)?.unwrap_or_default();
        let callbacks = self.callbacks.fold(&self.shard, now).await;
        let callbacks = self.report("callback_counts", callbacks)?;
        let shown = self.show_ages(now).await;
        self.report("ages", shown)?;
        Ok(failed + usage + callbacks.unwrap_or_default())
    }

    /// A failure of one part stops no other, unless the database is away.
    fn report<T>(
        &self,
        part: &'static str,
        result: Result<T, store::Error>,
    ) -> Result<Option<T>, store::Error> {
        let failure = match result {
            Ok(result) => return Ok(Some(result)),
            Err(failure) if failure.is_away() => return Err(failure),
            Err(failure) => failure,
        };
        let shard = self.shard.name.to_string();
        let cause = std::error::Error::source(&failure).map(ToString::to_string);
        tracing::warn!(shard, part, failure = %failure, cause, "A part of sweep failed and will be repeated");
        metrics::counter!("sweep_failures_total", "part" => part, "shard" => shard).increment(1);
        Ok(None)
    }

    async fn make_days(&self, now: Timestamp) -> Result<(), store::Error> {
        let made = partition::make_days(&self.shard, now).await;
        let ready = partition::days_ready(&self.shard, now).await?;
        let ahead = i32::try_from(ready.ahead).unwrap_or(i32::MAX);
        metrics::gauge!("partition_days_ahead", "shard" => self.shard.name.to_string())
            .set(if ready.today { ahead } else { -1 });
        made
    }

    async fn drop_days(&self, now: Timestamp) -> Result<(), store::Error> {
        let before = now - self.retention.max(partition::YOUNGEST);
        for day in partition::drop_days(&self.shard, before).await? {
            tracing::info!(shard = %self.shard.name, day = %day, "a day is past its retention and was dropped");
        }
        Ok(())
    }

    async fn forget_keys(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let before = now - idempotency::KEPT;
        loop {
            let window = (self.keys_from, before);
            let last = load::forget_keys(&self.shard, window, MAX_ROWS_PER_STATEMENT).await?;
            let Some(last) = last else { return Ok(()) };
            self.keys_from = last;
        }
    }

    /// Cargo that waits past its deadline fails: it is at no provider.
    async fn fail_overdue(&mut self, now: Timestamp) -> Result<u64, store::Error> {
        let late = self.overdue.look(&self.shard, now).await?;
        if late.is_empty() {
            return Ok(0);
        }
        let failed = late.into_iter().map(|(cargo, attempt)| NewOutcome {
            cargo,
            attempt,
            success: false,
            body: body::pack(TOO_LATE.as_bytes()),
            usage: Usage::default(),
            realtime: None,
            claim_delivery: false,
        });
        let claim = self.lease.claim();
        let stored =
            outcome::record(&self.shard, Standing::Waiting, claim, failed.collect(), now).await?;
        Ok(stored.len() as u64)
    }

    /// How long the oldest has waited before each stage: the one number that pages.
    async fn show_ages(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let show = |stage: &'static str, since: Option<Timestamp>| {
            let age = since.map_or(TimeDelta::zero(), |since| {
                (now - since).max(TimeDelta::zero())
            });
            let shard = self.shard.name.to_string();
            metrics::gauge!("stage_oldest_waiting_seconds", "stage" => stage, "shard" => shard)
                .set(age.as_seconds_f64());
        };
        show("deliver", delivery::oldest(&self.shard).await?);
        match self.waiting.look(&self.shard, now).await? {
            Head::Since(since) => show("gather", Some(since)),
            Head::Empty => show("gather", None),
            Head::Unknown => {}
        }
        let from = self.batches_from;
        let oldest = batch::oldest(&self.shard, from, OLDEST_BATCH_TIMEOUT).await?;
        if let Some((gathered, polled)) = oldest {
            show("dispatch", gathered);
            show("collect", polled);
        }
        let known = oldest.map(|(gathered, polled)| [gathered, polled]);
        let known = known.into_iter().flatten().flatten().min();
        self.batches_from = known.unwrap_or(now).min(now) - RECENT_BATCHES;
        Ok(())
    }
}

#[async_trait::async_trait]
impl Stage for Sweep {
    fn name(&self) -> &'static str {
        "sweep"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        if now >= self.minute_at {
            // What the database could not do while it was away is due as soon as it is back.
            self.every_minute(now).await?;
            self.minute_at = now + MINUTE;
        }
        let mut swept = 0;
        if now >= self.second_at {
            self.second_at = now + SECOND;
            swept = self.every_second(now).await?;
        }
        Ok(match usize::try_from(swept) {
            Ok(0) | Err(_) => Step::Idle,
            Ok(swept) => Step::Did(swept),
        })
    }
}
