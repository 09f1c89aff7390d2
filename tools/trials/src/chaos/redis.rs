//! Redis is flushed, killed and frozen under load: limits nearly hold, and other callers see
//! nothing.

pub mod redis_fault;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::watch;

use crate::chaos::process_pair::ProcessPair;
use crate::chaos::redis::redis_fault::{
    AcceptanceWindow, NOTICE_TIMEOUT, OVER_LIMIT, REDIS_BUDGET_MILLISECONDS, RedisFault,
    RedisFaultRecord, WITHIN_LIMIT, WITHOUT_REDIS,
};
use crate::harness::load::open_loop;
use crate::harness::longshored::org_setup;
use crate::harness::{
    BaseEnvironment, DatabaseLayout, FREE_MODEL, LoadLog, LoadRecord, LoadRequests, LoadSource,
    LongshoredProcess, PollLimits, Result, SHARD, ServiceClient, TrialFailure, TrialOrganization,
    TrialRedisServer, TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosRedisOptions, CommonOptions};

const WITHIN_LIMIT_ORGANIZATIONS: usize = 4;
/// Enough to use up an extra burst quickly.
const OVER_LIMIT_LOADS_PER_SECOND: u32 = 100;
const UNUSED_CALLBACK_URL: &str = "http://127.0.0.1:9/hook";
const CALM_BEFORE_FAULT: Duration = Duration::from_secs(2);
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(15);
/// How many windows to try until one has no fallback.
const MAX_WINDOWS: usize = 3;
/// This many refusals in a row mean an empty bucket.
const REFUSALS_OF_EMPTY_BUCKET: usize = 20;
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
struct RedisCallers {
    pair: ProcessPair,
    within_limit: Vec<TrialOrganization>,
    over_limit: TrialOrganization,
    /// A process that never had a Redis, under the same load.
    _process_without_redis: LongshoredProcess,
    without_redis: ServiceClient,
    requests: LoadRequests,
    load_log: LoadLog,
}

pub async fn run(common: &CommonOptions, options: &ChaosRedisOptions) -> Result<TrialVerdict> {
    let mut environment =
        BaseEnvironment::build_for_chaos(common, DatabaseLayout::SingleShard).await?;
    let budget = REDIS_BUDGET_MILLISECONDS.to_string();
    let longshored = &mut environment.longshored;
    longshored.set("REDIS_BUDGET_MILLISECONDS", &budget);
    let mut modest = Vec::new();
    for number in 1..=WITHIN_LIMIT_ORGANIZATIONS {
        let name = format!("Within limit {number}");
        modest.push(
            org_setup::create_organization(&environment.longshored, &name, "enterprise", SHARD)
                .await?,
        );
    }
    let mut without_redis = environment.longshored.clone();
    without_redis.set("REDIS_URL", "");
    let mut process_without_redis = without_redis.new_process("serve", "without-redis")?;
    process_without_redis.start_and_wait().await?;
    let callers = Arc::new(RedisCallers {
        within_limit: modest,
        without_redis: ServiceClient::new(process_without_redis.address()),
        _process_without_redis: process_without_redis,
        over_limit: org_setup::create_organization(
            &environment.longshored,
            "Over limit",
            "free",
            SHARD,
        )
        .await?,
        pair: ProcessPair::start(&environment.longshored, "serve").await?,
        requests: LoadRequests::new(UNUSED_CALLBACK_URL, &[FREE_MODEL]),
        load_log: LoadLog::default(),
    });
    let (over, enough) = watch::channel(());
    let offered = |label, rate| offer_requests(&callers, label, rate, enough.clone());
    let loading = async {
        tokio::join!(
            offered(WITHIN_LIMIT, options.rate),
            offered(OVER_LIMIT, OVER_LIMIT_LOADS_PER_SECOND),
            offered(WITHOUT_REDIS, options.rate),
        )
    };
    let injection = async {
        let episodes = inject_faults(&callers, &mut environment.redis, options).await;
        drop(over);
        episodes
    };
    let ((modest, greedy, _), episodes) = tokio::join!(loading, injection);
    let mut verdict = TrialVerdict::new("chaos redis");
    judge! { verdict;
        record "offered" => json!({"within_limit": modest, "over_limit": greedy}),
    }
    judge(&mut verdict, &callers.load_log);
    for episode in &episodes? {
        episode.judge(&callers.load_log, &mut verdict);
    }
    Ok(verdict)
}

