//! Processes whose clocks are ten minutes off: the database's clock is the one that counts.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use std::sync::Arc;

use crate::chaos::scene::{Deployment, ProcessSpec, Scene, Servers, Storage};
use crate::chaos::{settle, traffic};
use crate::failure::{Failure, Result};
use crate::figures;
use crate::options::{Common, OverloadOptions};
use crate::progress::say;
use crate::receiver;
use crate::verdict::Verdict;

/// Where Debian puts the library that shifts the clock of one process.
const LIBRARIES: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
];
const OFF_SECONDS: f64 = 600.0;
const OFF_TOLERANCE: f64 = 30.0;
const RATE: u32 = 40;
/// How long the mock takes; no callback may come before.
const MOCK_DELAY: f64 = 3.0;
/// Whatever a loaded machine adds to the mock's delay, and to the delay of a retry.
const MAX_LATE: f64 = 15.0;
/// An acknowledgement reaches us a moment after the commit that the delay counts from.
const ACKNOWLEDGEMENT: f64 = 1.0;
/// Of so many cargo one has its first callback refused; the retry is due after 30 s.
const REFUSED_FIRST: u128 = 16;
const RETRY_DELAY: f64 = 30.0;
const SETTLE_WITHIN: Duration = Duration::from_secs(90);

pub(super) async fn run(common: &Common, options: &OverloadOptions) -> Result<Verdict> {
    let library = LIBRARIES.iter().map(PathBuf::from);
    let library = library.into_iter().find(|path| path.exists());
    let library = library.ok_or_else(|| Failure::new("libfaketime is missing: ./dev deps"))?;
    let library = library.display().to_string();
    let mut plan = Deployment::of(vec![
        shifted("serve", "serve-ahead", "+600s", &library),
        shifted("serve", "serve-behind", "-600s", &library),
        shifted("work", "work-ahead", "+600s", &library),
        shifted("work", "work-behind", "-600s", &library),
    ]);
    let delay = ("MOCK_DELAY_SECONDS", format!("{MOCK_DELAY:.0}"));
    plan.settings.push(delay);
    plan.refused_first = Some(REFUSED_FIRST);
    let storage = Storage::create(Servers::OneForAll).await?;
    let scene = Scene::with(common, storage, plan).await?;

    let length = Duration::from_secs(options.seconds);
    let count = scene.callers.targets.len().max(1);
    traffic::offer(RATE, tokio::time::sleep(length), |number| {
        let callers = Arc::clone(&scene.callers);
        let place = usize::try_from(number).unwrap_or_default() % count;
        async move {
            traffic::load_once(&callers, place, number).await;
        }
    })
    .await;
    let offsets = offsets(&scene).await?;
    let now = milliseconds_now();
    say("settling");
    let settled = settle::settle(&scene, SETTLE_WITHIN).await?;

    let mut verdict = Verdict::new("clocks");
    settled.judge(&scene.callers, &mut verdict);
    let all_off = offsets.iter().zip([-1.0, 1.0, -1.0, 1.0]);
    let all_off = all_off
        .into_iter()
        .all(|(offset, sign)| (offset - sign * OFF_SECONDS).abs() < OFF_TOLERANCE);
    verdict
        .note("database_ahead_seconds", offsets)
        .promise("the clocks were off", all_off)
        .promise(
            "every load was accepted",
            scene.callers.ledger.failed() == 0,
        );
    judge_ids(&scene, now, length, &mut verdict);
    judge_schedule(&scene, &mut verdict);
    Ok(verdict)
}

fn shifted(verb: &'static str, name: &str, shift: &str, library: &str) -> ProcessSpec {
    let mut role = ProcessSpec::new(verb, name);
    // Only the time of day is shifted: no real host's monotonic clock jumps.
    let environment = [
        ("LD_PRELOAD", library),
        ("FAKETIME", shift),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    role.environment = environment.to_vec();
    role
}

/// How far each process finds the first shard's clock ahead of its own.
async fn offsets(scene: &Scene) -> Result<Vec<f64>> {
    let mut offsets = Vec::new();
    for process in &scene.processes {
        let metrics = process.metrics().await?;
        // Control and both shards are one server.
        offsets.push(figures::rounded(
            metrics.sum("clock_offset_seconds") / 3.0,
            1,
        ));
    }
    Ok(offsets)
}

fn milliseconds_now() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis())
}

/// A cargo's id carries its time, and deadlines follow from it.
fn judge_ids(scene: &Scene, now: u128, length: Duration, verdict: &mut Verdict) {
    let loaded = scene.callers.ledger.loaded();
    let earliest = now.saturating_sub(length.as_millis() + 10_000);
    let is_right = |cargo: &u128| (earliest..=now + 2_000).contains(&(cargo >> 80));
    let wrong = loaded.keys().filter(|cargo| !is_right(cargo)).count();
    verdict
        .note("ids_with_a_wrong_time", wrong)
        .promise("ids carry the database's time", wrong == 0);
}

fn judge_schedule(scene: &Scene, verdict: &mut Verdict) {
    let (mut first, mut retries) = (Vec::new(), Vec::new());
    let mut missing_retries = 0;
    for (cargo, loaded) in scene.callers.ledger.loaded() {
        let Some(receipt) = scene.callers.receipts.find(cargo) else {
            continue;
        };
        let waited = receipt.first.saturating_duration_since(loaded.at);
        first.push(waited.as_secs_f64());
        if receiver::is_one_of(cargo, REFUSED_FIRST) {
            if receipt.count > 1 {
                retries.push((receipt.last - receipt.first).as_secs_f64());
            } else {
                missing_retries += 1;
            }
        }
    }
    let within = |values: &[f64], least: f64, most: f64| {
        values.iter().all(|value| (least..=most).contains(value))
    };
    verdict
        .note("callback_seconds", figures::spread(&mut first))
        .note("retry_seconds", figures::spread(&mut retries))
        .note("retries", retries.len())
        .promise(
            "no callback is early or late",
            within(&first, MOCK_DELAY - ACKNOWLEDGEMENT, MOCK_DELAY + MAX_LATE),
        )
        .promise(
            "no retry is early or late",
            missing_retries == 0
                && !retries.is_empty()
                && within(&retries, RETRY_DELAY - 0.1, RETRY_DELAY + MAX_LATE),
        );
}
