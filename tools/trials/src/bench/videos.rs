//! Videos of 1 GB from session to ready: one alone, then many at once, with loads beside them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::bench::watch::{Party, Readings, Watch};
use crate::beside::Beside;
use crate::caller::Caller;
use crate::chaos::traffic;
use crate::dock::{Dock, Plan};
use crate::failure::{During as _, Failure, Result};
use crate::figures::{percentile, rounded, spread};
use crate::options::{Common, VideosOptions};
use crate::process::Process;
use crate::progress::say;
use crate::receiver::Receiver;
use crate::samples::content::Content;
use crate::samples::movie::Movie;
use crate::verdict::Verdict;

const MB: u64 = 1 << 20;
/// All organizations of one shard share its slots.
const SHARD: &str = "north";
/// Videos that are brought to the store at once.
const BRINGING: usize = 2;
const IDLE: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_hours(1);
const LOOK: Duration = Duration::from_millis(100);
/// How long the worker was at it, from the claim to the end.
const SCANNING: &str = "scan_seconds_sum";
/// Promises.
const MOST_GROWTH: f64 = 64.0;
const MOST_P99: f64 = 500.0;

/// A video in the store, and how many seconds each step took.
struct Brought {
    caller: Caller,
    id: String,
    listed: Value,
    create: f64,
    upload: f64,
}

pub async fn run(common: &Common, options: &VideosOptions) -> Result<Verdict> {
    let plan = Plan {
        organizations: 4,
        workers: 1,
        settings: &[("SCAN_TIMEOUT_SECONDS", "3600")],
    };
    let dock = Dock::build(common, plan).await?;
    dock.well().await?;
    let receiver = Receiver::start(Duration::ZERO).await?;
    let beside = Beside::new(dock.serving.address(), &receiver.url(), &dock.organizations);
    let beside = Arc::new(beside);
    let (over, enough) = oneshot::channel::<()>();
    let offering = traffic::offer(options.rate, async { drop(enough.await) }, |number| {
        let beside = Arc::clone(&beside);
        async move { beside.load(number).await }
    });
    let mut verdict = Verdict::new("bench videos");
    let measuring = async {
        let measured = measure(&dock, options, &beside, &mut verdict).await;
        drop(over);
        measured
    };
    let (offered, measured) = tokio::join!(offering, measuring);
    measured?;
    verdict
        .note("loads", offered)
        .note("failed_loads", beside.failed())
        .promise("every load is accepted", beside.all_were_accepted());
    Ok(verdict)
}

async fn measure(
    dock: &Dock,
    options: &VideosOptions,
    beside: &Beside,
    verdict: &mut Verdict,
) -> Result<()> {
    let size = options.megabytes * MB;
    let watch = Watch::start(parties(dock));
    say(format!("loads alone for {} s", IDLE.as_secs()));
    let begun = Instant::now();
    tokio::time::sleep(IDLE).await;
    let mut idle = beside.milliseconds(begun, Instant::now());
    verdict.note("idle_load_milliseconds", spread(&mut idle));

    say(format!("one video of {} MB", options.megabytes));
    let calm = watch.calm();
    let content = made(size).await?;
    let begun = Instant::now();
    let before = watch.cpu()?;
    let brought = bring(caller(dock)?, &content).await?;
    let verified = Instant::now();
    let waited = brought.until_ready().await?;
    let steps = json!({
        "create": rounded(brought.create, 2),
        "upload": rounded(brought.upload, 1),
        "verify": rounded(waited, 1),
        "in_all": rounded(begun.elapsed().as_secs_f64(), 1),
    });
    verdict
        .note("one_video_seconds", steps)
        .note("one_video_cpu_seconds", watch.cpu_since(&before)?)
        .note("worker_scan_seconds", scanning(dock).await?);
    judge_memory(verdict, "one", &watch, &calm);
    judge_loads(verdict, "one", beside, verified);

    if options.count > 0 {
        many(dock, options, beside, &watch, verdict).await?;
        judge_memory(verdict, "many", &watch, &calm);
    }
    Ok(())
}

async fn many(
    dock: &Dock,
    options: &VideosOptions,
    beside: &Beside,
    watch: &Watch,
    verdict: &mut Verdict,
) -> Result<()> {
    say(format!("bringing {} videos", options.count));
    let bringing = (0..options.count).map(|_| async {
        let content = made(options.megabytes * MB).await?;
        bring(caller(dock)?, &content).await
    });
    let brought: Vec<Brought> = stream::iter(bringing)
        .buffered(BRINGING)
        .try_collect()
        .await?;
    say("completing all of them");
    let before = watch.cpu()?;
    let verified = Instant::now();
    let ready = stream::iter(&brought)
        .map(Brought::until_ready)
        .buffer_unordered(brought.len().max(1))
        .try_collect::<Vec<f64>>();
    let most = AtomicI64::new(0);
    let mut seconds = tokio::select! {
        ready = ready => ready?,
        stopped = count_claimed(dock, &most) => match stopped? {},
    };
    let (all, most) = (verified.elapsed().as_secs_f64(), most.into_inner());
    verdict
        .note("verified_at_once", most)
        .promise("two are verified at a time", most <= 2)
        .note("many_verify_seconds", spread(&mut seconds))
        .note("many_in_all_seconds", rounded(all, 1))
        .note("many_cpu_seconds", watch.cpu_since(&before)?);
    judge_loads(verdict, "many", beside, verified);
    Ok(())
}