/// Sends requests at this rate until the trial ends; returns how many.
async fn offer_requests(
    callers: &Arc<RedisCallers>,
    label: &'static str,
    rate: u32,
    mut enough: watch::Receiver<()>,
) -> u64 {
    // The trial ends when the sender is dropped.
    let over = async { drop(enough.changed().await) };
    let asking = open_loop::offer_loads(rate, over, |number| {
        let callers = Arc::clone(callers);
        async move { send_request(&callers, label, number).await }
    });
    asking.await
}

fn judge(verdict: &mut TrialVerdict, loads: &LoadLog) {
    let is_limited = |load: &LoadRecord| load.answer == "429";
    let unavailable = loads.count(LoadRecord::is_refused);
    let failed = loads.count(|it| it.has_failed() && !is_limited(it));
    let stopped = loads.count(|it| it.source.label != OVER_LIMIT && is_limited(it));
    let refused = loads.count(|it| it.source.label == OVER_LIMIT && is_limited(it));
    judge! { verdict;
        record "accepted" => loads.count(LoadRecord::is_accepted),
        record "refused" => json!({"over_limit": refused, "within_limit": stopped}),
        record "unavailable" => unavailable,
        record "failed" => failed,
        check "no answer but 202, 429 and 503" => failed == 0,
        check_figure "no answer is 503" => unavailable == 0,
        check "only the organization over its limit is refused" => stopped == 0 && refused > 0,
    }
}

async fn inject_faults(
    callers: &RedisCallers,
    redis: &mut TrialRedisServer,
    options: &ChaosRedisOptions,
) -> Result<Vec<RedisFaultRecord>> {
    let begun = Instant::now();
    wait_until_limited(callers, begun).await?;
    let mut episodes = Vec::new();
    for fault in [RedisFault::Wiped, RedisFault::Killed, RedisFault::Frozen] {
        let calm_since = Instant::now();
        tokio::time::sleep(CALM_BEFORE_FAULT).await;
        report_progress(fault.name());
        let window = Duration::from_secs(options.seconds);
        episodes.push(inject_fault(callers, redis, fault, calm_since, window).await?);
    }
    Ok(episodes)
}

async fn inject_fault(
    callers: &RedisCallers,
    redis: &mut TrialRedisServer,
    fault: RedisFault,
    calm_since: Instant,
    window: Duration,
) -> Result<RedisFaultRecord> {
    let at = Instant::now();
    let mut opened = None;
    match fault {
        RedisFault::Wiped => redis.flush_all().await?,
        RedisFault::Killed => drop(redis.child.kill()),
        RedisFault::Frozen => redis.child.stop()?,
    }
    if let Some(away) = fault.outage_duration() {
        opened = wait_for_open_breakers(callers, at).await?;
        tokio::time::sleep_until((at + away).into()).await;
    }
    let back = Instant::now();
    match fault {
        RedisFault::Wiped => {}
        RedisFault::Killed => redis.start().await?,
        RedisFault::Frozen => redis.child.resume()?,
    }
    let closed = wait_for_closed_breakers(callers).await?;
    let fallbacks = callers.pair.count_fallbacks().await?;
    let exact = wait_until_limited(callers, closed).await?;
    let windows = measure_windows(callers, window).await?;
    Ok(RedisFaultRecord {
        fault,
        calm_from: calm_since,
        injected_at: at,
        breakers_opened_at: opened,
        restored_at: back,
        exact_at: exact,
        windows,
        fallbacks_after_restore: callers.pair.count_fallbacks().await? - fallbacks,
    })
}

