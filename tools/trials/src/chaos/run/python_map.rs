//! `map` of the Python client answers the same file. It is killed once, and started again with
//! the same name.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::answers::AnswerFindings;
use super::run_process::{MAX_MEGABYTES, RunHistory};
use crate::harness::{Result, TrialEnvironment, TrialVerdict, judge, report_progress};
use crate::options::ChaosRunOptions;

const NAME: &str = "trial";
/// Less than half of an answer, so it is killed before half of them are written.
const KILL_BYTES_PER_LINE: u64 = 40;

/// Also returns how many cargo it loaded.
pub(super) async fn run(
    environment: &TrialEnvironment,
    options: &ChaosRunOptions,
    python: &Path,
    requests: &Path,
) -> Result<(TrialVerdict, u64)> {
    report_progress("the same file through map of the Python client");
    let scratch = &environment.scratch;
    let (answers, log) = (scratch.join("mapped.jsonl"), scratch.join("python-map.log"));
    let text = |path: &Path| path.display().to_string();
    let arguments = ["-B".to_owned(), text(&options.script), NAME.to_owned()];
    let program = environment.client_program(python)?;
    let program = program.with_arguments(arguments);
    let mut program = program.with_arguments([text(requests), text(&answers)]);
    let library = ("PYTHONPATH".to_owned(), text(&options.library));
    program.environment.push(library);
    let mut history = RunHistory::default();
    let bytes = || fs::metadata(&answers).map_or(0, |metadata| metadata.len());
    let is_due = || bytes() >= options.lines * KILL_BYTES_PER_LINE;
    history.start_and_kill(&program, &log, is_due).await?;
    let status = history.start_and_finish(&program, &log).await?;
    let findings = AnswerFindings::read(&answers)?;
    let mut verdict = TrialVerdict::new("map");
    judge! { verdict;
        record "kills" => history.kills,
        record "peak_megabytes" => history.peak_megabytes,
        record "exit_code" => json!(status.code()),
        check "the last start ends with 0" => status.success(),
        check "it was killed while it ran" => history.kills == 1,
        check "less than 200 MB of memory" => history.peak_megabytes < MAX_MEGABYTES,
    }
    findings.judge(&mut verdict, options.lines);
    Ok((verdict, findings.count_cargo()))
}
