//! Redis is wiped, killed and frozen under load: limits hold nearly, nobody else notices.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::watch;

use crate::catalogue::FREE;
use crate::chaos::episode::{Episode, Fault, Window};
use crate::chaos::pair::Pair;
use crate::chaos::samples::{Asker, Samples};
use crate::chaos::traffic;
use crate::failure::{Failure, Result};
use crate::http::Target;
use crate::options::{Common, RedisOptions};
use crate::organization::Organization;
use crate::process::Process;
use crate::progress::say;
use crate::redis::Redis;
use crate::request::Loads;
use crate::setup;
use crate::stand::{CHAOS_MEMORY, SHARD, Stand};
use crate::verdict::Verdict;

const MODEST: usize = 4;
/// Loads a second of the greedy one: enough to use up an extra burst quickly.
const GREED: u32 = 100;
const NOWHERE: &str = "http://127.0.0.1:9/hook";
/// Nothing happens for so long before each fault.
const CALM: Duration = Duration::from_secs(2);
/// A fault must be noticed by then; the budget of a call is 20 ms.
const NOTICING: Duration = Duration::from_secs(2);
const RETURNING: Duration = Duration::from_secs(15);
/// So often a quiet stretch is looked for.
const MOST_WINDOWS: usize = 3;
/// So many refusals in a row are an empty bucket.
const REFUSALS: usize = 20;
const LOOK: Duration = Duration::from_millis(20);

/// What the loading side knows.
#[derive(Debug)]
struct Callers {
    pair: Pair,
    modest: Vec<Organization>,
    greedy: Organization,
    /// A process that never had a Redis, under the same load.
    _bystander: Process,
    beside: Target,
    loads: Loads,
    samples: Samples,
}

pub async fn run(common: &Common, options: &RedisOptions) -> Result<Verdict> {
    let mut stand = Stand::build(common, CHAOS_MEMORY).await?;
    let mut modest = Vec::new();
    for number in 1..=MODEST {
        let name = format!("Modest {number}");
        modest.push(setup::organization(&stand.longshored, &name, "enterprise", SHARD).await?);
    }
    let mut without_redis = stand.longshored.clone();
    without_redis.set("REDIS_URL", "");
    let mut bystander = without_redis.process("serve", "bystander")?;
    bystander.start()?;
    bystander.ready().await?;
    let callers = Arc::new(Callers {
        modest,
        beside: Target::new(bystander.address()),
        _bystander: bystander,
        greedy: setup::organization(&stand.longshored, "Greedy", "free", SHARD).await?,
        pair: Pair::start(&stand.longshored, "serve").await?,
        loads: Loads::new(NOWHERE, &[FREE]),
        samples: Samples::default(),
    });
    let (over, enough) = watch::channel(());
    let offered = |asker, rate| offered(&callers, asker, rate, enough.clone());
    let loading = async {
        tokio::join!(
            offered(Asker::Modest, options.rate),
            offered(Asker::Greedy, GREED),
            offered(Asker::Bystander, options.rate),
        )
    };
    let storm = async {
        let episodes = episodes(&callers, &mut stand.redis, options).await;
        drop(over);
        episodes
    };
    let ((modest, greedy, _), episodes) = tokio::join!(loading, storm);
    let mut verdict = Verdict::new("chaos redis");
    verdict.note("offered", json!({"modest": modest, "greedy": greedy}));
    judge(&mut verdict, &callers.samples);
    let (samples, episodes) = (&callers.samples, episodes?);
    for episode in &episodes {
        episode.judge(samples, &mut verdict);
    }
    Ok(verdict)
}

/// Asks at this rate until it is over; says how often.
async fn offered(
    callers: &Arc<Callers>,
    asker: Asker,
    rate: u32,
    mut enough: watch::Receiver<()>,
) -> u64 {
    // It is over when the other end is gone.
    let over = async { drop(enough.changed().await) };
    let asking = traffic::offer(rate, over, |number| {
        let callers = Arc::clone(callers);
        async move { call(&callers, asker, number).await }
    });
    asking.await
}

fn judge(verdict: &mut Verdict, samples: &Samples) {
    let failed = samples.count(|sample| !matches!(sample.status, 202 | 429));
    let stopped = samples.count(|it| it.asker != Asker::Greedy && it.status == 429);
    let refused = samples.count(|it| it.asker == Asker::Greedy && it.status == 429);
    verdict
        .note("accepted", samples.count(|sample| sample.status == 202))
        .note("refused", json!({"greedy": refused, "modest": stopped}))
        .note("failed", failed)
        .promise("no answer but 202 and 429", failed == 0)
        .promise(
            "only the greedy one is refused",
            stopped == 0 && refused > 0,
        );
}

