//! Videos of 1 GB from session to ready: one, then many at once, with loads in the background.

use std::convert::Infallible;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Map, Value, json};

use crate::harness::load::open_loop;
use crate::harness::{
    Deployment, FailureContext as _, FilesClient, FilesEnvironment, FilesResponse, GeneratedVideo,
    LoadLog, MonitoredProcess, PollLimits, ProcessMonitor, ReadingsByProcess, Result, StagedUpload,
    TrialFailure, TrialVerdict, UploadContent, judge, percentile, report_progress, round_to,
    summarize,
};
use crate::options::{BenchVideosOptions, CommonOptions};

const MEBIBYTE: u64 = 1 << 20;
/// All organizations of a shard share its scan slots.
const SHARD: &str = "north";
const MAX_CONCURRENT_UPLOADS: usize = 2;
const IDLE_MEASUREMENT: Duration = Duration::from_secs(10);
const SMALL_IDLE_MEASUREMENT: Duration = Duration::from_secs(1);
const COMPLETE_TIMEOUT: Duration = Duration::from_mins(2);
const VERIFY_TIMEOUT: Duration = Duration::from_hours(1);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Seconds of the worker from claim to end.
const SCAN_SECONDS_METRIC: &str = "longshore_scan_duration_seconds_sum";
/// The bounds that the verdict checks.
const MAX_GROWTH_MEGABYTES: f64 = 64.0;
const MAX_P99_MILLISECONDS: f64 = 500.0;

pub async fn run(common: &CommonOptions, options: &BenchVideosOptions) -> Result<TrialVerdict> {
    let deployment = Deployment::one_serve("", 1)
        .with_organizations(4)
        .with("SCAN_TIMEOUT_SECONDS", "3600");
    let environment = FilesEnvironment::build(common, deployment).await?;
    let loads = &environment.service.callers.load_log;
    let load = open_loop::load_each_in_turn(&environment.service.callers);
    let mut verdict = TrialVerdict::new("bench videos").judging_figures(!options.small);
    let measuring = measure(&environment, options, loads, &mut verdict);
    let (offered, measured) = open_loop::offer_loads_during(options.rate, load, measuring).await;
    measured?;
    verdict
        .record("loads", offered.loads)
        .record("failed_loads", loads.failures_by_reason());
    loads.judge_acceptance(&mut verdict);
    Ok(verdict)
}

async fn measure(
    environment: &FilesEnvironment,
    options: &BenchVideosOptions,
    loads: &LoadLog,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let size = options.megabytes * MEBIBYTE;
    let watch = ProcessMonitor::start(monitored_processes(environment)?);
    let idle = if options.small {
        SMALL_IDLE_MEASUREMENT
    } else {
        IDLE_MEASUREMENT
    };
    report_progress(format!("background loads only, for {} s", idle.as_secs()));
    let begun = Instant::now();
    tokio::time::sleep(idle).await;
    let mut idle = loads.accepted_milliseconds(begun, Instant::now());
    verdict.record("idle_load_milliseconds", summarize(&mut idle));

    report_progress(format!("one video of {} MB", options.megabytes));
    let calm = watch.reset_peak();
    let content = generate_video(size).await?;
    let begun = Instant::now();
    let before = watch.read_cpu()?;
    let video = stage_video(environment, &content).await?;
    let verified = Instant::now();
    let waited = wait_until_ready(&video).await?;
    let steps = json!({
        "create": round_to(video.create_duration.as_secs_f64(), 2),
        "upload": round_to(video.upload_duration.as_secs_f64(), 1),
        "verify": round_to(waited, 1),
        "in_all": round_to(begun.elapsed().as_secs_f64(), 1),
    });
    verdict
        .record("one_video_seconds", steps)
        .record("one_video_cpu_seconds", watch.cpu_since(&before)?)
        .record("worker_scan_seconds", read_scan_seconds(environment).await?);
    judge_memory(verdict, "one", &watch, &calm);
    judge_loads(verdict, "one", loads, verified);

    if options.count > 0 {
        measure_many(environment, options, loads, &watch, verdict).await?;
        judge_memory(verdict, "many", &watch, &calm);
    }
    Ok(())
}

async fn measure_many(
    environment: &FilesEnvironment,
    options: &BenchVideosOptions,
    loads: &LoadLog,
    watch: &ProcessMonitor,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    report_progress(format!("uploading {} videos", options.count));
    let uploads = (0..options.count).map(|_| async {
        let content = generate_video(options.megabytes * MEBIBYTE).await?;
        stage_video(environment, &content).await
    });
    let videos: Vec<StagedUpload> = stream::iter(uploads)
        .buffered(MAX_CONCURRENT_UPLOADS)
        .try_collect()
        .await?;
    report_progress("completing all videos");
    let before = watch.read_cpu()?;
    let verified = Instant::now();
    let ready = stream::iter(&videos)
        .map(wait_until_ready)
        .buffer_unordered(videos.len().max(1))
        .try_collect::<Vec<f64>>();
    let most = AtomicI64::new(0);
    let mut seconds = tokio::select! {
        ready = ready => ready?,
        stopped = track_max_claimed(environment, &most) => match stopped? {},
    };
    let (all, most) = (verified.elapsed().as_secs_f64(), most.into_inner());
    verdict
        .record("verified_at_once", most)
        .check("at most two files are verified at a time", most <= 2)
        .record("many_verify_seconds", summarize(&mut seconds))
        .record("many_in_all_seconds", round_to(all, 1))
        .record("many_cpu_seconds", watch.cpu_since(&before)?);
    judge_loads(verdict, "many", loads, verified);
    Ok(())
}

