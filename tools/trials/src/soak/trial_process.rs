//! One trial in its own process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::servers::child_process::{ChildProcess, ChildProgram};
use crate::options::{CommonOptions, SoakOptions};
use crate::soak::schedule;

const TRIAL_TIMEOUT: Duration = Duration::from_mins(45);
/// How long a trial may take to end its processes.
const STOP_TIMEOUT: Duration = Duration::from_mins(1);
/// The exit code for an unknown verb or option.
const USAGE_ERROR_CODE: i32 = 2;

/// How a trial ended.
#[derive(Debug)]
pub struct TrialResult {
    /// The line of JSON at its end.
    pub verdict: Value,
    pub is_success: bool,
    /// The binary has no such trial.
    pub is_unknown: bool,
}

/// A running trial. On drop it first ends its own processes.
struct TrialProcess(ChildProcess);

impl Drop for TrialProcess {
    fn drop(&mut self) {
        self.0.terminate("TERM", STOP_TIMEOUT);
    }
}

/// Runs one trial to its end.
pub async fn run_trial(
    common: &CommonOptions,
    options: &SoakOptions,
    arguments: &[String],
    folder: &Path,
) -> Result<TrialResult> {
    fs::create_dir_all(folder).context("creating a folder for logs")?;
    let log = folder.join("trial.log");
    let program = build_program(common, options, arguments, folder)?;
    let mut trial = TrialProcess(program.start(&log)?);
    let ended = trial.0.wait_for_exit(TRIAL_TIMEOUT).await;
    drop(trial);
    let text = fs::read_to_string(&log).context("reading the output of a trial")?;
    let verdict = find_verdict(&text);
    let status = match ended {
        Ok(status) => status,
        Err(failure) => {
            return Ok(TrialResult {
                verdict: json!({"ok": false, "error": failure.to_string()}),
                is_success: false,
                is_unknown: false,
            });
        }
    };
    Ok(TrialResult {
        is_success: status.success() && verdict.is_some(),
        is_unknown: status.code() == Some(USAGE_ERROR_CODE) && verdict.is_none(),
        verdict: verdict.unwrap_or_else(|| json!({"ok": false, "error": format!("{status}")})),
    })
}

fn build_program(
    common: &CommonOptions,
    options: &SoakOptions,
    arguments: &[String],
    folder: &Path,
) -> Result<ChildProgram> {
    let ourselves = std::env::current_exe().context("finding this program")?;
    let longshored = match &options.chaos_build {
        Some(build) if schedule::is_submit(arguments) => build,
        _ => &common.longshored,
    };
    let text = |path: &Path| path.display().to_string();
    let given: [(&str, &PathBuf); 5] = [
        ("--longshored", longshored),
        ("--longshore", &common.longshore),
        ("--simulator", &common.simulator),
        ("--weed", &common.weed),
        ("--logs", &folder.to_path_buf()),
    ];
    let mut program = ChildProgram::new(ourselves);
    for (option, path) in given {
        program = program.with_arguments([option.to_owned(), text(path)]);
    }
    program = program.with_arguments(arguments.iter().cloned());
    program.parent_death_signal = "TERM";
    program
        .environment
        .push(("TMPDIR".to_owned(), text(&std::env::temp_dir())));
    Ok(program)
}

/// The last line, if it is a verdict.
fn find_verdict(text: &str) -> Option<Value> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let verdict: Value = serde_json::from_str(last).ok()?;
    verdict.get("ok").is_some().then_some(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_verdict() {
        let verdict = find_verdict("trials: settling\n{\"name\":\"chaos kill\",\"ok\":true}\n\n");
        assert_eq!(verdict.unwrap()["name"], "chaos kill");
        assert!(find_verdict("{\"name\":\"x\",\"ok\":true}\nerror: unknown").is_none());
        assert!(find_verdict("").is_none());
    }
}
