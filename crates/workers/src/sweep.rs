//! Sweep: partitions, deadlines, counts and everything else that becomes due by time.
//!
//! Its parts are independent. A part that fails is logged, counted and retried when it is due
//! again, and the other parts continue.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::idempotency;
use domain::model::Catalogue;
use domain::reason_code::FailureCode;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use outbound::otlp::Tracer;
use store::Shard;
use store::body;
use store::shard::fold::CountTable;
use store::shard::outcome::{ExpectedCargoState, NewOutcome};
use store::shard::{
    batch, delivery, feed, handover, listener, node, outcome, partition, waiting_deadlines,
};
use tokio::sync::watch;

use crate::deadlines::{CALLER_DEADLINE_PASSED, DEADLINE_PASSED};
use crate::lease::Lease;
use crate::spans::trace_waiting_failures;
use crate::stage::{Stage, StepResult};

use self::cancel_groups::GroupCancelCursor;
use self::fold::FoldCursor;
use self::isolation::isolate_failure;
use self::oldest_waiting::{OldestWaiting, OldestWaitingCursor};
use self::overdue::OverdueCursor;
use self::paused_accounts::PausedAccounts;

mod cancel_groups;
mod dropins;
pub mod files;
mod fold;
pub mod history;
mod isolation;
pub mod jobs;
mod oldest_waiting;
mod overdue;
mod paused_accounts;
mod retention;
mod urgent;
mod way_changes;

const MAX_ROWS_PER_STATEMENT: i64 = 1000;
const SECOND: TimeDelta = TimeDelta::seconds(1);
const MINUTE: TimeDelta = TimeDelta::minutes(1);
/// How often waiting cargo is checked whose way may end after its deadline.
const WAY_CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(10);
/// Batches older than this are read only once a minute: their indexes are full of dead entries
/// while an old transaction is open.
const RECENT_BATCH_AGE: TimeDelta = TimeDelta::minutes(10);
const OLDEST_BATCH_TIMEOUT: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct SweepStage {
    shard: Arc<Shard>,
    lease: Lease,
    catalogue: watch::Receiver<Arc<Catalogue>>,
    retention: TimeDelta,
    second_at: Timestamp,
    minute_at: Timestamp,
    ways_at: Timestamp,
    usage: FoldCursor,
    callbacks: FoldCursor,
    oldest_waiting: OldestWaitingCursor,
    overdue: OverdueCursor,
    cancelling: GroupCancelCursor,
    batches_from: Timestamp,
    keys_from: Timestamp,
    feed_from: Timestamp,
    /// Where the search for queued erasures starts.
    erasures_from: Timestamp,
    paused_accounts: PausedAccounts,
    tracer: Option<Tracer>,
}

impl SweepStage {
    pub(crate) fn new(
        shard: Arc<Shard>,
        lease: Lease,
        catalogue: watch::Receiver<Arc<Catalogue>>,
        retention: TimeDelta,
        tracer: Option<Tracer>,
    ) -> Self {
        let due = Timestamp::UNIX_EPOCH;
        Self {
            shard,
            lease,
            catalogue,
            retention,
            second_at: due,
            minute_at: due,
            ways_at: due,
            usage: FoldCursor::new(CountTable::Usage),
            callbacks: FoldCursor::new(CountTable::Callback),
            oldest_waiting: OldestWaitingCursor::default(),
            overdue: OverdueCursor::default(),
            cancelling: GroupCancelCursor::default(),
            batches_from: due,
            keys_from: due,
            feed_from: due,
            erasures_from: due,
            paused_accounts: PausedAccounts::default(),
            tracer,
        }
    }

