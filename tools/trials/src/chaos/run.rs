//! `longshore run` of a large file is killed several times and started again: every line is
//! answered once, in order, and none is paid twice.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::checks::ledger_audit;
use crate::harness::measurement::process_memory;
use crate::harness::servers::child_process::ChildProcess;
use crate::harness::{
    ChildProgram, DatabaseLayout, Deployment, FailureContext as _, PRICED_MODEL, ProcessSpec,
    Result, TrialEnvironment, TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosRunOptions, CommonOptions};

const KILLS: u64 = 5;
const MAX_MEGABYTES: f64 = 200.0;
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The last start of the largest run.
const RUN_TIMEOUT: Duration = Duration::from_hours(1);
/// The index beside the answers: a header, then a record per answer.
const INDEX_HEADER_BYTES: u64 = 128;
const INDEX_RECORD_BYTES: u64 = 48;

/// The files of the run.
struct RunFiles {
    requests: PathBuf,
    answers: PathBuf,
    index: PathBuf,
    log: PathBuf,
}

/// What the answers say.
#[derive(Debug, Default)]
struct AnswerFindings {
    lines: u64,
    /// Different cargo.
    cargo: usize,
    wrong: Vec<String>,
}

pub async fn run(common: &CommonOptions, options: &ChaosRunOptions) -> Result<TrialVerdict> {
    let deployment = Deployment::new([ProcessSpec::new("all", "first")])
        .with_organizations(1)
        .with_long_redis_budget()
        .with("MOCK_DELAY_SECONDS", "0");
    let layout = DatabaseLayout::SingleShard;
    let environment = TrialEnvironment::build(common, layout, deployment).await?;
    let files = write_requests(environment.scratch.path(), options.lines)?;
    let program = build_program(common, &environment, &files)?;
    report_progress(format!("running {} lines", options.lines));
    let (mut kills, mut peak) = (0, 0.0_f64);
    for kill in 0..KILLS {
        let mut process = program.start(&files.log)?;
        let answered = options.lines * kill / (KILLS + 1);
        let was_running = wait_for_answers(&mut process, &files.index, answered, &mut peak).await;
        kills += u64::from(was_running);
        process.kill();
        report_progress(format!(
            "killed after {} answers",
            count_answers(&files.index)
        ));
    }
    let mut process = program.start(&files.log)?;
    wait_for_answers(&mut process, &files.index, u64::MAX, &mut peak).await;
    let status = process.wait_for_exit(RUN_TIMEOUT).await?;
    let findings = read_answers(&files.answers)?;
    let audit = ledger_audit::audit_charges(&environment, || options.lines).await?;
    let mut verdict = TrialVerdict::new("chaos run");
    audit.judge(&mut verdict);
    let expected = usize::try_from(options.lines).unwrap_or(usize::MAX);
    judge! { verdict;
        record "lines" => options.lines,
        record "kills" => kills,
        record "peak_megabytes" => peak,
        record "exit_code" => json!(status.code()),
        check "the last start ends with 0" => status.success(),
        check "it was killed five times while it ran" => kills == KILLS,
        check "every line has an answer" => findings.lines == options.lines,
        check "every answer is of another cargo" => findings.cargo == expected,
        check "less than 200 MB of memory" => peak < MAX_MEGABYTES,
        check "nothing is left beside the answers" => !files.index.exists(),
    }
    verdict.check_none(
        "answers are right and in order",
        "wrong_answers",
        &findings.wrong,
    );
    Ok(verdict)
}

fn write_requests(folder: &Path, lines: u64) -> Result<RunFiles> {
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
    Ok(RunFiles {
        requests,
        answers: folder.join("answers.jsonl"),
        index: folder.join("answers.jsonl.part.index"),
        log: folder.join("longshore-run.log"),
    })
}

fn build_program(
    common: &CommonOptions,
    environment: &TrialEnvironment,
    files: &RunFiles,
) -> Result<ChildProgram> {
    let organization = environment.first_organization()?;
    let text = |path: &Path| path.display().to_string();
    let mut program = ChildProgram::new(&common.longshore).with_arguments([
        "run".to_owned(),
        text(&files.requests),
        "--output".to_owned(),
        text(&files.answers),
    ]);
    let base_url = format!("http://{}", environment.server()?.address());
    program.environment = vec![
        ("LONGSHORE_BASE_URL".to_owned(), base_url),
        ("LONGSHORE_API_KEY".to_owned(), organization.api_key.clone()),
    ];
    Ok(program)
}

/// Waits until so many answers are stored. False if the process has ended before.
async fn wait_for_answers(
    process: &mut ChildProcess,
    index: &Path,
    answered: u64,
    peak: &mut f64,
) -> bool {
    while process.is_running() {
        if let Ok(megabytes) = process_memory::peak_resident_megabytes(process.pid()) {
            *peak = peak.max(megabytes);
        }
        if index.exists() && count_answers(index) >= answered {
            return true;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    false
}

fn count_answers(index: &Path) -> u64 {
    let length = fs::metadata(index).map_or(0, |metadata| metadata.len());
    length.saturating_sub(INDEX_HEADER_BYTES) / INDEX_RECORD_BYTES
}

fn read_answers(path: &Path) -> Result<AnswerFindings> {
    let file = fs::File::open(path).context("opening the answers")?;
    let mut findings = AnswerFindings::default();
    let mut cargo = HashSet::new();
    for line in BufReader::new(file).lines() {
        let line = line.context("reading the answers")?;
        let answer: Value = serde_json::from_str(&line).context("reading an answer")?;
        let expected = format!("line {}", findings.lines);
        let text = answer.pointer("/response/content/0/text");
        let is_right = answer.get("position") == Some(&json!(findings.lines))
            && text.and_then(Value::as_str) == Some(expected.as_str());
        if !is_right {
            findings.wrong.push(line.chars().take(200).collect());
        }
        let id = answer.get("cargo_id").and_then(Value::as_str);
        cargo.insert(id.unwrap_or_default().to_owned());
        findings.lines += 1;
    }
    findings.cargo = cargo.len();
    Ok(findings)
}
