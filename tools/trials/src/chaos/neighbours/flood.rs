//! A flood of one organization that is already gathered for a slow server, then one cargo of another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::chaos::neighbours::accounts::{self, Account};
use crate::chaos::neighbours::environment::{Environment, Plan};
use crate::chaos::neighbours::victims::{Victims, Window};
use crate::crowd;
use crate::failure::{During as _, Failure, Result};
use crate::figures::{number, rounded};
use crate::options::{Common, NeighboursOptions};
use crate::postgres;
use crate::progress::say;
use crate::simulator::Simulator;
use crate::stand::{CHAOS_MEMORY, SHARD, Stand};
use crate::verdict::Verdict;

const MODEL: &str = "slow-server";
/// Cargo in a batch.
const BATCH_ITEMS: u32 = 250;
const SLOTS: u32 = 8;
/// Batches that may lie gathered before the latecomer's own.
const MAX_BATCHES_AHEAD: u32 = 4;
/// What the latecomer waits for beside answers, and what a busy machine adds.
const SLACK: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);
const CALM_LOADS: u64 = 3;

/// So many copies of one waiting cargo.
const FLOOD: &str = "
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

/// How the latecomer fared.
#[derive(Debug)]
struct Journey {
    /// Until its callback, or until we stopped waiting.
    seconds: f64,
    is_called_back: bool,
    /// Batches of the lane that were gathered and not ended when it was loaded.
    batches_at_load: i64,
    /// Batches that were gathered after its load and before its own.
    batches_between: i64,
    /// Answers of the flood between its load and its own.
    answers_between: i64,
}

pub async fn run(
    common: &Common,
    options: &NeighboursOptions,
    verdict: &mut Verdict,
) -> Result<()> {
    let mut environment = environment(common, options).await?;
    let simulator = environment.1;
    let environment = &mut environment.0;
    let mut members = environment.members();
    let latecomers = members.split_off(1);
    let receipts = &environment.receiver.receipts;
    let serving = environment.serving.address();
    let flooding = Victims::new(serving, members, &[MODEL], receipts);
    let latecomers = Victims::new(serving, latecomers, &[MODEL], receipts);

    let calm = calm(&latecomers).await?;
    environment.stop_working().await?;
    let count = options.size(100_000, 8_000);
    flood(environment, &flooding, count).await?;
    environment.start_working()?;
    let gathering = Duration::from_secs(options.size(30, 10));
    let left = gathered(&environment.pool, gathering).await?;
    say(format!(
        "{left} of the flood wait; one of another is loaded"
    ));
    let within = batches(MAX_BATCHES_AHEAD + 2, answer_milliseconds(options)) + SLACK;
    let journey = latecomer(environment, &latecomers, within * 3 / 2).await?;
    drop(simulator);

    verdict
        .note(
            "flood",
            json!({
                "cargo": count,
                "waiting_at_load": left,
                "seconds_without": rounded(calm, 2),
                "seconds_with": rounded(journey.seconds, 2),
                "allowed_seconds": within.as_secs(),
                "batches_gathered_at_load": journey.batches_at_load,
                "batches_between_load_and_own": journey.batches_between,
                "answers_between_load_and_own": journey.answers_between,
            }),
        )
        .promise(
            "flood: the latecomer leaves with the next batch",
            journey.is_called_back && journey.batches_between == 0,
        )
        .promise(
            format!("flood: at most {MAX_BATCHES_AHEAD} batches lie gathered ahead of it"),
            journey.batches_at_load <= i64::from(MAX_BATCHES_AHEAD),
        )
        .promise(
            format!("flood: its callback comes within {} s", within.as_secs()),
            journey.is_called_back && journey.seconds <= within.as_secs_f64(),
        );
    Ok(())
}

async fn environment(
    common: &Common,
    options: &NeighboursOptions,
) -> Result<(Environment, Simulator)> {
    let mut stand = Stand::build(common, CHAOS_MEMORY).await?;
    let simulator = Simulator::start(&common.simulator, &stand.scratch, 1).await?;
    let account = Account {
        name: MODEL,
        kind: "server",
        base_url: format!("http://{}/server/v1", simulator.address),
        limits: "questions = 8",
    };
    for (name, value) in accounts::write(stand.scratch.path(), &[account])? {
        stand.longshored.set(name, &value);
    }
    let pace = json!({"answer_ms": answer_milliseconds(options), "slots": SLOTS});
    let path = format!("server/{MODEL}/pace");
    simulator.ask("PUT", &path, Some(&pace)).await?;
    let plan = Plan {
        part: "flood",
        organizations: 2,
        workers: options.size(2, 1),
        settings: &[("BATCH_MAX_ITEMS", &BATCH_ITEMS.to_string())],
        open_files: None,
    };
    Ok((Environment::start(stand, plan).await?, simulator))
}

