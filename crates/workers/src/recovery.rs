//! Recovery: notices that the database was promoted, restored or copied, and keeps the stages of a
//! paused shard from running.
//!
//! Every few seconds a marker is written: first its generation into the rows, then the marker into
//! the bucket. `domain::recovery` compares both, and the server, timeline and database of the rows
//! with those from before. After every new lease this happens before any stage runs.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::bucket_marker::{BucketMarker, DatabaseOrigin};
use domain::recovery::{BucketReading, DatabaseHistory, RowsReading, judge_history};
use domain::time::Timestamp;
use outbound::health::DependencyHealth;
use store::Shard;
use store::shard::bucket_marker::{self, BucketMarkerState};
use store::shard::ledger_audit::{self, ProofStep};
use store::shard::recovery::{self, RecoveryPause};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::file_stage_deps::FileStageDeps;
use crate::lease::Lease;
use crate::providers::Providers;
use crate::recovery_gate::RecoveryGate;
use crate::stage::{Stage, StepResult};

pub mod unknown_jobs;

use unknown_jobs::JobSearchScope;

/// How often rows and bucket are compared, and a marker is written.
pub const MARKER_INTERVAL: TimeDelta = TimeDelta::seconds(5);
/// How often a pause by an operator is looked for.
const PAUSE_CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(1);
/// How long after the start the first comparison waits until the health of the object store is
/// known.
const HEALTH_TIMEOUT: TimeDelta = TimeDelta::seconds(10);
/// How long reading or writing the marker in the bucket may take: meanwhile the stages may wait.
const BUCKET_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the stages wait after a failover until every account has listed its jobs.
const JOB_SEARCH_TIMEOUT: Duration = Duration::from_secs(10);
/// How many transactions of the audit a failover waits for. The stage audit does the rest.
const MAX_PROOF_STEPS: usize = 10;

/// What a comparison says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RecoveryVerdict {
    Clear,
    Failover {
        before: DatabaseOrigin,
        current: DatabaseOrigin,
        found: Option<BucketMarker>,
        /// When the rows' marker was written.
        written_at: Option<Timestamp>,
    },
    Paused(RecoveryPause),
    /// The timeline changed, and the bucket cannot be read.
    Undecided,
    /// The process starts: the health of the object store is not known yet.
    Starting,
}

#[derive(Debug)]
pub struct RecoveryStage {
    shard: Arc<Shard>,
    files: Option<FileStageDeps>,
    providers: Arc<Providers>,
    lease: Lease,
    gate: RecoveryGate,
    started_at: Option<Timestamp>,
    check_at: Timestamp,
    compare_at: Timestamp,
    /// The token of the lease under which rows and bucket were compared last. None: they were not,
    /// or what followed failed.
    compared: Option<CancellationToken>,
    /// The time of the last step. A clock that was set back makes everything due.
    stepped_at: Timestamp,
    was_paused: bool,
    /// The newest generation that this process has read from the rows.
    newest_generation: i64,
}

impl RecoveryStage {
    pub(crate) fn new(
        shard: Arc<Shard>,
        lease: Lease,
        files: Option<FileStageDeps>,
        providers: Arc<Providers>,
    ) -> Self {
        let name = shard.name.to_string();
        metrics::counter!("longshore_database_failovers_total", "shard" => name.clone())
            .increment(0);
        metrics::counter!("longshore_unknown_provider_jobs_total", "shard" => name).increment(0);
        Self {
            shard,
            files,
            providers,
            gate: RecoveryGate::new(lease.clone()),
            lease,
            started_at: None,
            check_at: Timestamp::UNIX_EPOCH,
            compare_at: Timestamp::UNIX_EPOCH,
            compared: None,
            stepped_at: Timestamp::UNIX_EPOCH,
            was_paused: false,
            newest_generation: 0,
        }
    }

    pub(crate) fn gate(&self) -> RecoveryGate {
        self.gate.clone()
    }

    /// Whether the stages of this shard run.
    pub fn is_open(&self) -> bool {
        self.gate.is_open()
    }

    async fn check(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let (_, held) = self.lease.claim_and_token();
        if held.is_cancelled() {
            // The gate is closed. This node joins again within seconds.
            return Ok(());
        }
        let is_compared = self.is_compared();
        // After a failure below, the next check compares again.
        self.compared = None;
        let verdict = if is_compared && now < self.compare_at {
            match recovery::find_pause(&self.shard).await? {
                Some(pause) => RecoveryVerdict::Paused(pause),
                None if self.was_paused => self.compare(now).await?,
                None => RecoveryVerdict::Clear,
            }
        } else {
            self.compare(now).await?
        };
        self.report(&verdict);
        match verdict {
            RecoveryVerdict::Clear => self.gate.open(held.clone()),
            RecoveryVerdict::Paused(_) | RecoveryVerdict::Undecided => self.gate.close(),
            RecoveryVerdict::Starting => {
                self.gate.close();
                return Ok(());
            }
            RecoveryVerdict::Failover {
                before,
                current,
                found,
                written_at,
            } => {
                self.search_unknown_jobs(written_at.unwrap_or(now)).await?;
                let noticed =
                    bucket_marker::record_failover(&self.shard, &before, &current, found, now)
                        .await?;
                self.gate.open(held.clone());
                self.compare_at = now;
                if noticed {
                    self.handle_failover(&before, &current, now).await?;
                }
            }
        }
        self.compared = Some(held);
        Ok(())
    }

