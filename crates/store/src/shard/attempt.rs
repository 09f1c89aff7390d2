//! The log of callback attempts, and what each attempt changes.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::callback_health::{self, CallbackAttemptResult, CallbackTallyKey, LatencyBucket};
use domain::id::{CargoId, GroupId, ProjectId};
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use domain::usage::{UsageAmounts, UsageEvent, UsageKey, UsageTally};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::attempt::group_attempt::record_group_attempt;
use crate::shard::attempt::log::log;
use crate::shard::attempt::transitions::{
    CallbackEnd, close_resend, end_callback, record_redelivery, schedule_retry,
};
use crate::shard::cargo_erasure;
use crate::shard::failure_index::{self, FailureKind, NewFailures};
use crate::shard::feed::NewFeedEntry;
use crate::shard::node::Claim;
use crate::shard::project_keys::write_keys_within_limit;
use crate::shard::usage;

mod transitions;

mod group_attempt;

mod log;

mod fallback;

pub use fallback::{FallbackResult, record_with_fallback};

const DELIVERED: CallbackEnd = CallbackEnd {
    state: "delivered",
    event: UsageEvent::Delivered,
};
const FAILED: CallbackEnd = CallbackEnd {
    state: "failed",
    event: UsageEvent::CallbackFailed,
};

/// An attempt that ended.
#[derive(Debug, Clone)]
pub struct EndedAttempt {
    /// The id of the delivery.
    pub cargo: CargoId,
    /// The group whose callback it is. None: it is that of a cargo.
    pub group: Option<GroupId>,
    /// None if no POST was made: then there is no answer.
    pub project: Option<ProjectId>,
    pub number: u32,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// From the first byte to the last, without the time until it was recorded.
    pub duration: Duration,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub answer: Vec<u8>,
    pub result: AttemptResult,
    /// The span of the load, if the cargo is traced; not stored.
    pub trace: Option<TraceContext>,
}

/// The result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AttemptResult {
    Delivered,
    Retry {
        due_at: Timestamp,
    },
    Failed,
    /// A resend that the receiver acknowledged.
    Redelivered,
    /// A resend that failed. The state of the callback does not change.
    ResendFailed,
}

impl AttemptResult {
    const fn is_resend(self) -> bool {
        matches!(self, Self::Redelivered | Self::ResendFailed)
    }

    const fn is_delivered(self) -> bool {
        matches!(self, Self::Delivered | Self::Redelivered)
    }

    /// Whether the callback was delivered or has failed for good.
    const fn ends_callback(self) -> bool {
        matches!(self, Self::Delivered | Self::Failed | Self::Redelivered)
    }
}

/// A callback whose attempt this claim has ended.
struct RecordedCallback {
    cargo: Uuid,
    project: Uuid,
    host: String,
    /// What to count, if the state of the callback has changed.
    usage_key: Option<UsageKey>,
    /// Whether its cargo is erased when it is acknowledged.
    has_zero_retention: bool,
}

/// Whether attempts are written to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttemptLog {
    Write,
    Skip,
}

/// Records attempts. Those whose claim was lost are skipped: another node repeats them.
pub async fn record(
    shard: &Shard,
    claim: Claim,
    ended: &[EndedAttempt],
    now: Timestamp,
) -> Result<u64, Error> {
    write(shard, claim, ended, AttemptLog::Write, now).await
}

