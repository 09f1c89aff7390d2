//! What the lanes of a shard measured: how long batches and flex requests take, and whether flex has
//! capacity. Loads and sweep choose ways by it.

use chrono::TimeDelta;
use domain::lane::{Lane, LaneId};
use domain::model::{Model, ModelKind};
use domain::route::{InferenceMode, Route};
use domain::route_choice::{
    DEFAULT_FLEX_CAPACITY, FLEX_PATIENCE, ModelWays, URGENT_WINDOW, WayTimes, flex_queue_time,
};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// The batches from which the percentile of a lane is read.
const MEASURED_BATCHES: i64 = 50;
/// With fewer batches, a lane has no percentile.
const MIN_MEASURED_BATCHES: i64 = 5;
/// So many waiting cargo are counted to see how long a queue takes.
pub const MAX_COUNTED_QUEUE: i64 = 10_000;
/// A longer time counts as this.
const MAX_SECONDS: f64 = 1e6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneState {
    pub id: LaneId,
    pub lane: Lane,
    /// The percentiles of recent batches, if there were some.
    pub p50: Option<TimeDelta>,
    pub p90: Option<TimeDelta>,
    pub p95: Option<TimeDelta>,
    /// How long recent requests took; of a batch lane, how long recent batches took.
    pub turnaround: Option<TimeDelta>,
    /// Since when every flex request was refused for lack of capacity.
    pub refused_since: Option<Timestamp>,
    /// Its provider or the lane itself is paused.
    pub is_paused: bool,
    /// How many flex requests are answered in `route_choice::FLEX_WINDOW`.
    pub capacity: u64,
    /// Waiting cargo, counted up to a limit.
    pub waiting: u64,
    /// Waiting cargo with a deadline within `route_choice::URGENT_WINDOW`.
    pub urgent: u64,
}

/// The lanes of a model, or all lanes. Waiting cargo is counted up to `max_count`.
pub async fn list(
    shard: &Shard,
    model: Option<&str>,
    max_count: i64,
    now: Timestamp,
) -> Result<Vec<LaneState>, Error> {
    let rows = sqlx::query!(
        r#"select l.id, l.provider, l.model, l.kind, l.via, l.turnaround_seconds,
               l.refused_since, l.capacity,
               (l.paused_at is not null or exists (
                   select from shard.provider p
                   where p.name = l.provider and p.paused_at is not null
                       and (p.retry_at is null or p.retry_at > $5)
               )) as "is_paused!",
               recent.p50, recent.p90, recent.p95, recent.batches as "batches!",
               (select count(*) from (
                   select from shard.waiting w where w.lane = l.id limit $2
               ) few) as "waiting!",
               (select count(*) from (
                   select from shard.waiting w
                   where w.lane = l.id and w.deadline_at < $3 limit $2
               ) few) as "urgent!"
           from shard.lane l cross join lateral (
               select count(*) as batches,
                   percentile_cont(0.5) within group (order by b.seconds) as p50,
                   percentile_cont(0.9) within group (order by b.seconds) as p90,
                   percentile_cont(0.95) within group (order by b.seconds) as p95
               from (
                   select extract(epoch from ended_at - gathered_at)::float8 as seconds
                   from shard.batch
                   -- A batch that was never submitted says nothing about the provider.
                   where lane = l.id and state = 'ended' and running_at is not null
                   order by id desc limit $4
               ) b
           ) recent
           where $1::text is null or l.model = $1
           order by l.id"#,
        model,
        max_count,
        now + URGENT_WINDOW,
        MEASURED_BATCHES,
        now
    )
    .fetch_all(&shard.pool)
    .await?;
    let corrupt = |column| Error::Corrupt {
        table: "lane",
        column,
    };
    let states = rows.into_iter().map(|row| {
        let is_measured = row.batches >= MIN_MEASURED_BATCHES;
        Ok(LaneState {
            id: LaneId(row.id),
            lane: Lane {
                provider: row.provider,
                model: row.model,
                kind: ModelKind::parse(&row.kind).ok_or(corrupt("kind"))?,
                via: InferenceMode::parse(&row.via).ok_or(corrupt("via"))?,
            },
            p50: row.p50.filter(|_| is_measured).and_then(duration),
            p90: row.p90.filter(|_| is_measured).and_then(duration),
            p95: row.p95.filter(|_| is_measured).and_then(duration),
            turnaround: row.turnaround_seconds.and_then(duration),
            refused_since: row.refused_since,
            is_paused: row.is_paused,
            capacity: row
                .capacity
                .and_then(|it| u64::try_from(it).ok())
                .unwrap_or(DEFAULT_FLEX_CAPACITY),
            waiting: u64::try_from(row.waiting).unwrap_or_default(),
            urgent: u64::try_from(row.urgent).unwrap_or_default(),
        })
    });
    states.collect()
}

/// How long the ways of a model take, as far as its lanes have measured it.
pub fn way_times(
    states: &[LaneState],
    model: &Model,
    ways: &ModelWays<'_>,
    now: Timestamp,
) -> WayTimes {
    let find = |route: Option<&Route>| {
        let lane = Lane::of(model, route?);
        states.iter().find(|it| it.lane == lane)
    };
    let (batch, flex) = (find(ways.batch), find(ways.flex));
    let usual = WayTimes::default();
    let refused_for = flex
        .and_then(|it| it.refused_since)
        .map(|since| (now - since).max(TimeDelta::zero()));
    let is_patient = refused_for.is_none_or(|it| it <= FLEX_PATIENCE);
    WayTimes {
        batch_p95: batch.and_then(|it| it.p95).unwrap_or(usual.batch_p95),
        flex_answer: flex
            .and_then(|it| it.turnaround)
            .unwrap_or(usual.flex_answer),
        flex_refused_for: refused_for,
        flex_wait: flex.map_or(usual.flex_wait, |it| {
            flex_queue_time(it.waiting, it.capacity)
        }),
        is_flex_usable: is_patient && flex.is_none_or(|it| !it.is_paused),
    }
}

fn duration(seconds: f64) -> Option<TimeDelta> {
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    let milliseconds = (seconds.clamp(0.0, MAX_SECONDS) * 1000.0) as i64;
    TimeDelta::try_milliseconds(milliseconds)
}

/// What a run of flex requests showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlexObservation {
    /// The slowest answer in seconds, if any request was answered.
    pub slowest_seconds: Option<f64>,
    /// How many requests are answered in `route_choice::FLEX_WINDOW`.
    pub capacity: Option<u64>,
    /// Whether its requests were refused for lack of capacity, or had no response.
    pub is_refused: bool,
}

/// An answer ends the time of refusals. Refusals without an answer begin or continue it.
pub async fn record_flex(
    shard: &Shard,
    lane: LaneId,
    seen: FlexObservation,
    now: Timestamp,
) -> Result<(), Error> {
    let capacity = seen
        .capacity
        .map(|it| i32::try_from(it).unwrap_or(i32::MAX));
    sqlx::query!(
        "update shard.lane set
             turnaround_seconds = coalesce(
                 turnaround_seconds * 0.7 + $2::float8 * 0.3, $2, turnaround_seconds),
             capacity = coalesce($3, capacity),
             refused_since = case
                 when $2::float8 is not null then null
                 when $4 then coalesce(refused_since, $5)
                 else refused_since end
         where id = $1",
        lane.0,
        seen.slowest_seconds,
        capacity,
        seen.is_refused,
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