    fn is_compared(&self) -> bool {
        self.compared
            .as_ref()
            .is_some_and(|held| !held.is_cancelled())
    }

    /// Compares rows and bucket, and writes the next marker.
    async fn compare(&mut self, now: Timestamp) -> Result<RecoveryVerdict, store::Error> {
        // The bucket first, so that the rows are as new or newer.
        let Some(bucket) = self.read_bucket(now).await else {
            return Ok(RecoveryVerdict::Starting);
        };
        let pause = recovery::find_pause(&self.shard).await?;
        let state = match bucket_marker::read_state(&self.shard).await {
            Ok(state) => state,
            Err(failure) if failure.is_unavailable() => return Err(failure),
            // Some managed servers allow less. Then only the bucket's removal is held.
            Err(failure) => {
                tracing::warn!(shard = %self.shard.name, failure = failure.diagnosis(), "it cannot be checked whether the database was restored: allow its user to call pg_control_system(), pg_walfile_name() and pg_current_wal_lsn()");
                self.compare_at = now + TimeDelta::minutes(1);
                return Ok(pause.map_or(RecoveryVerdict::Clear, RecoveryVerdict::Paused));
            }
        };
        self.compare_at = now + MARKER_INTERVAL;
        if let Some(pause) = pause {
            bucket_marker::record_found(&self.shard, bucket.marker()).await?;
            self.newest_generation = state.marker.generation;
            return Ok(RecoveryVerdict::Paused(pause));
        }
        let rows = RowsReading {
            origin: state.origin.as_ref(),
            current: &state.current,
            marker: state.marker,
            newest_generation: self.newest_generation,
        };
        match judge_history(rows, bucket) {
            DatabaseHistory::Unchanged => self.write_marker(&state, bucket, now).await,
            DatabaseHistory::Undecided => Ok(RecoveryVerdict::Undecided),
            DatabaseHistory::Failover => Ok(match state.origin {
                Some(before) => RecoveryVerdict::Failover {
                    before,
                    current: state.current,
                    found: bucket.marker(),
                    written_at: state.written_at,
                },
                None => RecoveryVerdict::Clear,
            }),
            DatabaseHistory::Restored(reason) => {
                let (since, reason) = (now, reason.to_string());
                recovery::pause(&self.shard, &reason, bucket.marker(), None, now).await?;
                Ok(RecoveryVerdict::Paused(RecoveryPause { since, reason }))
            }
        }
    }

    async fn write_marker(
        &mut self,
        state: &BucketMarkerState,
        bucket: BucketReading,
        now: Timestamp,
    ) -> Result<RecoveryVerdict, store::Error> {
        self.newest_generation = state.marker.generation;
        let writable = match bucket {
            BucketReading::Empty | BucketReading::Found(_) => self.files.as_ref(),
            // Rows that went on alone would pass the bucket, and hide that they are older.
            BucketReading::Unreadable if state.origin.is_some() => {
                return Ok(RecoveryVerdict::Clear);
            }
            BucketReading::NotConfigured | BucketReading::Unreadable => None,
        };
        let before = now - MARKER_INTERVAL;
        let next = bucket_marker::begin_generation(&self.shard, state, before, now).await?;
        let Some(marker) = next else {
            return Ok(RecoveryVerdict::Clear);
        };
        self.newest_generation = marker.generation;
        if let Some(files) = writable {
            let writing = files.objects.write_marker(&self.shard.name, marker);
            let failure = match timeout(BUCKET_TIMEOUT, writing).await {
                Ok(Ok(())) => return Ok(RecoveryVerdict::Clear),
                Ok(Err(failure)) => failure.to_string(),
                Err(late) => late.to_string(),
            };
            tracing::warn!(shard = %self.shard.name, failure, "the bucket's marker could not be written and will be tried again");
        }
        Ok(RecoveryVerdict::Clear)
    }