async fn write(
    shard: &Shard,
    claim: Claim,
    ended: &[EndedAttempt],
    rows: AttemptLog,
    now: Timestamp,
) -> Result<u64, Error> {
    let (of_groups, ended): (Vec<&EndedAttempt>, Vec<&EndedAttempt>) =
        ended.iter().partition(|attempt| attempt.group.is_some());
    let answered = ended.iter().filter(|attempt| !attempt.answer.is_empty());
    let values = answered.filter_map(|attempt| Some((attempt.project?, 1)));
    let keys = write_keys_within_limit(shard, values).await?;
    let mut tx = shard.begin().await?;
    let mut ours: HashMap<Uuid, RecordedCallback> = HashMap::with_capacity(ended.len());
    let mut changes = Changes::default();
    for (verdict, cargo) in group_by_result(&ended) {
        let called = match verdict {
            AttemptResult::Retry { due_at } => {
                schedule_retry(&mut tx, claim, &cargo, due_at).await?
            }
            AttemptResult::Delivered => {
                end_callback(&mut tx, claim, &cargo, DELIVERED, now).await?
            }
            AttemptResult::Failed => end_callback(&mut tx, claim, &cargo, FAILED, now).await?,
            AttemptResult::Redelivered => record_redelivery(&mut tx, claim, &cargo, now).await?,
            AttemptResult::ResendFailed => close_resend(&mut tx, claim, &cargo).await?,
        };
        for called in called {
            changes.add(verdict, &called);
            ours.insert(called.cargo, called);
        }
    }
    let mut health = callback_health::CallbackTally::default();
    let mut logged = Vec::with_capacity(ours.len());
    for attempt in ended {
        if let Some(called) = ours.get(&attempt.cargo.uuid()) {
            health.count(attempt.health_sample(called));
            logged.push(attempt);
        }
    }
    if rows == AttemptLog::Write {
        log(&mut tx, &logged, &keys, &health, now).await?;
    }
    changes.write(&mut tx, now).await?;
    let mut recorded = u64::try_from(ours.len()).unwrap_or_default();
    for attempt in of_groups {
        recorded += u64::from(record_group_attempt(&mut tx, claim, attempt).await?);
    }
    tx.commit().await?;
    Ok(recorded)
}

/// Cargo with the same result is updated in one statement.
fn group_by_result(ended: &[&EndedAttempt]) -> BTreeMap<AttemptResult, Vec<Uuid>> {
    let mut alike: BTreeMap<AttemptResult, Vec<Uuid>> = BTreeMap::new();
    for attempt in ended {
        let cargo = alike.entry(attempt.result).or_default();
        cargo.push(attempt.cargo.uuid());
    }
    alike
}

impl EndedAttempt {
    fn health_sample(&self, called: &RecordedCallback) -> CallbackTallyKey {
        CallbackTallyKey {
            project: called.project.into(),
            host: called.host.clone(),
            result: CallbackAttemptResult::of(self.status, self.result.is_delivered()),
            latency: LatencyBucket::of(self.duration),
        }
    }
}

/// What the attempts of a group change besides their rows.
#[derive(Default)]
struct Changes {
    tally: UsageTally,
    failures: NewFailures,
    redelivered: Vec<(Uuid, Uuid)>,
    /// Cargo under zero retention whose callback was acknowledged.
    to_erase: Vec<Uuid>,
    /// Cargo whose callback ended.
    feed: NewFeedEntry,
}

impl Changes {
    fn add(&mut self, verdict: AttemptResult, called: &RecordedCallback) {
        if verdict.is_delivered() && called.has_zero_retention {
            self.to_erase.push(called.cargo);
        }
        if verdict.ends_callback() {
            self.feed.add(called.cargo, None);
        }
        let Some(what) = &called.usage_key else {
            return;
        };
        self.tally.count(what.clone(), UsageAmounts::default());
        match verdict {
            AttemptResult::Failed => {
                let (project, host) = (called.project, called.host.clone());
                self.failures.add(project, called.cargo, host);
            }
            AttemptResult::Redelivered => self.redelivered.push((called.project, called.cargo)),
            AttemptResult::Delivered
            | AttemptResult::Retry { .. }
            | AttemptResult::ResendFailed => {}
        }
    }

    async fn write(self, tx: &mut Transaction, now: Timestamp) -> Result<(), Error> {
        usage::append(tx, &self.tally, &[], now).await?;
        self.failures
            .insert(tx, FailureKind::CallbackFailed)
            .await?;
        failure_index::delete_callback_failures(tx, &self.redelivered).await?;
        // After the log, so that the attempts of this transaction are erased too.
        cargo_erasure::erase(tx, &self.to_erase, now).await?;
        self.feed.append(tx).await
    }
}