/// What the server takes for an answer.
const fn answer_milliseconds(options: &NeighboursOptions) -> u32 {
    options.size(100, 50)
}

/// How long the server takes for so many batches.
fn batches(count: u32, answer_milliseconds: u32) -> Duration {
    Duration::from_millis(u64::from(count * BATCH_ITEMS / SLOTS * answer_milliseconds))
}

/// The longest that the latecomer's cargo takes without a flood.
async fn calm(latecomers: &Arc<Victims>) -> Result<f64> {
    let mut longest = 0.0_f64;
    for number in 0..CALM_LOADS {
        let from = Instant::now();
        latecomers.load(number).await;
        latecomers.settle(SLACK * 2).await;
        let before = Instant::now();
        let seen = latecomers.observe(Window { from, before }, None);
        if seen.open > 0 || seen.seconds.is_empty() {
            return Err(Failure::new(
                "the slow server answers nobody, even in peace",
            ));
        }
        longest = seen.seconds.into_iter().fold(longest, f64::max);
    }
    Ok(longest)
}

/// Loads one and copies it, while no process works.
async fn flood(environment: &Environment, flooding: &Arc<Victims>, count: i64) -> Result<()> {
    let from = Instant::now();
    flooding.load(0).await;
    let before = Instant::now();
    let first = flooding.between(Window { from, before });
    let first = first.first().map(|(record, _)| record.cargo);
    let first = first.ok_or_else(|| Failure::new("the flood's first load was not accepted"))?;
    let mut connection = environment.stand.postgres.connect(SHARD).await?;
    let function = sqlx::raw_sql(crowd::COPY).execute(&mut connection).await;
    function.during("making a function to copy with")?;
    let copied = sqlx::query_scalar::<_, i64>(FLOOD)
        .bind(Uuid::from_u128(first))
        .bind(count - 1)
        .fetch_one(&mut connection)
        .await;
    if copied.during("copying cargo")? != count - 1 {
        return Err(Failure::new("the flood was copied in part"));
    }
    Ok(())
}

/// Waits until all of it is gathered, or as long as told; says how many wait then.
async fn gathered(pool: &PgPool, within: Duration) -> Result<i64> {
    let begun = Instant::now();
    loop {
        let query = "select count(*) from shard.waiting";
        let waiting = sqlx::query_scalar::<_, i64>(query).fetch_one(pool).await;
        let waiting = waiting.during("counting what waits")?;
        if waiting == 0 || begun.elapsed() > within {
            return Ok(waiting);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn latecomer(
    environment: &Environment,
    latecomers: &Arc<Victims>,
    within: Duration,
) -> Result<Journey> {
    let pool = &environment.pool;
    let query = "select count(*) from shard.batch where state <> 'ended'";
    let open = sqlx::query_scalar::<_, i64>(query).fetch_one(pool).await;
    let open = open.during("counting batches")?;
    let from = Instant::now();
    latecomers.load(CALM_LOADS).await;
    let before = Instant::now();
    let loaded_at = postgres::clock(pool).await?;
    let window = Window { from, before };
    let cargo = latecomers.between(window);
    let cargo = cargo.first().map(|(record, _)| record.cargo);
    let cargo = cargo.ok_or_else(|| Failure::new("the latecomer's load was not accepted"))?;
    latecomers.settle(within).await;
    let seen = latecomers.observe(window, None);
    Ok(Journey {
        seconds: seen.seconds.iter().copied().fold(number(0), f64::max),
        is_called_back: seen.open == 0,
        batches_at_load: open,
        batches_between: batches_between(pool, cargo, loaded_at).await?,
        answers_between: answers_between(pool, cargo, loaded_at).await?,
    })
}

async fn batches_between(pool: &PgPool, cargo: u128, since: DateTime<Utc>) -> Result<i64> {
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
    counted.during("counting batches")
}

async fn answers_between(pool: &PgPool, cargo: u128, since: DateTime<Utc>) -> Result<i64> {
    let query = "
        select count(*) from shard.cargo, shard.cargo own
        where own.id = $1 and cargo.completed_at > $2
            and cargo.completed_at < coalesce(own.completed_at, 'infinity')";
    let counted = sqlx::query_scalar::<_, i64>(query)
        .bind(Uuid::from_u128(cargo))
        .bind(since)
        .fetch_one(pool)
        .await;
    counted.during("counting answers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_as_long_as_its_answers() {
        assert_eq!(batches(8, 100), Duration::from_secs(25));
    }
}
