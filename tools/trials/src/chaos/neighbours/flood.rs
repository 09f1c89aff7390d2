//! One organization's flood is already gathered for a slow server; then another one loads one
//! cargo.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::chaos::neighbours::steady_load::{self, LoadWindow, SteadyLoad};
use crate::harness::environment::org_factory;
use crate::harness::servers::postgres;
use crate::harness::{
    BaseEnvironment, DatabaseLayout, FailureContext as _, PollLimits, Result, SHARD,
    SimulatorProcess, TrialEnvironment, TrialFailure, TrialProviderAccount, TrialVerdict, judge,
    report_progress, round_to, to_f64,
};
use crate::options::{ChaosNeighboursOptions, CommonOptions};

const MODEL: &str = "slow-server";
const CARGO_PER_BATCH: u32 = 250;
const SERVER_SLOTS: u32 = 8;
/// Batches that may be gathered ahead of the latecomer's own.
const MAX_BATCHES_AHEAD: u32 = 4;
/// Allowed in addition to the time for the answers, for a busy machine.
const MAX_EXTRA_DELAY: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const BASELINE_LOADS: u64 = 3;

/// Copies one waiting cargo `$2` times.
const COPY_CARGO: &str = "
with original as (
    select cargo from shard.cargo where id = $1
), copy as materialized (
    select pg_temp.copy($1, number) as id from generate_series(1, $2) number
), cargo as (
    insert into shard.cargo
    select (jsonb_populate_record(original.cargo, jsonb_build_object('id', copy.id))).*
    from original, copy
), request as (
    insert into shard.request
    select (jsonb_populate_record(request, jsonb_build_object('cargo', copy.id))).*
    from shard.request request, copy where request.cargo = $1
), waiting as (
    insert into shard.waiting
    select (jsonb_populate_record(waiting, jsonb_build_object('cargo', copy.id))).*
    from shard.waiting waiting, copy where waiting.cargo = $1
    returning 1
)
select count(*) from waiting";

/// What happened to the latecomer's cargo.
#[derive(Debug)]
struct LatecomerResult {
    /// Until its callback, or until the trial stopped waiting.
    seconds_to_callback: f64,
    is_called_back: bool,
    /// Batches of the lane that were gathered and not ended when it was loaded.
    batches_at_load: i64,
    /// Batches gathered after its load and before its own batch.
    batches_between: i64,
    /// Answers to the flood between its load and its own answer.
    answers_between: i64,
}

pub async fn run(
    common: &CommonOptions,
    options: &ChaosNeighboursOptions,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let (mut environment, simulator) = build_environment(common, options).await?;
    let environment = &mut environment;
    let mut members = steady_load::members(environment);
    let latecomers = members.split_off(1);
    let flooding = SteadyLoad::new(environment, members, &[MODEL])?;
    let latecomers = SteadyLoad::new(environment, latecomers, &[MODEL])?;

    let calm = measure_baseline(&latecomers).await?;
    environment.stop_workers().await?;
    let count = options.choose_size(100_000, 8_000);
    create_flood(environment, &flooding, count).await?;
    environment.start_workers()?;
    let gathering = Duration::from_secs(options.choose_size(30, 10));
    let left = wait_until_gathered(environment.first_shard()?, gathering).await?;
    report_progress(format!(
        "{left} cargo of the flood still wait; loading the latecomer"
    ));
    let within =
        batches_duration(MAX_BATCHES_AHEAD + 2, answer_milliseconds(options)) + MAX_EXTRA_DELAY;
    let journey = load_latecomer(environment, &latecomers, within * 3 / 2).await?;
    drop(simulator);

    judge! { verdict;
        record "flood" => json!({
            "cargo": count,
            "waiting_at_load": left,
            "seconds_without": round_to(calm, 2),
            "seconds_with": round_to(journey.seconds_to_callback, 2),
            "allowed_seconds": within.as_secs(),
            "batches_gathered_at_load": journey.batches_at_load,
            "batches_between_load_and_own": journey.batches_between,
            "answers_between_load_and_own": journey.answers_between,
        }),
        check "flood: the latecomer's cargo is in the next batch" =>
            journey.is_called_back && journey.batches_between == 0,
        check format!("flood: at most {MAX_BATCHES_AHEAD} batches are gathered ahead of it") =>
            journey.batches_at_load <= i64::from(MAX_BATCHES_AHEAD),
        check_figure format!("flood: its callback arrives within {} s", within.as_secs()) =>
            journey.seconds_to_callback <= within.as_secs_f64(),
    }
    Ok(())
}

async fn build_environment(
    common: &CommonOptions,
    options: &ChaosNeighboursOptions,
) -> Result<(TrialEnvironment, SimulatorProcess)> {
    let mut base = BaseEnvironment::build_for_chaos(common, DatabaseLayout::SingleShard).await?;
    let simulator = SimulatorProcess::start(&common.simulator, &base.scratch, 1).await?;
    let account = TrialProviderAccount {
        name: MODEL,
        kind: "server",
        base_url: format!("http://{}/server/v1", simulator.address),
        shard: None,
        limits: "questions = 8".to_owned(),
        has_credential: true,
    };
    steady_load::set_accounts(&mut base, &[account])?;
    let pace = json!({"answer_ms": answer_milliseconds(options), "slots": SERVER_SLOTS});
    let path = format!("server/{MODEL}/pace");
    simulator.call_admin("PUT", &path, Some(&pace)).await?;
    let deployment = steady_load::deploy("flood", 2, options.choose_size(2, 1))
        .with("BATCH_MAX_ITEMS", &CARGO_PER_BATCH.to_string());
    Ok((TrialEnvironment::start(base, deployment).await?, simulator))
}

