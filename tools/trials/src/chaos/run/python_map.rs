//! `map` of the Python client answers the same file. It is killed once, and started again with
//! the same name.

use std::fs;
use std::path::Path;

use super::answers::AnswerFindings;
use super::run_process::RunHistory;
use crate::harness::{Result, TrialEnvironment, TrialVerdict, report_progress};
use crate::options::ChaosRunOptions;

const NAME: &str = "trial";
/// Less than half of an answer, so it is killed before half of them are written.
const KILL_BYTES_PER_LINE: u64 = 40;

pub(super) async fn run(
    environment: &TrialEnvironment,
    options: &ChaosRunOptions,
    python: &Path,
    requests: &Path,
) -> Result<TrialVerdict> {
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
    report_progress("killed");
    let mut verdict = TrialVerdict::new("map");
    history.finish(&program, &log, 1, &mut verdict).await?;
    AnswerFindings::read(&answers)?.judge(&mut verdict, options.lines);
    Ok(verdict)
}
