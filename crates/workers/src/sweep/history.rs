//! Ends what grows with history: batches, resends, files, counts, postings. Freezes closed days.

use std::sync::Arc;

use chrono::{NaiveDate, TimeDelta};
use domain::history_retention::HistoryRetention;
use domain::time::{Timestamp, start_of_day};
use store::Shard;
use store::shard::fold::CountTable;
use store::shard::history::{self, counts, ended, freeze, ledger};
use store::shard::partition;

use super::isolation::isolate_failure;
use crate::lease::Lease;
use crate::stage::{Stage, StepResult};

const MAX_ROWS_PER_STATEMENT: i64 = 1000;
/// How many projects, organizations or files one statement looks at.
const MAX_OWNERS_PER_PAGE: i64 = 500;
const SWEEP_INTERVAL: TimeDelta = TimeDelta::hours(1);

/// A separate stage, so that deadlines of cargo never wait for it. One worker of a shard does it for
/// all.
#[derive(Debug)]
pub struct HistorySweepStage {
    shard: Arc<Shard>,
    lease: Lease,
    retention: HistoryRetention,
    due_at: Timestamp,
    /// The last day on which every project and organization was looked at.
    walked_on: Option<NaiveDate>,
}

impl HistorySweepStage {
    pub(crate) const fn new(shard: Arc<Shard>, lease: Lease, retention: HistoryRetention) -> Self {
        Self {
            shard,
            lease,
            retention,
            due_at: Timestamp::UNIX_EPOCH,
            walked_on: None,
        }
    }

    /// Every part is independent. One that fails is repeated in the next pass.
    async fn sweep(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let shard = &self.shard;
        let Some(kept_since) = history::find_kept_since(shard).await? else {
            return Ok(());
        };
        let kept_since = kept_since.min(now - self.retention.cargo);
        let ended = self.delete_ended(kept_since).await;
        isolate_failure(shard, "ended", ended)?;
        let frozen = self.freeze_days(now).await;
        isolate_failure(shard, "freezing", frozen)?;
        if self.walked_on == Some(now.date_naive()) {
            return Ok(());
        }
        let files = self.delete_files(kept_since, now).await;
        let files = isolate_failure(shard, "files", files)?;
        let usage = self.shorten_usage(now).await;
        let usage = isolate_failure(shard, "usage_days", usage)?;
        let callbacks = self.shorten_counts(CountTable::Callback, now).await;
        let callbacks = isolate_failure(shard, "callback_hours", callbacks)?;
        let closed = self.close_ledger(kept_since, now).await;
        let closed = isolate_failure(shard, "ledger", closed)?;
        let is_complete = [files, usage, callbacks, closed]
            .iter()
            .all(Option::is_some);
        self.walked_on = is_complete.then(|| now.date_naive());
        Ok(())
    }

    async fn delete_ended(&self, before: Timestamp) -> Result<(), store::Error> {
        let (shard, most) = (&self.shard, MAX_ROWS_PER_STATEMENT);
        while ended::delete_batches(shard, before, most).await? == most.unsigned_abs() {}
        while ended::delete_resends(shard, before, most).await? == most.unsigned_abs() {}
        Ok(())
    }

    /// The days that get no new cargo any more.
    async fn freeze_days(&self, now: Timestamp) -> Result<(), store::Error> {
        let before = (now - partition::MIN_RETENTION).date_naive();
        while let Some(day) = freeze::freeze_next_day(&self.shard, before).await? {
            tracing::info!(shard = %self.shard.name, day = %day, "a closed day was frozen");
        }
        Ok(())
    }

    async fn delete_files(&self, before: Timestamp, now: Timestamp) -> Result<(), store::Error> {
        let mut after = None;
        loop {
            let most = MAX_OWNERS_PER_PAGE;
            let examined = ended::delete_files(&self.shard, after, before, most, now).await?;
            if examined.last.is_none() {
                return Ok(());
            }
            after = examined.last;
        }
    }

    /// Sums hours to days, and deletes the oldest days.
    async fn shorten_usage(&self, now: Timestamp) -> Result<(), store::Error> {
        let shard = &self.shard;
        let (from, before) = (
            counts::read_days_until(shard).await?,
            self.retention.hours_before(now),
        );
        let mut after = None;
        loop {
            let page = counts::list_projects(shard, CountTable::Usage, after, MAX_OWNERS_PER_PAGE);
            let page = page.await?;
            let Some(last) = page.last().copied() else {
                break;
            };
            for project in page {
                let mut from = from;
                while let Some(hour) = counts::find_first_hour(shard, project, from, before).await?
                {
                    from = start_of_day(hour);
                    counts::sum_day(shard, project, from).await?;
                }
            }
            after = Some(last);
        }
        counts::raise_days_until(shard, before).await?;
        self.shorten_counts(CountTable::Usage, now).await
    }

    async fn shorten_counts(&self, table: CountTable, now: Timestamp) -> Result<(), store::Error> {
        let before = match table {
            CountTable::Usage => self.retention.usage_before(now),
            CountTable::Callback => self.retention.hours_before(now),
        };
        let (shard, most) = (&self.shard, MAX_ROWS_PER_STATEMENT);
        let mut after = None;
        loop {
            let page = counts::list_projects(shard, table, after, MAX_OWNERS_PER_PAGE).await?;
            let Some(last) = page.last().copied() else {
                return Ok(());
            };
            for project in page {
                while counts::delete(shard, table, project, before, most).await?
                    == most.unsigned_abs()
                {}
            }
            after = Some(last);
        }
    }

    async fn close_ledger(
        &self,
        kept_since: Timestamp,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let before = self.retention.postings_before(now, kept_since);
        let (shard, most) = (&self.shard, MAX_ROWS_PER_STATEMENT);
        // First: see there.
        while ledger::delete_key_months(shard, before, most).await? == most.unsigned_abs() {}
        let mut after = None;
        loop {
            let page = ledger::list_organizations(shard, after, before, MAX_OWNERS_PER_PAGE);
            let page = page.await?;
            let Some((last, _)) = page.last().copied() else {
                return Ok(());
            };
            for (organization, _) in page.into_iter().filter(|(_, is_due)| *is_due) {
                while ledger::close(shard, organization, before, most).await? == most.unsigned_abs()
                {
                }
            }
            after = Some(last);
        }
    }
}

#[async_trait::async_trait]
impl Stage for HistorySweepStage {
    fn name(&self) -> &'static str {
        "sweep_history"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        if now < self.due_at {
            return Ok(StepResult::Idle);
        }
        if history::is_our_turn(&self.shard, self.lease.claim()).await? {
            self.sweep(now).await?;
        }
        self.due_at = now + SWEEP_INTERVAL;
        Ok(StepResult::Idle)
    }
}