    async fn sweep_every_minute(&mut self, now: Timestamp) -> Result<(), store::Error> {
        // First, because without today's partitions every load fails.
        let made = self.create_partitions(now).await;
        self.isolate_failure("partitions", made)?;
        let rerouted = self.reroute_urgent(now).await;
        self.isolate_failure("urgent", rerouted)?;
        let dropped = self.drop_partitions(now).await;
        self.isolate_failure("retention", dropped)?;
        let deleted = self.delete_groups(now).await;
        self.isolate_failure("groups", deleted)?;
        let forgotten = self.forget_idempotency_keys(now).await;
        self.isolate_failure("idempotency_keys", forgotten)?;
        let deleted = self.delete_old_feed_entries().await;
        self.isolate_failure("feed", deleted)?;
        let deleted = self.delete_dead_listeners().await;
        self.isolate_failure("listeners", deleted)?;
        let deleted = self.delete_dropins(now).await;
        self.isolate_failure("dropins", deleted)?;
        let forgotten = node::delete_dead_nodes(&self.shard).await;
        self.isolate_failure("nodes", forgotten)?;
        let reported = self.paused_accounts.report(&self.shard, now).await;
        self.isolate_failure("paused_accounts", reported)?;
        self.batches_from = Timestamp::UNIX_EPOCH;
        self.erasures_from = Timestamp::UNIX_EPOCH;
        Ok(())
    }

    async fn sweep_every_second(&mut self, now: Timestamp) -> Result<u64, store::Error> {
        if now >= self.ways_at {
            self.ways_at = now + WAY_CHECK_INTERVAL;
            let changed = self.change_ways(now).await;
            self.isolate_failure("ways", changed)?;
        }
        let failed = self.fail_overdue(now).await;
        let failed = self.isolate_failure("overdue", failed)?.unwrap_or_default();
        let claim = self.lease.claim();
        let cancelled = self.cancelling.cancel(&self.shard, claim, now).await;
        let cancelled = self.isolate_failure("cancel_groups", cancelled)?;
        let usage = self.usage.fold(&self.shard, now).await;
        let usage = self.isolate_failure("usage", usage)?.unwrap_or_default();
        let callbacks = self.callbacks.fold(&self.shard, now).await;
        let callbacks = self.isolate_failure("callback_counts", callbacks)?;
        let erased = self.erase_bodies(now).await;
        let erased = self.isolate_failure("erasure", erased)?;
        let shown = self.report_ages(now).await;
        self.isolate_failure("ages", shown)?;
        let [cancelled, callbacks, erased] =
            [cancelled, callbacks, erased].map(Option::unwrap_or_default);
        Ok(failed + cancelled + usage + callbacks + erased)
    }

    fn isolate_failure<T>(
        &self,
        part: &'static str,
        result: Result<T, store::Error>,
    ) -> Result<Option<T>, store::Error> {
        isolate_failure(&self.shard, part, result)
    }

    async fn create_partitions(&self, now: Timestamp) -> Result<(), store::Error> {
        let made = partition::make_days(&self.shard, now).await;
        let ready = partition::read_days_ready(&self.shard, now).await?;
        let ahead = i32::try_from(ready.ahead).unwrap_or(i32::MAX);
        metrics::gauge!("longshore_partition_days_ahead", "shard" => self.shard.name.to_string())
            .set(if ready.today { ahead } else { -1 });
        made
    }

    async fn drop_partitions(&self, now: Timestamp) -> Result<(), store::Error> {
        let before = now - self.retention.max(partition::MIN_RETENTION);
        for day in partition::drop_days(&self.shard, before).await? {
            tracing::info!(shard = %self.shard.name, day = %day, "a day past its retention was dropped");
        }
        Ok(())
    }

    async fn forget_idempotency_keys(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let before = now - idempotency::IDEMPOTENCY_KEY_RETENTION;
        loop {
            let window = self.keys_from..before;
            let (shard, most) = (&self.shard, MAX_ROWS_PER_STATEMENT);
            let last = store::shard::idempotency::delete_idempotency_keys(shard, window, most);
            let last = last.await?;
            let Some(last) = last else { return Ok(()) };
            self.keys_from = last;
        }
    }

