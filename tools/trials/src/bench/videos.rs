//! Videos of 1 GB from session to ready: one, then many at once, with loads in the background.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Map, Value, json};

use crate::harness::callbacks::callback_sink::{CallbackSink, SinkOptions};
use crate::harness::environment::files_environment::{FilesEnvironment, FilesEnvironmentOptions};
use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::http::files_client::FilesClient;
use crate::harness::load::background_load::BackgroundLoad;
use crate::harness::load::open_loop;
use crate::harness::measurement::process_monitor::{
    MonitoredProcess, ProcessMonitor, ReadingsByProcess,
};
use crate::harness::measurement::statistics::{percentile, round_to, summarize};
use crate::harness::progress::report_progress;
use crate::harness::sample_files::generated_video::GeneratedVideo;
use crate::harness::sample_files::upload_content::UploadContent;
use crate::harness::verdict::TrialVerdict;
use crate::options::{BenchVideosOptions, CommonOptions};

const MEBIBYTE: u64 = 1 << 20;
/// All organizations of a shard share its scan slots.
const SHARD: &str = "north";
const MAX_CONCURRENT_UPLOADS: usize = 2;
const IDLE_MEASUREMENT: Duration = Duration::from_secs(10);
const SMALL_IDLE_MEASUREMENT: Duration = Duration::from_secs(1);
const VERIFY_TIMEOUT: Duration = Duration::from_hours(1);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Seconds of the worker from claim to end.
const SCAN_SECONDS_METRIC: &str = "longshore_scan_duration_seconds_sum";
/// The bounds that the verdict checks.
const MAX_GROWTH_MEGABYTES: f64 = 64.0;
const MAX_P99_MILLISECONDS: f64 = 500.0;

/// A video in the store, and how many seconds each step took.
struct UploadedVideo {
    client: FilesClient,
    file_id: String,
    complete_body: Value,
    create_seconds: f64,
    upload_seconds: f64,
}

pub async fn run(common: &CommonOptions, options: &BenchVideosOptions) -> Result<TrialVerdict> {
    let plan = FilesEnvironmentOptions {
        organizations: 4,
        workers: 1,
        settings: &[("SCAN_TIMEOUT_SECONDS", "3600")],
    };
    let environment = FilesEnvironment::build(common, plan).await?;
    environment.wait_until_files_work().await?;
    let receiver = CallbackSink::start(SinkOptions::default()).await?;
    let background = BackgroundLoad::new(
        environment.server.address(),
        &receiver.url(),
        &environment.organizations,
    );
    let background = Arc::new(background);
    let load = |number| {
        let background = Arc::clone(&background);
        async move { background.send_load(number).await }
    };
    let mut verdict = TrialVerdict::new("bench videos").judging_figures(!options.small);
    let measuring = measure(&environment, options, &background, &mut verdict);
    let (offered, measured) = open_loop::offer_loads_during(options.rate, load, measuring).await;
    measured?;
    verdict
        .record("loads", offered.loads)
        .record("failed_loads", background.failures())
        .check("every load is accepted", background.all_were_accepted());
    Ok(verdict)
}

async fn measure(
    environment: &FilesEnvironment,
    options: &BenchVideosOptions,
    background: &BackgroundLoad,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let size = options.megabytes * MEBIBYTE;
    let watch = ProcessMonitor::start(monitored_processes(environment));
    let idle = if options.small {
        SMALL_IDLE_MEASUREMENT
    } else {
        IDLE_MEASUREMENT
    };
    report_progress(format!("background loads only, for {} s", idle.as_secs()));
    let begun = Instant::now();
    tokio::time::sleep(idle).await;
    let mut idle = background.accepted_milliseconds(begun, Instant::now());
    verdict.record("idle_load_milliseconds", summarize(&mut idle));

    report_progress(format!("one video of {} MB", options.megabytes));
    let calm = watch.reset_peak();
    let content = generate_video(size).await?;
    let begun = Instant::now();
    let before = watch.read_cpu()?;
    let video = upload_video(find_client(environment)?, &content).await?;
    let verified = Instant::now();
    let waited = video.wait_until_ready().await?;
    let steps = json!({
        "create": round_to(video.create_seconds, 2),
        "upload": round_to(video.upload_seconds, 1),
        "verify": round_to(waited, 1),
        "in_all": round_to(begun.elapsed().as_secs_f64(), 1),
    });
    verdict
        .record("one_video_seconds", steps)
        .record("one_video_cpu_seconds", watch.cpu_since(&before)?)
        .record("worker_scan_seconds", read_scan_seconds(environment).await?);
    judge_memory(verdict, "one", &watch, &calm);
    judge_loads(verdict, "one", background, verified);

    if options.count > 0 {
        measure_many(environment, options, background, &watch, verdict).await?;
        judge_memory(verdict, "many", &watch, &calm);
    }
    Ok(())
}

