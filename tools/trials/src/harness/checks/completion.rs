//! After the faults: checks that every acknowledged cargo was completed and delivered.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use rand::seq::IteratorRandom as _;
use sqlx::PgPool;
use uuid::Uuid;

use crate::harness::build_profile;
use crate::harness::checks::ledger_audit::{self, TrialLedgerAudit};
use crate::harness::http::load_request;
use crate::harness::measurement::statistics;
use crate::harness::{
    ChaosCallers, FailureContext as _, LoadRecord, PollLimits, Result, TrialEnvironment,
    TrialVerdict, judge, report_progress,
};

const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How long the rows may take after the callbacks.
const ROW_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(30));
/// The number of cargo that are checked over HTTP; all are counted by SQL.
const TRACKING_SAMPLE: usize = 100;
const MAX_CONCURRENT_LOOKUPS: usize = 8;

#[derive(Debug)]
pub struct CompletionReport {
    pub loaded: usize,
    pub received: usize,
    /// Delivered according to the rows.
    pub delivered: usize,
    /// Of the sample, the cargo that tracking does not report as `callback_delivered`.
    pub mistracked: Vec<String>,
    /// The state of cargo that is not delivered, by shard.
    pub stuck: Vec<String>,
    /// Seconds from acknowledgement to callback.
    pub gaps: Vec<f64>,
    pub ledger_audit: TrialLedgerAudit,
}

/// Waits until the callback sink has every acknowledged cargo, then checks the service's state.
pub async fn wait_for_completion(
    environment: &TrialEnvironment,
    within: Duration,
) -> Result<CompletionReport> {
    wait_for_completion_tracking(environment, within, TRACKING_SAMPLE).await
}

/// The same, with `sample` cargo checked by tracking.
pub async fn wait_for_completion_tracking(
    environment: &TrialEnvironment,
    within: Duration,
    sample: usize,
) -> Result<CompletionReport> {
    let callers = &environment.callers;
    let loaded = callers.load_log.acknowledged();
    let begun = Instant::now();
    let limits = PollLimits::new(within, POLL_INTERVAL);
    let has_all = || count_received(callers, &loaded) >= loaded.len();
    limits.wait_until(has_all).await;
    let received = count_received(callers, &loaded);
    report_progress(format!("{received} of {} callbacks received", loaded.len()));
    // The callback arrives a moment before its row is updated.
    let left = (within + ROW_TIMEOUT).saturating_sub(begun.elapsed());
    let limits = PollLimits::new(left, POLL_INTERVAL);
    let count = async || count_delivered(environment, &loaded).await;
    let delivered = limits.read_until(|count| *count >= received, count).await?;
    let mistracked = find_mistracked(callers, &loaded, sample).await;
    let stuck = describe_stuck(environment, &loaded).await?;
    let gaps = callback_delays(callers, &loaded);
    let ledger_audit = ledger_audit::audit_environment(environment).await?;
    Ok(CompletionReport {
        loaded: loaded.len(),
        received,
        delivered,
        mistracked,
        stuck,
        gaps,
        ledger_audit,
    })
}

impl CompletionReport {
    /// The promises of every chaos trial.
    pub fn judge(&self, callers: &ChaosCallers, verdict: &mut TrialVerdict) {
        let receipts = &callers.receipts;
        let mut gaps = self.gaps.clone();
        let worst = statistics::percentile(&mut gaps, 1000);
        let lost = self
            .loaded
            .saturating_sub(self.received.min(self.delivered));
        judge! { verdict;
            record "loaded" => self.loaded,
            record "delivered" => self.delivered,
            record "duplicates" => receipts.count_duplicates(),
            record "lost" => lost,
            record "worst_gap_seconds" => worst.map(|worst| statistics::round_to(worst, 2)),
            record "gap_seconds" => statistics::summarize(&mut gaps),
            record "unsuccessful" => receipts.count_unsuccessful(),
            record "not_acknowledged" => callers.load_log.failures_by_reason(),
        }
        if !self.stuck.is_empty() {
            verdict.record("stuck", self.stuck.clone());
        }
        verdict
            .check("something was loaded", self.loaded > 0)
            .check("every acknowledged cargo is delivered", lost == 0)
            .check_none(
                "tracking reports callback_delivered",
                "mistracked",
                &self.mistracked,
            )
            .check(
                "no outcome failed because of the faults",
                receipts.count_unsuccessful() == 0,
            )
            .check(
                "every callback has the contract's form",
                receipts.count_malformed() == 0,
            );
        self.ledger_audit.judge(verdict);
    }
}

fn count_received(callers: &ChaosCallers, loaded: &HashMap<u128, LoadRecord>) -> usize {
    loaded
        .keys()
        .filter(|cargo| callers.receipts.find(**cargo).is_some())
        .count()
}

