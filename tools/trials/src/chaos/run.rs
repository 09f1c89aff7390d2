//! A large file, killed several times and started again: `longshore run`, then `map` of the Python
//! client. Every line is answered once, in order, and none is paid twice.

mod answers;
mod python_map;
mod run_process;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use self::answers::AnswerFindings;
use self::run_process::RunHistory;
use crate::harness::checks::ledger_audit;
use crate::harness::{
    DatabaseLayout, Deployment, FailureContext as _, PRICED_MODEL, ProcessSpec, Result,
    TrialEnvironment, TrialVerdict, report_progress,
};
use crate::options::{ChaosRunOptions, CommonOptions};

const KILLS: u64 = 5;
/// The index beside the answers: a header, then a record per answer.
const INDEX_HEADER_BYTES: u64 = 128;
const INDEX_RECORD_BYTES: u64 = 48;

pub async fn run(common: &CommonOptions, options: &ChaosRunOptions) -> Result<TrialVerdict> {
    let deployment = Deployment::new([ProcessSpec::new("all", "first")])
        .with_organizations(1)
        .with_long_redis_budget()
        .with("MOCK_DELAY_SECONDS", "0");
    let layout = DatabaseLayout::SingleShard;
    let environment = TrialEnvironment::build(common, layout, deployment).await?;
    let requests = write_requests(environment.scratch.path(), options.lines)?;
    let mut verdict = run_command(common, &environment, options, &requests).await?;
    let mut loaded = options.lines;
    if let Some(python) = &options.python {
        let map = python_map::run(&environment, options, python, &requests).await?;
        verdict.merge_part("map", map);
        loaded += options.lines;
    }
    let audit = ledger_audit::audit_charges(&environment, || loaded).await?;
    audit.judge(&mut verdict);
    Ok(verdict)
}

async fn run_command(
    common: &CommonOptions,
    environment: &TrialEnvironment,
    options: &ChaosRunOptions,
    requests: &Path,
) -> Result<TrialVerdict> {
    report_progress(format!("longshore run of {} lines", options.lines));
    let scratch = &environment.scratch;
    let (answers, log) = (
        scratch.join("answers.jsonl"),
        scratch.join("longshore-run.log"),
    );
    let index = scratch.join("answers.jsonl.part.index");
    let text = |path: &Path| path.display().to_string();
    let arguments = ["run", &text(requests), "--output", &text(&answers)];
    let program = environment.client_program(&common.longshore)?;
    let program = program.with_arguments(arguments);
    let mut history = RunHistory::default();
    for kill in 0..KILLS {
        let answered = options.lines * kill / (KILLS + 1);
        let is_due = || index.exists() && count_answers(&index) >= answered;
        history.start_and_kill(&program, &log, is_due).await?;
        report_progress(format!("killed after {} answers", count_answers(&index)));
    }
    let mut verdict = TrialVerdict::new("chaos run");
    verdict.record("lines", options.lines);
    history.finish(&program, &log, KILLS, &mut verdict).await?;
    verdict.check("nothing is left beside the answers", !index.exists());
    AnswerFindings::read(&answers)?.judge(&mut verdict, options.lines);
    Ok(verdict)
}

fn write_requests(folder: &Path, lines: u64) -> Result<PathBuf> {
    let mut text = String::new();
    for line in 0..lines {
        let load = json!({"params": {
            "model": PRICED_MODEL,
            "max_tokens": 16,
            "messages": [{"role": "user", "content": format!("line {line}")}],
        }});
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{load}");
    }
    let requests = folder.join("requests.jsonl");
    fs::write(&requests, text).context("writing the requests")?;
    Ok(requests)
}

fn count_answers(index: &Path) -> u64 {
    let length = fs::metadata(index).map_or(0, |metadata| metadata.len());
    length.saturating_sub(INDEX_HEADER_BYTES) / INDEX_RECORD_BYTES
}
