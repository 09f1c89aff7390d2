//! Uploads with every kind of fault, a flaky store, and workers that are killed.

pub mod fault_kind;
pub mod upload_scenario;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use serde_json::json;

use crate::chaos::files::upload_scenario::{ExpectedEnd, UploadRecord};
use crate::harness::checks::bucket_reconciliation;
use crate::harness::checks::content_audit;
use crate::harness::environment::databases;
use crate::harness::{
    Deployment, FilesEnvironment, LongshoredProcess, RelayBehaviour, Result, TrialVerdict, judge,
    report_progress,
};
use crate::options::{ChaosFilesOptions, CommonOptions};

const ORGANIZATIONS: usize = 8;
/// Fewer per project than it may have open.
const MAX_CONCURRENT_UPLOADS: usize = 48;
/// Percent of connections to the store that are cut early; as many are slow.
const FLAKY_PERCENT: u32 = 15;
const SETTLE_TIMEOUT: Duration = Duration::from_mins(3);
const SETTINGS: [(&str, &str); 6] = [
    ("UPLOAD_GRANT_SECONDS", "20"),
    ("UPLOAD_ABANDON_SECONDS", "15"),
    ("PATROL_SECONDS", "3"),
    ("COMPLETE_WAIT_SECONDS", "3"),
    ("SCAN_TIMEOUT_SECONDS", "30"),
    ("LEASE_SECONDS", "5"),
];

pub async fn run(common: &CommonOptions, options: &ChaosFilesOptions) -> Result<TrialVerdict> {
    let deployment = Deployment::one_serve("", 2)
        .with_organizations(ORGANIZATIONS)
        .with_settings(&SETTINGS);
    let mut environment = FilesEnvironment::build(common, deployment).await?;
    report_progress(format!("{} uploads", options.uploads));
    environment
        .store_relay
        .set_behaviour(RelayBehaviour::Flaky {
            percent: FLAKY_PERCENT,
        });
    let begun = Instant::now();
    let mut processes = std::mem::take(&mut environment.service.processes);
    let kills = AtomicU64::new(0);
    let records = tokio::select! {
        records = run_uploads(&environment, options.uploads) => records,
        killed = kill_workers(&mut processes, &kills) => match killed? {},
    };
    let (seconds, kills) = (begun.elapsed().as_secs(), kills.into_inner());
    report_progress(format!(
        "{kills} workers killed in {seconds} s; waiting for completion"
    ));
    environment.store_relay.set_behaviour(RelayBehaviour::Pass);
    environment.service.processes = processes;
    let survey = bucket_reconciliation::wait_until_reconciled(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("chaos files");
    verdict
        .record("uploads", options.uploads)
        .record("seconds", seconds)
        .record("kills", kills)
        .check("a worker was killed", kills > 0);
    judge_faults(&mut verdict, &environment);
    judge_uploads(&mut verdict, &environment, &records).await?;
    survey.judge(&mut verdict);
    content_audit::audit_files(&environment)
        .await?
        .judge(&mut verdict);
    Ok(verdict)
}

async fn run_uploads(environment: &FilesEnvironment, uploads: usize) -> Vec<UploadRecord> {
    let ended = AtomicU64::new(0);
    let playing = (0..uploads).map(|number| {
        let (callers, ended) = (&environment.clients, &ended);
        async move {
            let caller = number % callers.len().max(1);
            let record = match callers.get(caller) {
                Some(it) => upload_scenario::run_scenario(it, caller, number).await,
                None => UploadRecord::default(),
            };
            let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
            if ended.is_multiple_of(200) {
                report_progress(format!("{ended} uploads ended"));
            }
            record
        }
    });
    stream::iter(playing)
        .buffer_unordered(MAX_CONCURRENT_UPLOADS)
        .collect()
        .await
}

/// Kills a worker every 2 to 4 seconds; returns only with a failure.
async fn kill_workers(
    processes: &mut [LongshoredProcess],
    kills: &AtomicU64,
) -> Result<Infallible> {
    let workers = processes.iter_mut().filter(|it| !it.serves_callers());
    let mut working: Vec<&mut LongshoredProcess> = workers.collect();
    loop {
        let pause = Duration::from_millis(rand::random_range(2000..=4000));
        tokio::time::sleep(pause).await;
        let which = rand::random_range(0..working.len());
        let Some(process) = working.get_mut(which) else {
            continue;
        };
        process.child.check_running()?;
        process.child.kill();
        process.start()?;
        kills.fetch_add(1, Ordering::Relaxed);
    }
}

fn judge_faults(verdict: &mut TrialVerdict, environment: &FilesEnvironment) {
    let done = &environment.store_relay.counts;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    judge! { verdict;
        record "connections_to_the_store" =>
            json!({"all": read(&done.connections), "cut": read(&done.cut),
                "slowed": read(&done.slowed)}),
        check "connections to the store were cut" => read(&done.cut) > 0,
    }
}

/// Compares how each upload ended with how it had to end.
async fn judge_uploads(
    verdict: &mut TrialVerdict,
    environment: &FilesEnvironment,
    records: &[UploadRecord],
) -> Result<()> {
    let suspected = find_poison_pills(environment).await?;
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for one in records {
        let session = environment
            .clients
            .get(one.client)
            .zip(one.file_id.as_deref());
        let Some((caller, id)) = session else {
            *outcomes.entry("no session".to_owned()).or_default() += 1;
            wrong.push(format!("{:?}: {}", one.fault, one.details));
            continue;
        };
        let ended = caller.find_file(id).await;
        let (status, reason) = (
            ended.string_field("status"),
            ended.string_field("failure_reason"),
        );
        let outcome = format!("{status} {reason}").trim().to_owned();
        *outcomes.entry(outcome.clone()).or_default() += 1;
        let held = match one.expected {
            ExpectedEnd::Ready => status == "ready" || suspected.contains(id),
            ExpectedEnd::NotReady => matches!(status, "failed" | "expired"),
            ExpectedEnd::AnyEnd => matches!(status, "ready" | "failed" | "expired"),
        };
        if !held {
            wrong.push(format!("{:?} {id}: {outcome}: {}", one.fault, one.details));
        }
    }
    let late = records.iter().filter(|one| one.is_late).count();
    verdict
        .record("outcomes", json!(outcomes))
        .record("too_slow_to_tell", late)
        .record("failed_as_poison_pills", suspected.len())
        .check_none("every upload ended as expected", "unexpected_ends", &wrong);
    Ok(())
}

/// Files that the service failed as poison pills, because too many workers died with them.
async fn find_poison_pills(environment: &FilesEnvironment) -> Result<BTreeSet<String>> {
    let query = "select 'file_' || replace(id::text, '-', '') from shard.file
        where takeovers >= 5 and status = 'failed' and failure_reason like 'malformed%'";
    let found: Vec<(String,)> = databases::fetch_rows(&environment.service.shards, query).await?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}
