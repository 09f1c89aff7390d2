//! Audit: proves every minute what changed in the ledger, and reports faults as errors and as a
//! metric. In between it reads all kept rows again, slowly.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::ledger_audit::{self, LedgerFault, LedgerProof, PassStep, ProofStep};

use crate::lease::Lease;
use crate::stage::{Stage, StepResult};

const AUDIT_INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// The pause after a proof, or after a slice of a pass, is at least this many times its duration.
const PAUSE_FACTOR: u32 = 10;
/// Also after a slow audit.
const MAX_PAUSE: TimeDelta = TimeDelta::days(1);
/// How many slices of the first pass one step reads. Without a finished pass, the sums of accounts
/// cannot be compared, so the first one does not pause.
const MAX_SLICES_PER_STEP: usize = 10;

#[derive(Debug)]
pub struct AuditStage {
    shard: Arc<Shard>,
    lease: Lease,
    due_at: Timestamp,
    /// When the next slice of the pass is read.
    slice_due_at: Timestamp,
    faults: Vec<LedgerFault>,
}

impl AuditStage {
    pub(crate) const fn new(shard: Arc<Shard>, lease: Lease) -> Self {
        Self {
            shard,
            lease,
            due_at: Timestamp::UNIX_EPOCH,
            slice_due_at: Timestamp::UNIX_EPOCH,
            faults: Vec::new(),
        }
    }

    /// The faults of this node's last proof. Empty when it was another node's turn.
    pub fn faults(&self) -> &[LedgerFault] {
        &self.faults
    }

    /// Proves what changed. The first proofs of a shard also read its first pass.
    async fn prove(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let began = Instant::now();
        self.due_at = now + AUDIT_INTERVAL;
        for _ in 0..MAX_SLICES_PER_STEP {
            let claim = Some(self.lease.claim());
            match ledger_audit::prove_changes(&self.shard, claim, now).await? {
                None => {
                    self.report(Vec::new());
                    return Ok(StepResult::Idle);
                }
                Some(ProofStep::Behind) => {}
                Some(ProofStep::Done(proof)) => {
                    let is_first = proof.read_since.is_none();
                    self.record(proof, now);
                    if !is_first {
                        self.due_at = now + next_pause(began.elapsed()).max(AUDIT_INTERVAL);
                        return Ok(StepResult::Idle);
                    }
                    self.read_slice(now).await?;
                }
            }
        }
        self.due_at = now;
        Ok(StepResult::Processed(MAX_SLICES_PER_STEP))
    }

    async fn read_slice(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let began = Instant::now();
        let claim = Some(self.lease.claim());
        self.slice_due_at = now + AUDIT_INTERVAL;
        match ledger_audit::continue_pass(&self.shard, claim, now).await? {
            None => return Ok(StepResult::Idle),
            Some(PassStep::NotDue(until)) => {
                self.slice_due_at = until.min(now + AUDIT_INTERVAL);
                return Ok(StepResult::Idle);
            }
            Some(PassStep::Read) => self.slice_due_at = now + next_pause(began.elapsed()),
            Some(PassStep::Finished) => self.due_at = now,
        }
        Ok(StepResult::Processed(1))
    }

    fn record(&mut self, proof: LedgerProof, now: Timestamp) {
        if let Some(read_since) = proof.read_since {
            let shard = self.shard.name.to_string();
            metrics::gauge!("longshore_ledger_last_check_timestamp_seconds", "shard" => shard.clone())
                .set(unix_seconds(now));
            metrics::gauge!("longshore_ledger_oldest_proof_timestamp_seconds", "shard" => shard)
                .set(unix_seconds(read_since));
        }
        self.report(proof.faults);
    }

    /// Logs each fault once; the metric stays until it is fixed.
    fn report(&mut self, faults: Vec<LedgerFault>) {
        let new = faults.iter().filter(|fault| !self.is_known(fault));
        for fault in new {
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
        self.faults = faults;
        metrics::gauge!("longshore_ledger_faults", "shard" => self.shard.name.to_string())
            .set(u32::try_from(self.faults.len()).unwrap_or(u32::MAX));
    }

    /// Whether the proof before found it. Its amounts change with traffic.
    fn is_known(&self, fault: &LedgerFault) -> bool {
        self.faults.iter().any(|known| {
            (
                known.invariant,
                known.organization,
                known.posting,
                known.cargo,
            ) == (
                fault.invariant,
                fault.organization,
                fault.posting,
                fault.cargo,
            )
        })
    }
}

fn unix_seconds(at: Timestamp) -> f64 {
    (at - Timestamp::UNIX_EPOCH).as_seconds_f64()
}

fn next_pause(took: Duration) -> TimeDelta {
    let pause = TimeDelta::from_std(took * PAUSE_FACTOR);
    pause.map_or(MAX_PAUSE, |pause| pause.min(MAX_PAUSE))
}

#[async_trait::async_trait]
impl Stage for AuditStage {
    fn name(&self) -> &'static str {
        "audit"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        if now >= self.due_at {
            let went = self.prove(now).await;
            if went.is_err() {
                self.slice_due_at = self.due_at;
            }
            return went;
        }
        if now >= self.slice_due_at {
            return self.read_slice(now).await;
        }
        Ok(StepResult::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_takes_a_tenth_of_the_time_at_most() {
        assert_eq!(next_pause(Duration::ZERO), TimeDelta::zero());
        assert_eq!(next_pause(Duration::from_secs(1)), TimeDelta::seconds(10));
        assert_eq!(next_pause(Duration::MAX / 20), MAX_PAUSE);
    }
}