/// Counts for `length`, and again if a call to Redis timed out meanwhile: then limits are not
/// exact.
async fn measure_windows(
    callers: &RedisCallers,
    length: Duration,
) -> Result<Vec<AcceptanceWindow>> {
    let mut windows = Vec::new();
    for _ in 0..MAX_WINDOWS {
        let (from, fallbacks) = (Instant::now(), callers.pair.count_fallbacks().await?);
        tokio::time::sleep(length).await;
        let before = Instant::now();
        let fallbacks = callers.pair.count_fallbacks().await? - fallbacks;
        windows.push(AcceptanceWindow {
            from,
            before,
            fallbacks,
        });
        if fallbacks == 0.0 {
            break;
        }
        wait_for_closed_breakers(callers).await?;
    }
    Ok(windows)
}

/// When both processes first worked without Redis.
async fn wait_for_open_breakers(callers: &RedisCallers, at: Instant) -> Result<Option<Instant>> {
    let limits = PollLimits::new(NOTICE_TIMEOUT.saturating_sub(at.elapsed()), POLL_INTERVAL);
    let count = async || callers.pair.count_open_breakers().await;
    let open = limits.read_until(|open| *open >= 2.0, count).await?;
    Ok((open >= 2.0).then(Instant::now))
}

/// When both processes first used Redis again.
async fn wait_for_closed_breakers(callers: &RedisCallers) -> Result<Instant> {
    let limits = PollLimits::new(RECOVERY_TIMEOUT, POLL_INTERVAL);
    let count = async || callers.pair.count_open_breakers().await;
    if limits.read_until(|open| *open <= 0.0, count).await? > 0.0 {
        return Err(TrialFailure::new("a circuit breaker does not close"));
    }
    Ok(Instant::now())
}

/// When the organization over its limit had used up its bucket.
async fn wait_until_limited(callers: &RedisCallers, since: Instant) -> Result<Instant> {
    let is_limited = || is_limited_since(&callers.load_log, since, REFUSALS_OF_EMPTY_BUCKET);
    let limits = PollLimits::new(RECOVERY_TIMEOUT, POLL_INTERVAL);
    if !limits.wait_until(is_limited).await {
        return Err(TrialFailure::new(
            "the organization over its limit is never limited",
        ));
    }
    Ok(Instant::now())
}

/// Whether the latest `refusals` requests over the limit since then were all refused, except
/// one.
fn is_limited_since(loads: &LoadLog, since: Instant, refusals: usize) -> bool {
    let mut latest = loads.select(|it| it.source.label == OVER_LIMIT && it.began_at >= since);
    latest.sort_unstable_by_key(|load| load.began_at);
    let latest = latest.iter().rev().take(refusals);
    let is_refused: Vec<bool> = latest.map(|load| load.answer == "429").collect();
    let refused = is_refused.iter().filter(|it| **it).count();
    is_refused.len() == refusals && refused + 1 >= refusals
}

/// Sends one load and records it.
async fn send_request(callers: &RedisCallers, label: &'static str, number: u64) {
    let clients = &callers.pair.clients;
    let Some(one) = clients.get(rand::random_range(0..clients.len())) else {
        return;
    };
    let client = if label == WITHOUT_REDIS {
        &callers.without_redis
    } else {
        one
    };
    let turn = usize::try_from(number).unwrap_or_default() % callers.within_limit.len().max(1);
    let organization = callers.within_limit.get(turn);
    let organization = organization.filter(|_| label != OVER_LIMIT);
    let organization = organization.unwrap_or(&callers.over_limit);
    let request = callers.requests.build(organization, number);
    let source = LoadSource::labelled(label);
    callers.load_log.send(client, request, source).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recent_refusals_count_as_limited() {
        let loads = LoadLog::default();
        let since = Instant::now();
        for answer in ["202", "202", "202", "429", "429"] {
            loads.record(LoadRecord {
                source: LoadSource::labelled(OVER_LIMIT),
                began_at: Instant::now(),
                duration: Duration::ZERO,
                answer: answer.to_owned(),
                cargo: None,
            });
        }
        assert!(is_limited_since(&loads, since, 2));
        assert!(is_limited_since(&loads, since, 3));
        assert!(!is_limited_since(&loads, since, 4));
        assert!(!is_limited_since(&loads, since, 6));
    }
}