/// How many a worker has in hand at most; returns only when it cannot be told.
async fn count_claimed(dock: &Dock, most: &AtomicI64) -> Result<Infallible> {
    let query = "select count(*) from shard.file where node is not null";
    loop {
        for (_, pool) in &dock.shards {
            let asked = sqlx::query_scalar::<_, i64>(query).fetch_one(pool).await;
            most.fetch_max(asked.during("counting claims")?, Ordering::Relaxed);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn parties(dock: &Dock) -> Vec<Party> {
    let party = |name, pid: Option<u32>, is_family| {
        pid.map(|pid| Party {
            name,
            pid,
            is_family,
        })
    };
    let worker = dock.working.first().and_then(Process::pid);
    let all = [
        party("serve", dock.serving.pid(), false),
        // Its children read untrusted bytes, and their time is its own.
        party("work", worker, true),
        party("weed", dock.objects.pid(), false),
        party("clamd", dock.scanner.pid(), false),
        party("postgres", dock.postgres.pid(), true),
    ];
    all.into_iter().flatten().collect()
}

/// The next one whose organization lies on the shard.
fn caller(dock: &Dock) -> Result<&Caller> {
    let mut callers = dock.organizations.iter().zip(&dock.callers);
    let found = callers.find(|(organization, _)| organization.shard == SHARD);
    let (_, caller) = found.ok_or_else(|| Failure::new("nobody lies on the shard"))?;
    Ok(caller)
}

/// Made and hashed on a thread of its own: it takes seconds.
async fn made(size: u64) -> Result<Content> {
    let making = tokio::task::spawn_blocking(move || Content::from(Movie::new(size)));
    making.await.during("making a video")
}

async fn bring(caller: &Caller, content: &Content) -> Result<Brought> {
    let begun = Instant::now();
    let said = caller.create(content).await;
    let create = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let listed = caller.bring(said.upload(), content).await;
    let listed =
        listed.map_err(|refused| Failure::new(format!("{}; bringing: {refused}", said.line())))?;
    Ok(Brought {
        caller: caller.clone(),
        id: said.text("id").to_owned(),
        listed,
        create,
        upload: begun.elapsed().as_secs_f64(),
    })
}

impl Brought {
    /// Completes and waits; says how many seconds it took.
    async fn until_ready(&self) -> Result<f64> {
        let begun = Instant::now();
        let said = self.caller.complete(&self.id, &self.listed).await;
        if !matches!(said.status, 200 | 202) {
            return Err(Failure::new(format!("complete: {}", said.line())));
        }
        loop {
            let said = self.caller.find(&self.id).await;
            match said.text("status") {
                "ready" => return Ok(begun.elapsed().as_secs_f64()),
                "validating" if begun.elapsed() < PATIENCE => tokio::time::sleep(LOOK).await,
                _ => return Err(Failure::new(format!("not ready: {}", said.line()))),
            }
        }
    }
}

fn judge_memory(verdict: &mut Verdict, name: &str, watch: &Watch, calm: &Readings) {
    let most = watch.most();
    let mut told = Map::new();
    for (party, most) in &most {
        let growth = most - calm.get(party).copied().unwrap_or_default();
        let figures = json!({"most": rounded(*most, 1), "growth": rounded(growth, 1)});
        told.insert((*party).to_owned(), figures);
        if matches!(*party, "serve" | "work") {
            verdict.promise(
                format!("{party} grows by at most 64 MB ({name})"),
                growth <= MOST_GROWTH,
            );
        }
    }
    verdict.note(&format!("{name}_memory_megabytes"), Value::Object(told));
}

fn judge_loads(verdict: &mut Verdict, name: &str, beside: &Beside, from: Instant) {
    let mut taken = beside.milliseconds(from, Instant::now());
    let p99 = percentile(&mut taken, 990);
    verdict
        .note(&format!("{name}_load_milliseconds"), spread(&mut taken))
        .promise(
            format!("loads beside it have a p99 below 500 ms ({name})"),
            p99.is_some_and(|p99| p99 < MOST_P99),
        );
}

/// Seconds that the worker counted for its verifications.
async fn scanning(dock: &Dock) -> Result<f64> {
    let Some(worker) = dock.working.first() else {
        return Ok(0.0);
    };
    let metrics = worker.metrics().await?;
    Ok(rounded(metrics.sum(SCANNING), 1))
}