/// How long the server takes for one answer.
const fn answer_milliseconds(options: &ChaosNeighboursOptions) -> u32 {
    options.choose_size(100, 50)
}

/// How long the server takes for this many batches.
fn batches_duration(count: u32, answer_milliseconds: u32) -> Duration {
    Duration::from_millis(u64::from(
        count * CARGO_PER_BATCH / SERVER_SLOTS * answer_milliseconds,
    ))
}

/// The slowest callback of the latecomer without a flood.
async fn measure_baseline(latecomers: &Arc<SteadyLoad>) -> Result<f64> {
    let mut longest = 0.0_f64;
    for number in 0..BASELINE_LOADS {
        let from = Instant::now();
        latecomers.send_repeatedly(number).await;
        latecomers.wait_for_callbacks(MAX_EXTRA_DELAY * 2).await;
        let before = Instant::now();
        let seen = latecomers.observe(LoadWindow { from, before }, None);
        if seen.without_callback > 0 || seen.callback_seconds.is_empty() {
            return Err(TrialFailure::new(
                "the slow server does not answer, even without a flood",
            ));
        }
        longest = seen.callback_seconds.into_iter().fold(longest, f64::max);
    }
    Ok(longest)
}

/// Loads one cargo and copies it, while no worker runs.
async fn create_flood(
    environment: &TrialEnvironment,
    flooding: &Arc<SteadyLoad>,
    count: i64,
) -> Result<()> {
    let from = Instant::now();
    flooding.send_repeatedly(0).await;
    let before = Instant::now();
    let first = flooding.cargo_between(LoadWindow { from, before });
    let first = first.first().copied();
    let first = first.context("the flood's first load was not accepted")?;
    let server = environment.database_server()?;
    let mut connection = org_factory::connect_with_copy_function(server, SHARD).await?;
    let copied = sqlx::query_scalar::<_, i64>(COPY_CARGO)
        .bind(Uuid::from_u128(first))
        .bind(count - 1)
        .fetch_one(&mut connection)
        .await;
    if copied.context("copying cargo")? != count - 1 {
        return Err(TrialFailure::new("the flood was only partly copied"));
    }
    Ok(())
}

/// Waits until all cargo is gathered, or until the time is over; returns how many still wait.
async fn wait_until_gathered(pool: &PgPool, within: Duration) -> Result<i64> {
    let query = "select count(*) from shard.waiting";
    let count_waiting = async || {
        let waiting = sqlx::query_scalar::<_, i64>(query).fetch_one(pool).await;
        waiting.context("counting waiting cargo")
    };
    let limits = PollLimits::exact(within, POLL_INTERVAL);
    limits.read_until(|count| *count == 0, count_waiting).await
}

async fn load_latecomer(
    environment: &TrialEnvironment,
    latecomers: &Arc<SteadyLoad>,
    within: Duration,
) -> Result<LatecomerResult> {
    let pool = environment.first_shard()?;
    let query = "select count(*) from shard.batch where state <> 'ended'";
    let open = sqlx::query_scalar::<_, i64>(query).fetch_one(pool).await;
    let open = open.context("counting batches")?;
    let from = Instant::now();
    latecomers.send_repeatedly(BASELINE_LOADS).await;
    let before = Instant::now();
    let loaded_at = postgres::read_clock(pool).await?;
    let window = LoadWindow { from, before };
    let cargo = latecomers.cargo_between(window);
    let cargo = cargo.first().copied();
    let cargo = cargo.context("the latecomer's load was not accepted")?;
    latecomers.wait_for_callbacks(within).await;
    let seen = latecomers.observe(window, None);
    Ok(LatecomerResult {
        seconds_to_callback: seen
            .callback_seconds
            .iter()
            .copied()
            .fold(to_f64(0), f64::max),
        is_called_back: seen.without_callback == 0,
        batches_at_load: open,
        batches_between: count_batches_between(pool, cargo, loaded_at).await?,
        answers_between: count_answers_between(pool, cargo, loaded_at).await?,
    })
}

async fn count_batches_between(pool: &PgPool, cargo: u128, since: DateTime<Utc>) -> Result<i64> {
    let query = "
        select count(*) from shard.batch, shard.cargo
            left join shard.batch own on own.id = cargo.batch
        where cargo.id = $1 and batch.lane = cargo.lane and batch.gathered_at > $2
            and batch.gathered_at < coalesce(own.gathered_at, 'infinity')";
    let counted = sqlx::query_scalar::<_, i64>(query)
        .bind(Uuid::from_u128(cargo))
        .bind(since)
        .fetch_one(pool)
        .await;
    counted.context("counting batches")
}

async fn count_answers_between(pool: &PgPool, cargo: u128, since: DateTime<Utc>) -> Result<i64> {
    let query = "
        select count(*) from shard.cargo, shard.cargo own
        where own.id = $1 and cargo.completed_at > $2
            and cargo.completed_at < coalesce(own.completed_at, 'infinity')";
    let counted = sqlx::query_scalar::<_, i64>(query)
        .bind(Uuid::from_u128(cargo))
        .bind(since)
        .fetch_one(pool)
        .await;
    counted.context("counting answers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_as_long_as_its_answers() {
        assert_eq!(batches_duration(8, 100), Duration::from_secs(25));
    }
}
