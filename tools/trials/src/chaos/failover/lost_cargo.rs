//! After a failover to an asynchronous standby: counts acknowledged cargo that is lost, and checks
//! the rest.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sqlx::PgPool;
use uuid::Uuid;

use crate::harness::checks::ledger_audit::{self, TrialLedgerAudit};
use crate::harness::measurement::statistics;
use crate::harness::{
    FailureContext as _, LoadRecord, PollLimits, Result, TrialEnvironment, TrialVerdict, judge,
    report_progress,
};

const POLL_INTERVAL: Duration = Duration::from_millis(200);
const IDS_PER_QUERY: usize = 10_000;

/// What is left of the acknowledged cargo.
#[derive(Debug)]
pub struct RemainingCargo {
    acknowledged: usize,
    lost: usize,
    /// Lost cargo whose callback was sent before.
    lost_after_callback: usize,
    without_callback: usize,
    duplicates: u64,
    ledger_audit: TrialLedgerAudit,
}

/// Waits until all cargo that is stored was called back.
pub async fn wait_for_what_is_left(
    environment: &TrialEnvironment,
    within: Duration,
) -> Result<RemainingCargo> {
    let acknowledged = environment.callers.load_log.acknowledged();
    let receipts = &environment.callers.receipts;
    let lost = find_lost(environment.first_shard()?, &acknowledged).await?;
    report_progress(format!(
        "{} of {} cargo are lost",
        lost.len(),
        acknowledged.len()
    ));
    let stored = || acknowledged.keys().filter(|cargo| !lost.contains(cargo));
    let count_missing = || stored().filter(|it| receipts.find(**it).is_none()).count();
    let limits = PollLimits::new(within, POLL_INTERVAL);
    limits.wait_until(|| count_missing() == 0).await;
    Ok(RemainingCargo {
        acknowledged: acknowledged.len(),
        lost: lost.len(),
        lost_after_callback: lost
            .iter()
            .filter(|it| receipts.find(**it).is_some())
            .count(),
        without_callback: count_missing(),
        duplicates: receipts.count_duplicates(),
        ledger_audit: ledger_audit::audit_environment(environment).await?,
    })
}

impl RemainingCargo {
    pub fn judge(&self, verdict: &mut TrialVerdict) {
        let share = statistics::to_f64(self.lost) / statistics::to_f64(self.acknowledged.max(1));
        judge! { verdict;
            record "loaded" => self.acknowledged,
            record "lost" => self.lost,
            record "lost_percent" => statistics::round_to(share * 100.0, 3),
            record "lost_after_callback" => self.lost_after_callback,
            record "duplicates" => self.duplicates,
            record "without_callback" => self.without_callback,
            check "something was loaded" => self.acknowledged > 0,
            check "all cargo that is stored is called back" => self.without_callback == 0,
        }
        self.ledger_audit.judge_ledger(verdict);
    }
}

async fn find_lost(
    pool: &PgPool,
    acknowledged: &HashMap<u128, LoadRecord>,
) -> Result<HashSet<u128>> {
    let query = "select id from unnest($1) wanted (id)
        where not exists (select from shard.cargo where cargo.id = wanted.id)";
    let ids: Vec<Uuid> = acknowledged.keys().copied().map(Uuid::from_u128).collect();
    let mut lost = HashSet::new();
    for some in ids.chunks(IDS_PER_QUERY) {
        let found: Vec<Uuid> = sqlx::query_scalar(query)
            .bind(some)
            .fetch_all(pool)
            .await
            .context("looking for lost cargo")?;
        lost.extend(found.iter().map(Uuid::as_u128));
    }
    Ok(lost)
}