    /// A bucket that fails its probes may belong to another installation. None: this process has
    /// just started, and the health of the object store is not known yet.
    async fn read_bucket(&mut self, now: Timestamp) -> Option<BucketReading> {
        let Some(files) = &self.files else {
            return Some(BucketReading::NotConfigured);
        };
        let started_at = *self.started_at.get_or_insert(now);
        let health = files.health.borrow().store.clone();
        if health == DependencyHealth::Unknown && now - started_at < HEALTH_TIMEOUT {
            return None;
        }
        if !health.is_healthy() {
            return Some(BucketReading::Unreadable);
        }
        let reading = files.objects.read_marker(&self.shard.name);
        let failure = match timeout(BUCKET_TIMEOUT, reading).await {
            Ok(Ok(Some(marker))) => return Some(BucketReading::Found(marker)),
            Ok(Ok(None)) => return Some(BucketReading::Empty),
            Ok(Err(failure)) => failure.to_string(),
            Err(late) => late.to_string(),
        };
        tracing::warn!(shard = %self.shard.name, failure, "the bucket's marker could not be read and will be tried again");
        Some(BucketReading::Unreadable)
    }

    fn report(&mut self, verdict: &RecoveryVerdict) {
        let shard = self.shard.name.to_string();
        let reason = match verdict {
            RecoveryVerdict::Clear
            | RecoveryVerdict::Failover { .. }
            | RecoveryVerdict::Starting => None,
            RecoveryVerdict::Paused(pause) => Some(pause.reason.as_str()),
            RecoveryVerdict::Undecided => {
                Some("the timeline changed, and the bucket cannot be read")
            }
        };
        let is_paused = reason.is_some();
        metrics::gauge!("longshore_recovery_pause", "shard" => shard.clone())
            .set(u8::from(is_paused));
        if let Some(reason) = reason
            && !self.was_paused
        {
            tracing::error!(
                shard,
                reason,
                "the shard is paused: read docs/runbooks/recovery-pause.md, then run: longshored admin recovery status"
            );
        } else if self.was_paused && !is_paused {
            tracing::info!(shard, "the shard is no longer paused");
        }
        self.was_paused = is_paused;
    }

    /// Batches that a provider already has are adopted before any stage sends them again. Jobs
    /// without rows are only reported: an operator cancels them.
    async fn search_unknown_jobs(&self, since: Timestamp) -> Result<(), store::Error> {
        let scope = JobSearchScope::since(since).with_account_timeout(JOB_SEARCH_TIMEOUT);
        let found = unknown_jobs::find(&self.shard, &self.providers, &scope).await?;
        let adopted = unknown_jobs::adopt(&self.shard, &found).await?;
        let unknown = found.count_unknown();
        metrics::counter!("longshore_unknown_provider_jobs_total", "shard" => self.shard.name.to_string())
            .increment(unknown);
        for (provider, failure) in &found.failures {
            tracing::error!(shard = %self.shard.name, provider, failure, "after a failover, the jobs of an account could not be listed: run longshored admin recovery jobs --dry-run");
        }
        if adopted > 0 || unknown > 0 {
            tracing::error!(shard = %self.shard.name, adopted, unknown, "after a failover, providers had jobs that the rows do not know: run longshored admin recovery jobs --dry-run");
        }
        Ok(())
    }

    async fn handle_failover(
        &self,
        before: &DatabaseOrigin,
        current: &DatabaseOrigin,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let shard = self.shard.name.to_string();
        metrics::counter!("longshore_database_failovers_total", "shard" => shard.clone())
            .increment(1);
        // A failed check must not hide the failover: no later comparison notices it.
        let checked = self.count_ledger_faults(now).await;
        tracing::error!(
            shard,
            before = before.timeline(),
            current = current.timeline(),
            ledger_faults = checked.as_ref().ok().copied(),
            "the database's timeline changed: a standby was promoted. Work continues; the removal of files is held until: longshored admin files confirm"
        );
        checked.map(drop)
    }

    /// Proves what changed in the ledger since the last proof. While another audit runs, its last
    /// faults count.
    async fn count_ledger_faults(&self, now: Timestamp) -> Result<usize, store::Error> {
        for _ in 0..MAX_PROOF_STEPS {
            match ledger_audit::prove_changes(&self.shard, None, now).await? {
                Some(ProofStep::Done(proof)) => return Ok(proof.faults.len()),
                Some(ProofStep::Behind) => {}
                None => break,
            }
        }
        let state = ledger_audit::read_proof_state(&self.shard).await?;
        Ok(state.faults.len())
    }
}

#[async_trait::async_trait]
impl Stage for RecoveryStage {
    fn name(&self) -> &'static str {
        "recovery"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        if now < self.stepped_at {
            (self.check_at, self.compare_at) = (now, now);
        }
        self.stepped_at = now;
        if now >= self.check_at || !self.is_compared() {
            self.check(now).await?;
            // Until the first comparison, the stages wait.
            self.check_at = if self.compare_at <= now {
                now
            } else {
                now + PAUSE_CHECK_INTERVAL
            };
        }
        Ok(StepResult::Idle)
    }
}
