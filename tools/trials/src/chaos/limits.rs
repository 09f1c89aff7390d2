//! Rate limits: two processes, one Redis, and more loads at once than a plan allows.

pub mod load_burst;
pub mod retry_after;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chaos::limits::load_burst::{LoadBurst, run_load_burst};
use crate::chaos::limits::retry_after::RetryAfterWaits;
use crate::chaos::process_pair::ProcessPair;
use crate::harness::longshored::org_setup;
use crate::harness::measurement::statistics;
use crate::harness::{
    BaseEnvironment, DatabaseLayout, FREE_MODEL, LoadRequests, LongshoredProgram, Result, SHARD,
    TrialOrganization, TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosLimitsOptions, CommonOptions};

/// The time of the limiter's frozen clock.
const FROZEN_CLOCK_MICROSECONDS: &str = "1800000000000000";
/// Long enough for any machine: this trial tests the buckets in Redis.
const BUDGET_MILLISECONDS: &str = "20000";
/// How long loads continue while the clock ticks, so that the bucket is refilled.
const REFILL_MEASUREMENT: Duration = Duration::from_secs(3);
const MAX_UNUSED_TOKENS: f64 = 2.0;
/// This trial delivers no callbacks.
const UNUSED_CALLBACK_URL: &str = "http://127.0.0.1:9/hook";

/// The limits of a plan in the contract, and how many loads are sent at once.
#[derive(Debug, Clone, Copy)]
struct PlanUnderTest {
    name: &'static str,
    burst: usize,
    per_minute: f64,
    loads: u64,
}

const PLANS: [PlanUnderTest; 3] = [
    PlanUnderTest {
        name: "free",
        burst: 100,
        per_minute: 30.0,
        loads: 1000,
    },
    PlanUnderTest {
        name: "starter",
        burst: 1000,
        per_minute: 120.0,
        loads: 2000,
    },
    PlanUnderTest {
        name: "pro",
        burst: 5000,
        per_minute: 600.0,
        loads: 6000,
    },
];

#[derive(Debug, Clone, Copy)]
enum ClockMode {
    Frozen,
    Ticking,
}

struct LimitsTrial<'a> {
    longshored: &'a LongshoredProgram,
    loads: Arc<LoadRequests>,
    verdict: TrialVerdict,
}

pub async fn run(common: &CommonOptions, options: &ChaosLimitsOptions) -> Result<TrialVerdict> {
    let environment = BaseEnvironment::build_for_chaos(common, DatabaseLayout::SingleShard).await?;
    let mut longshored = environment.longshored.clone();
    longshored.set("REDIS_BUDGET_MILLISECONDS", BUDGET_MILLISECONDS);
    let mut trial = LimitsTrial {
        longshored: &longshored,
        loads: Arc::new(LoadRequests::new(UNUSED_CALLBACK_URL, &[FREE_MODEL])),
        verdict: TrialVerdict::new("chaos limits"),
    };
    let mut still = longshored.clone();
    still.set("LIMITER_CLOCK_MICROSECONDS", FROZEN_CLOCK_MICROSECONDS);
    let pair = Arc::new(ProcessPair::start(&still, "still").await?);
    for round in 1..=options.rounds {
        for plan in PLANS {
            trial.measure_with_frozen_clock(&pair, plan, round).await?;
        }
    }
    trial.expect_no_fallback(&pair, "still").await?;
    drop(pair);

    let pair = Arc::new(ProcessPair::start(&longshored, "ticking").await?);
    let mut emptied = None;
    for round in 1..=options.rounds {
        for plan in PLANS.into_iter().filter(|plan| plan.name != "pro") {
            let organization = trial.measure_with_ticking_clock(&pair, plan, round).await?;
            if plan.name == "free" {
                emptied = Some(organization);
            }
        }
    }
    if let Some(organization) = &emptied {
        report_progress("waiting for Retry-After");
        let waits =
            retry_after::measure_waits(&pair, &trial.loads, organization, options.waits).await?;
        judge(&mut trial.verdict, &waits, options.waits);
    }
    trial.expect_no_fallback(&pair, "ticking").await?;
    let keys = environment.redis.count_keys().await?;
    trial
        .verdict
        .record("redis_keys", keys)
        .check("Redis holds the buckets", keys > 0);
    Ok(trial.verdict)
}

