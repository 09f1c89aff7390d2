//! One trial as a process of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Program};
use crate::failure::{During as _, Result};
use crate::options::{Common, SoakOptions};
use crate::soak::schedule;

/// No trial takes longer.
const MAX_TRIAL: Duration = Duration::from_mins(45);
/// What a trial may take to end its own processes.
const STOPPING: Duration = Duration::from_mins(1);
/// How the command line answers a verb or an option that it does not know.
const USAGE_ERROR: i32 = 2;

/// How a trial ended.
#[derive(Debug)]
pub struct TrialResult {
    /// The line of JSON that it ended with.
    pub verdict: Value,
    pub is_success: bool,
    /// The binary has no such trial.
    pub is_unknown: bool,
}

/// A running trial. Dropped, it ends its own processes first.
struct Trial(Daemon);

impl Drop for Trial {
    fn drop(&mut self) {
        self.0.end_politely("TERM", STOPPING);
    }
}

/// Runs one trial to its end.
pub async fn run(
    common: &Common,
    options: &SoakOptions,
    arguments: &[String],
    folder: &Path,
) -> Result<TrialResult> {
    fs::create_dir_all(folder).during("making a folder for logs")?;
    let log = folder.join("trial.log");
    let program = program(common, options, arguments, folder)?;
    let mut trial = Trial(program.start(&log)?);
    let ended = trial.0.ended(MAX_TRIAL).await;
    drop(trial);
    let text = fs::read_to_string(&log).during("reading what a trial said")?;
    let verdict = verdict_in(&text);
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
        is_unknown: status.code() == Some(USAGE_ERROR) && verdict.is_none(),
        verdict: verdict.unwrap_or_else(|| json!({"ok": false, "error": format!("{status}")})),
    })
}

fn program(
    common: &Common,
    options: &SoakOptions,
    arguments: &[String],
    folder: &Path,
) -> Result<Program> {
    let ourselves = std::env::current_exe().during("finding this program")?;
    let longshored = match &options.chaos_build {
        Some(build) if schedule::is_submit(arguments) => build,
        _ => &common.longshored,
    };
    let text = |path: &Path| path.display().to_string();
    let given: [(&str, &PathBuf); 4] = [
        ("--longshored", longshored),
        ("--simulator", &common.simulator),
        ("--weed", &common.weed),
        ("--logs", &folder.to_path_buf()),
    ];
    let mut program = Program::new(ourselves);
    for (option, path) in given {
        program = program.arguments([option.to_owned(), text(path)]);
    }
    program = program.arguments(arguments.iter().cloned());
    program.at_our_death = "TERM";
    program
        .environment
        .push(("TMPDIR".to_owned(), text(&std::env::temp_dir())));
    Ok(program)
}

/// The last line, if it is a verdict.
fn verdict_in(text: &str) -> Option<Value> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let verdict: Value = serde_json::from_str(last).ok()?;
    verdict.get("ok").is_some().then_some(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_verdict() {
        let verdict = verdict_in("trials: settling\n{\"name\":\"chaos kill\",\"ok\":true}\n\n");
        assert_eq!(verdict.unwrap()["name"], "chaos kill");
        assert!(verdict_in("{\"name\":\"x\",\"ok\":true}\nerror: unknown").is_none());
        assert!(verdict_in("").is_none());
    }
}