async fn episodes(
    callers: &Callers,
    redis: &mut Redis,
    options: &RedisOptions,
) -> Result<Vec<Episode>> {
    let begun = Instant::now();
    held_back(callers, begun).await?;
    let mut episodes = Vec::new();
    for fault in [Fault::Wiped, Fault::Killed, Fault::Frozen] {
        let calm_since = Instant::now();
        tokio::time::sleep(CALM).await;
        say(fault.name());
        let window = Duration::from_secs(options.seconds);
        episodes.push(episode(callers, redis, fault, (calm_since, window)).await?);
    }
    Ok(episodes)
}

async fn episode(
    callers: &Callers,
    redis: &mut Redis,
    fault: Fault,
    (calm_since, window): (Instant, Duration),
) -> Result<Episode> {
    let at = Instant::now();
    let mut opened = None;
    match fault {
        Fault::Wiped => redis.wipe().await?,
        Fault::Killed => redis.kill(),
        Fault::Frozen => redis.freeze()?,
    }
    if let Some(away) = fault.away() {
        opened = noticed(callers, at).await?;
        tokio::time::sleep_until((at + away).into()).await;
    }
    let back = Instant::now();
    match fault {
        Fault::Wiped => {}
        Fault::Killed => redis.start().await?,
        Fault::Frozen => redis.thaw()?,
    }
    let closed = closed(callers).await?;
    let fallbacks = callers.pair.fallbacks().await?;
    let exact = held_back(callers, closed).await?;
    let windows = windows(callers, window).await?;
    Ok(Episode {
        fault,
        calm_since,
        at,
        opened,
        back,
        exact,
        windows,
        fallbacks: callers.pair.fallbacks().await? - fallbacks,
    })
}

/// Counts for so long, and again if a call took too long meanwhile: then nothing is exact.
async fn windows(callers: &Callers, length: Duration) -> Result<Vec<Window>> {
    let mut windows = Vec::new();
    for _ in 0..MOST_WINDOWS {
        let (from, fallbacks) = (Instant::now(), callers.pair.fallbacks().await?);
        tokio::time::sleep(length).await;
        let before = Instant::now();
        let fallbacks = callers.pair.fallbacks().await? - fallbacks;
        windows.push(Window {
            from,
            before,
            fallbacks,
        });
        if fallbacks == 0.0 {
            break;
        }
        closed(callers).await?;
    }
    Ok(windows)
}

/// When both processes were first seen to do without Redis.
async fn noticed(callers: &Callers, at: Instant) -> Result<Option<Instant>> {
    while at.elapsed() < NOTICING {
        if callers.pair.open_breakers().await? >= 2.0 {
            return Ok(Some(Instant::now()));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(None)
}

/// When both were first seen to ask Redis again.
async fn closed(callers: &Callers) -> Result<Instant> {
    let begun = Instant::now();
    while callers.pair.open_breakers().await? > 0.0 {
        if begun.elapsed() > RETURNING {
            return Err(Failure::new("a breaker does not close"));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(Instant::now())
}

/// When the greedy one was seen to have used up what it found.
async fn held_back(callers: &Callers, since: Instant) -> Result<Instant> {
    while !callers.samples.is_held_back_since(since, REFUSALS) {
        if since.elapsed() > RETURNING {
            return Err(Failure::new("the greedy organization is never held back"));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(Instant::now())
}

/// One request and what came of it.
async fn call(callers: &Callers, asker: Asker, number: u64) {
    let targets = &callers.pair.targets;
    let one = targets.get(rand::random_range(0..targets.len()));
    let Some(one) = one else {
        return;
    };
    let target = match asker {
        Asker::Bystander => &callers.beside,
        Asker::Greedy | Asker::Modest => one,
    };
    let turn = usize::try_from(number).unwrap_or_default() % callers.modest.len().max(1);
    let organization = match asker {
        Asker::Greedy => &callers.greedy,
        Asker::Modest | Asker::Bystander => callers.modest.get(turn).unwrap_or(&callers.greedy),
    };
    let mut request = String::new();
    callers.loads.write(&mut request, organization, number);
    let began = Instant::now();
    let status = match target.send(request.as_bytes()).await {
        Ok(answer) => answer.status,
        Err(_) => 0,
    };
    callers.samples.note(asker, began, status);
}