/// Seconds from acknowledgement to first callback.
fn callback_delays(callers: &ChaosCallers, loaded: &HashMap<u128, LoadRecord>) -> Vec<f64> {
    let gaps = loaded.iter().filter_map(|(cargo, loaded)| {
        let receipt = callers.receipts.find(*cargo)?;
        Some(
            receipt
                .first_at
                .saturating_duration_since(loaded.ended_at())
                .as_secs_f64(),
        )
    });
    gaps.collect()
}

/// The acknowledged cargo of one shard.
fn cargo_on_shard<'a>(
    environment: &TrialEnvironment,
    name: &str,
    loaded: impl IntoIterator<Item = (&'a u128, &'a LoadRecord)>,
) -> Vec<Uuid> {
    let here = loaded.into_iter().filter(|(_, loaded)| {
        let organization = environment
            .callers
            .organizations
            .get(loaded.source.organization);
        organization.is_some_and(|organization| organization.shard == name)
    });
    here.map(|(cargo, _)| Uuid::from_u128(*cargo)).collect()
}

async fn count_delivered(
    environment: &TrialEnvironment,
    loaded: &HashMap<u128, LoadRecord>,
) -> Result<usize> {
    let mut delivered = 0;
    for (name, pool) in &environment.shards {
        for some in cargo_on_shard(environment, name, loaded).chunks(10_000) {
            delivered += count_delivered_among(pool, some).await?;
        }
    }
    Ok(delivered)
}

async fn count_delivered_among(pool: &PgPool, cargo: &[Uuid]) -> Result<usize> {
    let query = "select count(*) from shard.cargo
        where id = any($1) and completed_at is not null and callback_state = 'delivered'";
    let counted: i64 = sqlx::query_scalar(query)
        .bind(cargo)
        .fetch_one(pool)
        .await
        .context("counting delivered cargo")?;
    Ok(usize::try_from(counted).unwrap_or_default())
}

/// Describes how far undelivered cargo has come and which node holds it.
async fn describe_stuck(
    environment: &TrialEnvironment,
    loaded: &HashMap<u128, LoadRecord>,
) -> Result<Vec<String>> {
    let query = "
        select format('%s: %s', count(*), how) from (
            select concat_ws(', ',
                case when cargo.id is null then 'not stored'
                    when cargo.completed_at is null then 'open' else 'completed' end,
                case when waiting.cargo is not null then 'waiting' end,
                'batch ' || batch.state
                    || case when batch.node is null then ' free' else ' claimed' end,
                case when delivery.cargo is not null then 'delivery '
                    || case when delivery.node is null then 'free' else 'claimed' end end,
                case when node.dead_at is null then 'by a live node' else 'by a dead node' end) as how
            from unnest($1) requested
            left join shard.cargo on cargo.id = requested
            left join shard.waiting on waiting.cargo = requested
            left join shard.batch on batch.id = cargo.batch
            left join shard.delivery on delivery.cargo = requested
            left join shard.node on node.node = coalesce(delivery.node, batch.node)
            where cargo.callback_state is distinct from 'delivered') stuck
        group by how order by count(*) desc";
    let mut stuck = Vec::new();
    for (name, pool) in &environment.shards {
        for some in cargo_on_shard(environment, name, loaded).chunks(10_000) {
            let query = sqlx::query_scalar::<_, String>(query).bind(some);
            let rows = query.fetch_all(pool).await.context("reading stuck cargo")?;
            stuck.extend(rows.into_iter().map(|row| format!("{name}: {row}")));
        }
    }
    Ok(stuck)
}

async fn find_mistracked(
    callers: &ChaosCallers,
    loaded: &HashMap<u128, LoadRecord>,
    sample: usize,
) -> Vec<String> {
    let sample = loaded.iter().sample(&mut rand::rng(), sample);
    let asking = sample.into_iter().map(|(cargo, loaded)| async move {
        let status = fetch_tracking_status(callers, *cargo, loaded).await;
        (status != "\"callback_delivered\"").then(|| format!("crg_{cargo:032x}: {status}"))
    });
    let asking = stream::iter(asking).buffer_unordered(MAX_CONCURRENT_LOOKUPS);
    asking.filter_map(std::future::ready).collect().await
}

/// The status that tracking reports for one cargo.
async fn fetch_tracking_status(callers: &ChaosCallers, cargo: u128, loaded: &LoadRecord) -> String {
    let organization = callers.organizations.get(loaded.source.organization);
    // A trial may have stopped some processes for good.
    let running = callers.clients.iter().filter(|it| it.is_admitted());
    let running: Vec<_> = running.collect();
    let place = usize::try_from(cargo & 0xff).unwrap_or_default() % running.len().max(1);
    let Some((organization, target)) = organization.zip(running.get(place)) else {
        return "not requested".to_owned();
    };
    let request = load_request::get(&load_request::tracking_path(cargo), organization);
    match target.send_repeatedly(request).await {
        Ok(answer) => match answer.json().get("status") {
            Some(status) if answer.is_success() => status.to_string(),
            _ => answer.status.to_string(),
        },
        Err(error) => error.to_string(),
    }
}
