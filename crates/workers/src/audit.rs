//! Audit: checks the ledger every minute, and reports faults as errors and as a metric.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::ledger_audit::{self, LedgerFault};

use crate::lease::Lease;
use crate::stage::{Stage, StepResult};

const AUDIT_INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// The pause after an audit is at least this many times its duration, so that audits take at most
/// a tenth of the time.
const PAUSE_FACTOR: u32 = 10;

#[derive(Debug)]
pub struct AuditStage {
    shard: Arc<Shard>,
    lease: Lease,
    due_at: Timestamp,
    window: AuditWindow,
    faults: Vec<LedgerFault>,
}

impl AuditStage {
    pub(crate) const fn new(shard: Arc<Shard>, lease: Lease) -> Self {
        Self {
            shard,
            lease,
            due_at: Timestamp::UNIX_EPOCH,
            window: AuditWindow::new(),
            faults: Vec::new(),
        }
    }

    /// The faults of this node's last audit. Empty when it was another node's turn.
    pub fn faults(&self) -> &[LedgerFault] {
        &self.faults
    }

    async fn run_audit(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let began = Instant::now();
        let (claim, since) = (self.lease.claim(), self.window.since(now));
        let faults = ledger_audit::check_recent_on_one_node(&self.shard, claim, since).await;
        self.due_at = now + next_pause(began.elapsed());
        let faults = faults.inspect_err(|_| self.window.record_failure())?;
        let looked = faults.is_some();
        self.faults = faults.unwrap_or_default();
        if looked {
            self.window.record_audit(&self.faults, now);
            let checked = "longshore_ledger_last_check_timestamp_seconds";
            metrics::gauge!(checked, "shard" => self.shard.name.to_string())
                .set((now - Timestamp::UNIX_EPOCH).as_seconds_f64());
        }
        self.report_faults();
        Ok(())
    }

    fn report_faults(&self) {
        for fault in &self.faults {
            tracing::error!(
                shard = %self.shard.name,
                identity = fault.invariant.as_str(),
                organization.id = fault.organization.map(tracing::field::display),
                posting = fault.posting,
                cargo.id = fault.cargo.map(tracing::field::display),
                expected = fault.expected,
                found = fault.found,
                "the ledger has a fault: run longshored admin ledger check --json"
            );
        }
        metrics::gauge!("longshore_ledger_faults", "shard" => self.shard.name.to_string())
            .set(u32::try_from(self.faults.len()).unwrap_or(u32::MAX));
    }
}

fn next_pause(took: Duration) -> TimeDelta {
    TimeDelta::from_std(took * PAUSE_FACTOR)
        .map_or(AuditWindow::MAX_LOOKBACK, |pause| pause.max(AUDIT_INTERVAL))
}

#[async_trait::async_trait]
impl Stage for AuditStage {
    fn name(&self) -> &'static str {
        "audit"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        if now >= self.due_at {
            self.run_audit(now).await?;
        }
        Ok(StepResult::Idle)
    }
}

/// How far back postings are checked.
#[derive(Debug)]
struct AuditWindow {
    /// Up to here no fault was found.
    clean_until: Timestamp,
    lookback: TimeDelta,
}

impl AuditWindow {
    /// Also the first one. A fault is reported until it is fixed or older than this.
    const MAX_LOOKBACK: TimeDelta = TimeDelta::days(1);
    const MIN_LOOKBACK: TimeDelta = TimeDelta::minutes(2);
    /// A posting gets its time before its commit.
    const COMMIT_OVERLAP: TimeDelta = TimeDelta::minutes(1);

    const fn new() -> Self {
        Self {
            clean_until: Timestamp::UNIX_EPOCH,
            lookback: Self::MAX_LOOKBACK,
        }
    }

    fn since(&self, now: Timestamp) -> Timestamp {
        (self.clean_until - Self::COMMIT_OVERLAP).max(now - self.lookback)
    }

    fn record_audit(&mut self, found: &[LedgerFault], now: Timestamp) {
        if found.is_empty() {
            self.clean_until = now;
            self.lookback = Self::MAX_LOOKBACK;
        }
    }

    /// Shortens the window: it may contain more postings than can be checked in the time allowed.
    fn record_failure(&mut self) {
        self.lookback = (self.lookback / 2).max(Self::MIN_LOOKBACK);
    }
}

#[cfg(test)]
mod tests {
    use store::shard::ledger_audit::LedgerInvariant;

    use super::*;

    const FAULT: LedgerFault = LedgerFault {
        invariant: LedgerInvariant::Held,
        organization: None,
        posting: None,
        cargo: None,
        expected: String::new(),
        found: String::new(),
    };

    fn moment(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::minutes(minutes)
    }

    #[test]
    fn a_fault_stays_in_sight_for_a_day() {
        let mut window = AuditWindow::new();
        assert_eq!(window.since(moment(0)), moment(-24 * 60));
        window.record_audit(&[], moment(0));
        assert_eq!(window.since(moment(1)), moment(-1));
        window.record_audit(&[FAULT], moment(1));
        assert_eq!(window.since(moment(100)), moment(-1));
        assert_eq!(window.since(moment(48 * 60)), moment(24 * 60));
        window.record_audit(&[], moment(48 * 60));
        assert_eq!(window.since(moment(48 * 60 + 1)), moment(48 * 60 - 1));
    }

    #[test]
    fn what_cannot_be_looked_at_in_time_is_looked_at_less_far_back() {
        let mut window = AuditWindow::new();
        window.record_failure();
        assert_eq!(window.since(moment(0)), moment(-12 * 60));
        for _ in 0..20 {
            window.record_failure();
        }
        assert_eq!(window.since(moment(0)), moment(-2));
        window.record_audit(&[], moment(0));
        window.record_audit(&[FAULT], moment(1));
        assert_eq!(window.since(moment(10)), moment(-1));
    }

    #[test]
    fn looking_takes_a_tenth_of_the_time_at_most() {
        assert_eq!(next_pause(Duration::from_secs(1)), AUDIT_INTERVAL);
        assert_eq!(next_pause(Duration::from_mins(1)), TimeDelta::minutes(10));
    }
}
