//! All trials of chaos in turns, each a process of its own, and what they come to.

pub mod schedule;
pub mod sums;
pub mod trial;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::failure::{During as _, Failure, Result};
use crate::options::{Common, SoakOptions};
use crate::progress::say;
use crate::soak::schedule::Schedule;
use crate::soak::sums::Sums;
use crate::soak::trial::TrialResult;
use crate::verdict::Verdict;

pub async fn run(common: &Common, options: &SoakOptions) -> Result<Verdict> {
    let seed = options
        .seed
        .unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let mut schedule = Schedule::new(seed, options.only.as_deref(), options.chaos_build.is_some());
    if schedule.is_empty() {
        return Err(Failure::new("no trial of the table is left to run"));
    }
    let keep = options.keep.join(format!("seed-{seed}"));
    fs::create_dir_all(&keep).during("making a folder for the verdicts")?;
    let begun = Instant::now();
    let length = Duration::from_secs(options.minutes * 60);
    let mut sums = Sums::default();
    let mut number = 0;
    while begun.elapsed() < length && !schedule.is_empty() {
        let arguments = schedule.draw();
        number += 1;
        let line = arguments.join(" ");
        say(format!("soak: {number}: {line}"));
        let folder = keep.join(format!("{number:03}"));
        let started = Instant::now();
        let result = trial::run(common, options, &arguments, &folder).await?;
        if result.is_unknown {
            let _ = fs::remove_dir_all(&folder);
            schedule.forget(&arguments);
            sums.unknown(&line);
            continue;
        }
        schedule.record(&arguments, started.elapsed());
        append(&keep, number, &line, &result.verdict)?;
        say(format!(
            "soak: {number}: {}",
            summary(&result, started.elapsed())
        ));
        if result.is_success {
            // Only what went wrong is worth its logs.
            fs::remove_dir_all(&folder).during("removing the logs of a trial")?;
        }
        sums.add(&line, &result, started.elapsed());
    }
    let mut verdict = Verdict::new("soak");
    verdict
        .note("seed", seed)
        .note("minutes", begun.elapsed().as_secs() / 60)
        .note("kept", keep.display().to_string());
    sums.judge(&mut verdict);
    Ok(verdict)
}

fn summary(result: &TrialResult, took: Duration) -> String {
    let broken = result.verdict.get("broken").unwrap_or(&Value::Null);
    let how = if result.is_success { "ok" } else { "FAILED" };
    format!("{how} after {} s {broken}", took.as_secs())
}

/// Adds a verdict to the list of all.
fn append(keep: &Path, number: u32, arguments: &str, verdict: &Value) -> Result<()> {
    let file = keep.join("verdicts.jsonl");
    let list = fs::OpenOptions::new().create(true).append(true).open(file);
    let mut list = list.during("opening the list of verdicts")?;
    let line = json!({"number": number, "arguments": arguments, "verdict": verdict});
    writeln!(list, "{line}").during("writing a verdict")
}