    /// Rows that their processes could not delete.
    async fn delete_dead_listeners(&self) -> Result<(), store::Error> {
        listener::delete_dead(&self.shard).await?;
        handover::delete_abandoned(&self.shard).await
    }

    /// The feed has the times of the database's clock, so `now` does not matter.
    async fn delete_old_feed_entries(&mut self) -> Result<(), store::Error> {
        let most = MAX_ROWS_PER_STATEMENT;
        while let Some(last) = feed::delete_old_entries(&self.shard, self.feed_from, most).await? {
            self.feed_from = last;
        }
        Ok(())
    }

    /// Fails waiting cargo past its deadline. No provider has it.
    async fn fail_overdue(&mut self, now: Timestamp) -> Result<u64, store::Error> {
        let shard = &self.shard;
        let most = MAX_ROWS_PER_STATEMENT;
        let of_callers = waiting_deadlines::list_past_deadline(shard, now, most).await?;
        let (late, message) = if of_callers.is_empty() {
            let late = self.overdue.find_overdue(shard, now).await?;
            (late, DEADLINE_PASSED)
        } else {
            (of_callers, CALLER_DEADLINE_PASSED)
        };
        if late.is_empty() {
            return Ok(0);
        }
        let failed = late.into_iter().map(|late| NewOutcome {
            cargo: late.cargo,
            project: late.project,
            attempt: late.attempt,
            success: false,
            failure_code: Some(FailureCode::DeadlineExceeded),
            body: body::pack(message.as_bytes()),
            usage: TokenBuckets::default(),
            cost: None,
            served: None,
            realtime: None,
            claim_delivery: false,
        });
        let claim = self.lease.claim();
        let stored = outcome::record(
            &self.shard,
            ExpectedCargoState::Waiting,
            claim,
            failed.collect(),
            now,
        )
        .await?;
        if let Some(tracer) = &self.tracer {
            let code = FailureCode::DeadlineExceeded;
            trace_waiting_failures(&self.shard, tracer, &stored, code, now).await;
        }
        Ok(stored.len() as u64)
    }

    /// Reports how long the oldest item of each stage has waited. Alerts page on this metric.
    async fn report_ages(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let show = |stage: &'static str, since: Option<Timestamp>| {
            let age = since.map_or(TimeDelta::zero(), |since| {
                (now - since).max(TimeDelta::zero())
            });
            let shard = self.shard.name.to_string();
            metrics::gauge!("longshore_stage_oldest_waiting_age_seconds", "stage" => stage, "shard" => shard)
                .set(age.as_seconds_f64());
        };
        show("deliver", delivery::find_oldest_due(&self.shard).await?);
        match self.oldest_waiting.find_oldest(&self.shard, now).await? {
            OldestWaiting::Since(since) => show("gather", Some(since)),
            OldestWaiting::Empty => show("gather", None),
            OldestWaiting::Unknown => {}
        }
        let from = self.batches_from;
        let oldest = batch::find_oldest_due(&self.shard, from, OLDEST_BATCH_TIMEOUT).await?;
        if let Some((gathered, polled)) = oldest {
            show("dispatch", gathered);
            show("collect", polled);
        }
        let known = oldest.map(|(gathered, polled)| [gathered, polled]);
        let known = known.into_iter().flatten().flatten().min();
        self.batches_from = known.unwrap_or(now).min(now) - RECENT_BATCH_AGE;
        Ok(())
    }
}

#[async_trait::async_trait]
impl Stage for SweepStage {
    fn name(&self) -> &'static str {
        "sweep"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        if now >= self.minute_at {
            // Set after success: what an unavailable database could not do is due when it is back.
            self.sweep_every_minute(now).await?;
            self.minute_at = now + MINUTE;
        }
        let mut swept = 0;
        if now >= self.second_at {
            self.second_at = now + SECOND;
            swept = self.sweep_every_second(now).await?;
        }
        Ok(match usize::try_from(swept) {
            Ok(0) | Err(_) => StepResult::Idle,
            Ok(swept) => StepResult::Processed(swept),
        })
    }
}