impl LimitsTrial<'_> {
    /// A frozen clock refills nothing, so exactly the burst is accepted.
    async fn measure_with_frozen_clock(
        &mut self,
        pair: &Arc<ProcessPair>,
        plan: PlanUnderTest,
        round: u32,
    ) -> Result<()> {
        let (_, seen) = self.run_burst(pair, plan, ClockMode::Frozen, round).await?;
        let name = plan.name;
        judge! { self.verdict;
            record &format!("still_{name}_{round}") => burst_to_json(&seen, plan),
            check format!("{name} accepts exactly its burst (round {round})") =>
                (seen.accepted..=seen.accepted + seen.unavailable).contains(&plan.burst)
                    && seen.only_expected,
            check_figure format!("{name} answers no load with 503 (round {round})") =>
                seen.unavailable == 0,
        }
        Ok(())
    }

    /// Accepts the burst and the tokens that are refilled meanwhile.
    async fn measure_with_ticking_clock(
        &mut self,
        pair: &Arc<ProcessPair>,
        plan: PlanUnderTest,
        round: u32,
    ) -> Result<TrialOrganization> {
        let (organization, seen) = self
            .run_burst(pair, plan, ClockMode::Ticking, round)
            .await?;
        let beyond = statistics::to_f64(seen.accepted) - statistics::to_f64(plan.burst);
        let most = refilled_tokens(plan, seen.elapsed);
        // The last tokens may arrive after the last load.
        let least = (most - MAX_UNUSED_TOKENS).max(0.0);
        let name = plan.name;
        judge! { self.verdict;
            record &format!("ticking_{name}_{round}") => burst_to_json(&seen, plan),
            check format!("{name} accepts at most its burst and the refill (round {round})") =>
                beyond <= most && seen.only_expected,
            check_figure format!("{name} accepts its burst and the refill (round {round})") =>
                beyond >= least && seen.unavailable == 0,
        }
        Ok(organization)
    }

    async fn run_burst(
        &self,
        pair: &Arc<ProcessPair>,
        plan: PlanUnderTest,
        clock: ClockMode,
        round: u32,
    ) -> Result<(TrialOrganization, LoadBurst)> {
        let (clock, at_least) = match clock {
            ClockMode::Frozen => ("still", Duration::ZERO),
            ClockMode::Ticking => ("ticking", REFILL_MEASUREMENT),
        };
        let name = format!("{clock} {} {round}", plan.name);
        let organization =
            org_setup::create_organization(self.longshored, &name, plan.name, SHARD).await?;
        let seen = run_load_burst(pair, &self.loads, &organization, plan.loads, at_least).await?;
        report_progress(format!(
            "{name}: {} of {} accepted in {:.1} s",
            seen.accepted,
            seen.accepted + seen.refused,
            seen.elapsed.as_secs_f64()
        ));
        Ok((organization, seen))
    }

    async fn expect_no_fallback(&mut self, pair: &ProcessPair, clock: &str) -> Result<()> {
        let fallbacks = pair.count_fallbacks().await?;
        judge! { self.verdict;
            record &format!("{clock}_fallbacks") => fallbacks,
            check format!("Redis decided every load with a {clock} clock") => fallbacks == 0.0,
        }
        Ok(())
    }
}

fn judge(verdict: &mut TrialVerdict, waits: &RetryAfterWaits, wanted: u32) {
    judge! { verdict;
        record "waits" => waits.measured,
        record "accepted_after_retry_after" => waits.accepted,
        record "accepted_a_second_earlier" => waits.accepted_early,
        check "a wait was measured" => waits.measured > 0,
        check_figure "every wait was measured" => waits.measured == wanted,
        check "a caller that waits for Retry-After is accepted" => waits.accepted == waits.measured,
        check "no caller is accepted one second earlier" => waits.accepted_early == 0,
    }
}

fn burst_to_json(seen: &LoadBurst, plan: PlanUnderTest) -> Value {
    json!({
        "accepted": seen.accepted,
        "refused": seen.refused,
        "others": seen.others,
        "seconds": statistics::round_to(seen.elapsed.as_secs_f64(), 2),
        "refilled_at_most": statistics::round_to(refilled_tokens(plan, seen.elapsed), 2),
    })
}

fn refilled_tokens(plan: PlanUnderTest, during: Duration) -> f64 {
    plan.per_minute / 60.0 * during.as_secs_f64()
}
