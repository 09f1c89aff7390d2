//! Sweep: what time has passed by, and what is only to be looked at.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::cargo::DEADLINE;
use domain::id;
use domain::idempotency;
use domain::model::Catalogue;
use domain::outcome::Usage;
use domain::time::Timestamp;
use store::Shard;
use store::body;
use store::shard::outcome::{NewOutcome, Standing};
use store::shard::{
    batch, callback_health, delivery, load, node, outcome, partition, usage, waiting,
};
use tokio::sync::watch;

use crate::late::TOO_LATE;
use crate::lease::Lease;
use crate::stage::{Stage, Step};

pub mod files;
mod hurry;

/// The most rows of a kind in one transaction.
const MOST: i64 = 1000;
const OFTEN: TimeDelta = TimeDelta::seconds(1);
const SELDOM: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug)]
pub struct Sweep {
    shard: Arc<Shard>,
    lease: Lease,
    catalogue: watch::Receiver<Arc<Catalogue>>,
    retention: TimeDelta,
    often_at: Timestamp,
    seldom_at: Timestamp,
}

impl Sweep {
    pub(crate) const fn new(
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
            often_at: due,
            seldom_at: due,
        }
    }

    async fn often(&self, now: Timestamp) -> Result<usize, store::Error> {
        self.show_ages(now).await?;
        let folded = usage::fold(&self.shard, MOST).await?
            + callback_health::fold(&self.shard, MOST).await?;
        let failed = self.fail_overdue(now).await?;
        Ok(usize::try_from(folded).unwrap_or_default() + failed)
    }

    async fn seldom(&self, now: Timestamp) -> Result<(), store::Error> {
        self.hurry(now).await?;
        partition::make_days(&self.shard, now).await?;
        for day in
            partition::drop_days(&self.shard, now - self.retention.max(partition::YOUNGEST)).await?
        {
            tracing::info!(shard = %self.shard.name, day = %day, "a day is past its retention and was dropped");
        }
        while load::forget_keys(&self.shard, now - idempotency::KEPT, MOST).await? > 0 {}
        node::forget(&self.shard).await
    }

    /// What waits since before its deadline fails: it is at no provider.
    async fn fail_overdue(&self, now: Timestamp) -> Result<usize, store::Error> {
        let late = waiting::overdue(&self.shard, id::floor(now - DEADLINE), MOST).await?;
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
        Ok(stored.len())
    }

    /// How long the oldest has waited before each stage: the one number that pages.
    async fn show_ages(&self, now: Timestamp) -> Result<(), store::Error> {
        let (gathered, polled) = batch::oldest(&self.shard).await?;
        let oldest = [
            ("gather", waiting::oldest(&self.shard).await?),
            ("dispatch", gathered),
            ("collect", polled),
            ("deliver", delivery::oldest(&self.shard).await?),
        ];
        for (stage, since) in oldest {
            let age = since.map_or(TimeDelta::zero(), |since| {
                (now - since).max(TimeDelta::zero())
            });
            let shard = self.shard.name.to_string();
            metrics::gauge!("stage_oldest_waiting_seconds", "stage" => stage, "shard" => shard)
                .set(age.as_seconds_f64());
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl Stage for Sweep {
    fn name(&self) -> &'static str {
        "sweep"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let mut swept = 0;
        if now >= self.often_at {
            self.often_at = now + OFTEN;
            swept = self.often(now).await?;
        }
        if now >= self.seldom_at {
            self.seldom_at = now + SELDOM;
            self.seldom(now).await?;
        }
        Ok(if swept == 0 {
            Step::Idle
        } else {
            Step::Did(swept)
        })
    }
}
