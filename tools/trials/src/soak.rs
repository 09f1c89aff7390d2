//! Runs all chaos trials in turns, each in its own process, and sums up their results.

pub mod schedule;
pub mod summary;
pub mod trial_process;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::progress::report_progress;
use crate::harness::verdict::TrialVerdict;
use crate::options::{CommonOptions, SoakOptions};
use crate::soak::schedule::SoakSchedule;
use crate::soak::summary::SoakSummary;
use crate::soak::trial_process::TrialResult;

pub async fn run(common: &CommonOptions, options: &SoakOptions) -> Result<TrialVerdict> {
    let seed = options
        .seed
        .unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let mut schedule = SoakSchedule::new(
        seed,
        options.only.as_deref(),
        options.full,
        options.chaos_build.is_some(),
    );
    if schedule.is_empty() {
        return Err(TrialFailure::new(
            "no trial matches: check --only and --chaos-build",
        ));
    }
    let keep = options.keep.join(format!("seed-{seed}"));
    fs::create_dir_all(&keep).context("creating a folder for verdicts")?;
    let begun = Instant::now();
    let length = Duration::from_secs(options.minutes * 60);
    let mut sums = SoakSummary::default();
    let mut number = 0;
    while begun.elapsed() < length && !schedule.is_empty() {
        let arguments = schedule.draw_trial();
        number += 1;
        let line = arguments.join(" ");
        report_progress(format!("soak: {number}: {line}"));
        let folder = keep.join(format!("{number:03}"));
        let started = Instant::now();
        let result = trial_process::run_trial(common, options, &arguments, &folder).await?;
        if result.is_unknown {
            let _ = fs::remove_dir_all(&folder);
            schedule.remove(&arguments);
            sums.add_unknown(&line);
            continue;
        }
        schedule.record(&arguments, started.elapsed());
        append_verdict(&keep, number, &line, &result.verdict)?;
        report_progress(format!(
            "soak: {number}: {}",
            summary_line(&result, started.elapsed())
        ));
        if result.is_success {
            // Only the logs of failed trials are kept.
            fs::remove_dir_all(&folder).context("removing the logs of a trial")?;
        }
        sums.add(&line, &result, started.elapsed());
    }
    let mut verdict = TrialVerdict::new("soak");
    verdict
        .record("seed", seed)
        .record("minutes", begun.elapsed().as_secs() / 60)
        .record("kept", keep.display().to_string());
    sums.judge(&mut verdict);
    Ok(verdict)
}

fn summary_line(result: &TrialResult, took: Duration) -> String {
    let broken = result.verdict.get("broken").unwrap_or(&Value::Null);
    let how = if result.is_success { "ok" } else { "FAILED" };
    format!("{how} after {} s {broken}", took.as_secs())
}

/// Appends a verdict to the list of all verdicts.
fn append_verdict(keep: &Path, number: u32, arguments: &str, verdict: &Value) -> Result<()> {
    let file = keep.join("verdicts.jsonl");
    let list = fs::OpenOptions::new().create(true).append(true).open(file);
    let mut list = list.context("opening the list of verdicts")?;
    let line = json!({"number": number, "arguments": arguments, "verdict": verdict});
    writeln!(list, "{line}").context("writing a verdict")
}