/// Records the most files that were claimed at once; returns only when a query fails.
async fn track_max_claimed(environment: &FilesEnvironment, most: &AtomicI64) -> Result<Infallible> {
    let query = "select count(*) from shard.file where node is not null";
    loop {
        for (_, pool) in &environment.service.shards {
            let claimed = sqlx::query_scalar::<_, i64>(query).fetch_one(pool).await;
            most.fetch_max(claimed.context("counting claims")?, Ordering::Relaxed);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn monitored_processes(environment: &FilesEnvironment) -> Result<Vec<MonitoredProcess>> {
    let service = &environment.service;
    let worker = service.worker()?.child.pid();
    let postgres = service.database_server()?.child.pid();
    let all = [
        MonitoredProcess::new("serve", service.server()?.child.pid(), false),
        // Its children parse untrusted bytes, and their CPU time counts as the worker's.
        MonitoredProcess::new("work", worker, true),
        MonitoredProcess::new("weed", environment.object_store.child.pid(), false),
        MonitoredProcess::new("clamd", environment.scanner.child.pid(), false),
        MonitoredProcess::new("postgres", postgres, true),
    ];
    Ok(all.into_iter().flatten().collect())
}

/// The first client whose organization is on the shard.
fn find_client(environment: &FilesEnvironment) -> Result<&FilesClient> {
    let organizations = &environment.service.callers.organizations;
    let mut callers = organizations.iter().zip(&environment.clients);
    let found = callers.find(|(organization, _)| organization.shard == SHARD);
    let (_, caller) = found.context("no organization is on the shard")?;
    Ok(caller)
}

/// Runs on a blocking thread: generating and hashing takes seconds.
async fn generate_video(size: u64) -> Result<UploadContent> {
    let making =
        tokio::task::spawn_blocking(move || UploadContent::from(GeneratedVideo::new(size)));
    making.await.context("generating a video")
}

async fn stage_video(
    environment: &FilesEnvironment,
    content: &UploadContent,
) -> Result<StagedUpload> {
    let staged = find_client(environment)?.stage(content).await;
    staged.map_err(TrialFailure::new)
}

/// Completes the file and waits; returns the seconds.
async fn wait_until_ready(video: &StagedUpload) -> Result<f64> {
    let begun = Instant::now();
    let limits = PollLimits::new(COMPLETE_TIMEOUT, POLL_INTERVAL);
    let complete = async || Ok(video.complete().await);
    let response = limits.read_until(|it| !it.is_retryable(), complete);
    let response = response.await?;
    if !matches!(response.status, 200 | 202) {
        let text = format!("complete: {}", response.summary());
        return Err(TrialFailure::new(text));
    }
    let limits = PollLimits::new(VERIFY_TIMEOUT, POLL_INTERVAL);
    let is_over = |it: &FilesResponse| it.string_field("status") != "validating";
    let find = async || Ok(video.find().await);
    let response = limits.read_until(is_over, find).await?;
    if response.string_field("status") == "ready" {
        return Ok(begun.elapsed().as_secs_f64());
    }
    let text = format!("not ready: {}", response.summary());
    Err(TrialFailure::new(text))
}

fn judge_memory(
    verdict: &mut TrialVerdict,
    name: &str,
    watch: &ProcessMonitor,
    calm: &ReadingsByProcess,
) {
    let most = watch.peak_memory();
    let mut by_process = Map::new();
    for (process, most) in &most {
        let growth = most - calm.get(process).copied().unwrap_or_default();
        let figures = json!({"most": round_to(*most, 1), "growth": round_to(growth, 1)});
        by_process.insert((*process).to_owned(), figures);
        if matches!(*process, "serve" | "work") {
            verdict.check_figure(
                format!("{process} grows by at most 64 MB ({name})"),
                growth <= MAX_GROWTH_MEGABYTES,
            );
        }
    }
    judge! { verdict;
        record &format!("{name}_memory_megabytes") => Value::Object(by_process),
    }
}

fn judge_loads(verdict: &mut TrialVerdict, name: &str, loads: &LoadLog, from: Instant) {
    let mut taken = loads.accepted_milliseconds(from, Instant::now());
    let p99 = percentile(&mut taken, 990);
    judge! { verdict;
        record &format!("{name}_load_milliseconds") => summarize(&mut taken),
        check_figure format!("background loads have a p99 below 500 ms ({name})") =>
            p99.is_some_and(|p99| p99 < MAX_P99_MILLISECONDS),
    }
}

/// Seconds that the worker spent on verification, from its metrics.
async fn read_scan_seconds(environment: &FilesEnvironment) -> Result<f64> {
    let metrics = environment.service.worker()?.scrape_metrics().await?;
    Ok(round_to(metrics.sum(SCAN_SECONDS_METRIC), 1))
}