async fn measure_many(
    environment: &FilesEnvironment,
    options: &BenchVideosOptions,
    background: &BackgroundLoad,
    watch: &ProcessMonitor,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    report_progress(format!("uploading {} videos", options.count));
    let uploads = (0..options.count).map(|_| async {
        let content = generate_video(options.megabytes * MEBIBYTE).await?;
        upload_video(find_client(environment)?, &content).await
    });
    let videos: Vec<UploadedVideo> = stream::iter(uploads)
        .buffered(MAX_CONCURRENT_UPLOADS)
        .try_collect()
        .await?;
    report_progress("completing all videos");
    let before = watch.read_cpu()?;
    let verified = Instant::now();
    let ready = stream::iter(&videos)
        .map(UploadedVideo::wait_until_ready)
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
    judge_loads(verdict, "many", background, verified);
    Ok(())
}

/// Records the most files that were claimed at once; returns only when a query fails.
async fn track_max_claimed(environment: &FilesEnvironment, most: &AtomicI64) -> Result<Infallible> {
    let query = "select count(*) from shard.file where node is not null";
    loop {
        for (_, pool) in &environment.shards {
            let claimed = sqlx::query_scalar::<_, i64>(query).fetch_one(pool).await;
            most.fetch_max(claimed.context("counting claims")?, Ordering::Relaxed);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn monitored_processes(environment: &FilesEnvironment) -> Vec<MonitoredProcess> {
    let process = |name, pid: Option<u32>, is_family| {
        pid.map(|pid| MonitoredProcess {
            name,
            pid,
            includes_children: is_family,
        })
    };
    let worker = environment.workers.first().and_then(|it| it.child.pid());
    let all = [
        process("serve", environment.server.child.pid(), false),
        // Its children parse untrusted bytes, and their CPU time counts as the worker's.
        process("work", worker, true),
        process("weed", environment.object_store.child.pid(), false),
        process("clamd", environment.scanner.child.pid(), false),
        process("postgres", environment.postgres.child.pid(), true),
    ];
    all.into_iter().flatten().collect()
}

/// The first client whose organization is on the shard.
fn find_client(environment: &FilesEnvironment) -> Result<&FilesClient> {
    let mut callers = environment.organizations.iter().zip(&environment.clients);
    let found = callers.find(|(organization, _)| organization.shard == SHARD);
    let (_, caller) = found.ok_or_else(|| TrialFailure::new("no organization is on the shard"))?;
    Ok(caller)
}

/// Runs on a blocking thread: generating and hashing takes seconds.
async fn generate_video(size: u64) -> Result<UploadContent> {
    let making =
        tokio::task::spawn_blocking(move || UploadContent::from(GeneratedVideo::new(size)));
    making.await.context("generating a video")
}

async fn upload_video(caller: &FilesClient, content: &UploadContent) -> Result<UploadedVideo> {
    let begun = Instant::now();
    let response = caller.create_file(content).await;
    let create = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let listed = caller.upload_all(response.upload_grant(), content).await;
    let listed = listed.map_err(|refused| {
        TrialFailure::new(format!("{}; uploading: {refused}", response.summary()))
    })?;
    Ok(UploadedVideo {
        client: caller.clone(),
        file_id: response.string_field("id").to_owned(),
        complete_body: listed,
        create_seconds: create,
        upload_seconds: begun.elapsed().as_secs_f64(),
    })
}

impl UploadedVideo {
    /// Completes the file and waits; returns the seconds.
    async fn wait_until_ready(&self) -> Result<f64> {
        let begun = Instant::now();
        let response = self
            .client
            .complete_file(&self.file_id, &self.complete_body)
            .await;
        if !matches!(response.status, 200 | 202) {
            return Err(TrialFailure::new(format!(
                "complete: {}",
                response.summary()
            )));
        }
        loop {
            let response = self.client.find_file(&self.file_id).await;
            match response.string_field("status") {
                "ready" => return Ok(begun.elapsed().as_secs_f64()),
                "validating" if begun.elapsed() < VERIFY_TIMEOUT => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                _ => {
                    return Err(TrialFailure::new(format!(
                        "not ready: {}",
                        response.summary()
                    )));
                }
            }
        }
    }
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
    verdict.record(
        &format!("{name}_memory_megabytes"),
        Value::Object(by_process),
    );
}

fn judge_loads(verdict: &mut TrialVerdict, name: &str, background: &BackgroundLoad, from: Instant) {
    let mut taken = background.accepted_milliseconds(from, Instant::now());
    let p99 = percentile(&mut taken, 990);
    verdict
        .record(&format!("{name}_load_milliseconds"), summarize(&mut taken))
        .check_figure(
            format!("background loads have a p99 below 500 ms ({name})"),
            p99.is_some_and(|p99| p99 < MAX_P99_MILLISECONDS),
        );
}

/// Seconds that the worker spent on verification, from its metrics.
async fn read_scan_seconds(environment: &FilesEnvironment) -> Result<f64> {
    let Some(worker) = environment.workers.first() else {
        return Ok(0.0);
    };
    let metrics = worker.scrape_metrics().await?;
    Ok(round_to(metrics.sum(SCAN_SECONDS_METRIC), 1))
}
