//! Two processes, one Redis, and more loads at once than a plan allows.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::catalogue::FREE;
use crate::chaos::lone::{self, CallbackLatency};
use crate::chaos::pair::Pair;
use crate::chaos::rush::{Rush, rush};
use crate::failure::Result;
use crate::figures;
use crate::options::{Common, LimitsOptions};
use crate::organization::Organization;
use crate::process::Longshored;
use crate::progress::say;
use crate::request::Loads;
use crate::setup;
use crate::stand::{CHAOS_MEMORY, SHARD, Stand};
use crate::verdict::Verdict;

/// The moment at which the limiter's clock stands, in microseconds.
const STILL: &str = "1800000000000000";
/// So long that no machine is too slow for it: here the buckets in Redis are on trial.
const BUDGET_MILLISECONDS: &str = "2000";
/// How long loads go on while the clock ticks, so that something is refilled.
const REFILLING: Duration = Duration::from_secs(3);
const LATE_TOKENS: f64 = 2.0;
/// Nobody delivers in this trial.
const NOWHERE: &str = "http://127.0.0.1:9/hook";

/// What the contract says of a plan, and how many loads are sent at once.
#[derive(Debug, Clone, Copy)]
struct Plan {
    name: &'static str,
    burst: u64,
    per_minute: f64,
    loads: u64,
}

const PLANS: [Plan; 3] = [
    Plan {
        name: "free",
        burst: 100,
        per_minute: 30.0,
        loads: 1000,
    },
    Plan {
        name: "starter",
        burst: 1000,
        per_minute: 120.0,
        loads: 2000,
    },
    Plan {
        name: "pro",
        burst: 5000,
        per_minute: 600.0,
        loads: 6000,
    },
];

#[derive(Debug, Clone, Copy)]
enum Clock {
    Still,
    Ticking,
}

/// What every step needs.
struct Trial<'a> {
    longshored: &'a Longshored,
    loads: Arc<Loads>,
    verdict: Verdict,
}

pub async fn run(common: &Common, options: &LimitsOptions) -> Result<Verdict> {
    let stand = Stand::build(common, CHAOS_MEMORY).await?;
    let mut longshored = stand.longshored.clone();
    longshored.set("REDIS_BUDGET_MILLISECONDS", BUDGET_MILLISECONDS);
    let mut trial = Trial {
        longshored: &longshored,
        loads: Arc::new(Loads::new(NOWHERE, &[FREE])),
        verdict: Verdict::new("chaos limits"),
    };
    let mut still = longshored.clone();
    still.set("LIMITER_CLOCK_MICROSECONDS", STILL);
    let pair = Arc::new(Pair::start(&still, "still").await?);
    for round in 1..=options.rounds {
        for plan in PLANS {
            trial.at_a_still_clock(&pair, plan, round).await?;
        }
    }
    trial.expect_no_fallback(&pair, "still").await?;
    drop(pair);

    let pair = Arc::new(Pair::start(&longshored, "ticking").await?);
    let mut emptied = None;
    for round in 1..=options.rounds {
        for plan in PLANS.into_iter().filter(|plan| plan.name != "pro") {
            let organization = trial.at_a_ticking_clock(&pair, plan, round).await?;
            if plan.name == "free" {
                emptied = Some(organization);
            }
        }
    }
    if let Some(organization) = &emptied {
        say("waiting for Retry-After");
        let waits = lone::wait(&pair, &trial.loads, organization, options.waits).await?;
        judge(&mut trial.verdict, &waits, options.waits);
    }
    trial.expect_no_fallback(&pair, "ticking").await?;
    let keys = stand.redis.keys().await?;
    trial
        .verdict
        .note("redis_keys", keys)
        .promise("Redis holds the buckets", keys > 0);
    Ok(trial.verdict)
}

impl Trial<'_> {
    /// Nothing is refilled, so exactly the burst is accepted.
    async fn at_a_still_clock(&mut self, pair: &Arc<Pair>, plan: Plan, round: u32) -> Result<()> {
        let (_, seen) = self.rushed(pair, plan, Clock::Still, round).await?;
        let name = plan.name;
        self.verdict
            .note(&format!("still_{name}_{round}"), figures_of(&seen, plan))
            .promise(
                format!("{name} accepts exactly its burst (round {round})"),
                seen.accepted == plan.burst && seen.others.is_empty(),
            );
        Ok(())
    }

    /// The burst, and what is refilled meanwhile.
    async fn at_a_ticking_clock(
        &mut self,
        pair: &Arc<Pair>,
        plan: Plan,
        round: u32,
    ) -> Result<Organization> {
        let (organization, seen) = self.rushed(pair, plan, Clock::Ticking, round).await?;
        let beyond = count(seen.accepted) - count(plan.burst);
        let most = refill(plan, seen.elapsed);
        // A token may come when nobody asks any more.
        let least = (most - LATE_TOKENS).max(0.0);
        let name = plan.name;
        self.verdict
            .note(&format!("ticking_{name}_{round}"), figures_of(&seen, plan))
            .promise(
                format!("{name} accepts its burst and the refill (round {round})"),
                (least..=most).contains(&beyond) && seen.others.is_empty(),
            );
        Ok(organization)
    }

    async fn rushed(
        &self,
        pair: &Arc<Pair>,
        plan: Plan,
        clock: Clock,
        round: u32,
    ) -> Result<(Organization, Rush)> {
        let (clock, at_least) = match clock {
            Clock::Still => ("still", Duration::ZERO),
            Clock::Ticking => ("ticking", REFILLING),
        };
        let name = format!("{clock} {} {round}", plan.name);
        let organization = setup::organization(self.longshored, &name, plan.name, SHARD).await?;
        let seen = rush(pair, &self.loads, &organization, (plan.loads, at_least)).await?;
        let Rush {
            accepted, elapsed, ..
        } = &seen;
        say(format!(
            "{name}: {accepted} of {} accepted in {:.1} s",
            seen.accepted + seen.refused,
            elapsed.as_secs_f64()
        ));
        Ok((organization, seen))
    }

    async fn expect_no_fallback(&mut self, pair: &Pair, clock: &str) -> Result<()> {
        let fallbacks = pair.fallbacks().await?;
        self.verdict
            .note(&format!("{clock}_fallbacks"), fallbacks)
            .promise(
                format!("Redis decided every load at a {clock} clock"),
                fallbacks == 0.0,
            );
        Ok(())
    }
}

fn judge(verdict: &mut Verdict, waits: &CallbackLatency, wanted: u32) {
    verdict
        .note("waits", waits.measured)
        .note("accepted_after_retry_after", waits.accepted)
        .note("accepted_a_second_earlier", waits.early)
        .promise("as many waits as wanted", waits.measured == wanted)
        .promise(
            "who waits Retry-After is accepted",
            waits.accepted == waits.measured,
        )
        .promise("a second earlier nobody is", waits.early == 0);
}

fn figures_of(seen: &Rush, plan: Plan) -> Value {
    json!({
        "accepted": seen.accepted,
        "refused": seen.refused,
        "others": seen.others,
        "seconds": figures::rounded(seen.elapsed.as_secs_f64(), 2),
        "refilled_at_most": figures::rounded(refill(plan, seen.elapsed), 2),
    })
}

fn refill(plan: Plan, during: Duration) -> f64 {
    plan.per_minute / 60.0 * during.as_secs_f64()
}

fn count(loads: u64) -> f64 {
    figures::number(usize::try_from(loads).unwrap_or(usize::MAX))
}
