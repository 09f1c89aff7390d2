//! `longshore listen`: while its receiver is down, the schedule of retries goes on; a newer
//! terminal takes the name over.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::harness::servers::child_process::ChildProcess;
use crate::harness::servers::free_port;
use crate::harness::{
    ChildProgram, DatabaseLayout, Deployment, FREE_MODEL, PollLimits, ProcessSpec, Result,
    TrialEnvironment, TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosListenOptions, CommonOptions};

const NAME: &str = "trial";
const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(50));
/// The first retry comes after 30 s.
const RETRY_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(200));

/// A terminal with `longshore listen`.
struct Terminal {
    process: ChildProcess,
    log: PathBuf,
}

impl Terminal {
    fn log_text(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

pub async fn run(common: &CommonOptions, options: &ChaosListenOptions) -> Result<TrialVerdict> {
    let deployment = Deployment::new([ProcessSpec::new("all", "first")])
        .with_organizations(1)
        .with_long_redis_budget()
        .with("MOCK_DELAY_SECONDS", "0");
    let layout = DatabaseLayout::SingleShard;
    let environment = TrialEnvironment::build(common, layout, deployment).await?;
    let nowhere = format!("http://{}/hook", free_port::find_free_address()?);
    let first = start_terminal(common, &environment, "first", &nowhere)?;
    let is_ready = || first.log_text().contains("Ready.");
    let was_ready = START_LIMITS.wait_until(is_ready).await;
    load(common, &environment, 1).await?;
    report_progress("the receiver is down");
    let is_refused = || first.log_text().contains("connection refused");
    let was_refused = START_LIMITS.wait_until(is_refused).await;

    let sink_url = environment.callback_sink.url();
    let mut first = first;
    let mut second = start_terminal(common, &environment, "second", &sink_url)?;
    let has_ended = START_LIMITS
        .wait_until(|| !first.process.is_running())
        .await;
    report_progress("a newer terminal has the name; waiting for the retry");
    let receipts = &environment.callback_sink.receipts;
    let was_retried = RETRY_LIMITS
        .wait_until(|| receipts.count_cargo() == 1)
        .await;
    load(common, &environment, options.cargo).await?;
    let expected = options.cargo + 1;
    let all_came = RETRY_LIMITS
        .wait_until(|| receipts.count_cargo() == expected)
        .await;
    let (first_log, second_log) = (first.log_text(), second.log_text());
    let mut verdict = TrialVerdict::new("chaos listen");
    judge! { verdict;
        record "received" => receipts.count_cargo(),
        record "duplicates" => receipts.count_duplicates(),
        record "exit_of_the_older" => json!(first.process.exit_status().and_then(|it| it.code())),
        check "the terminal is ready" => was_ready,
        check "a receiver that is down is a failed attempt" => was_refused,
        check "the older terminal ends" => has_ended,
        check "the older terminal says why" => first_log.contains("Another terminal listens"),
        check "the newer terminal goes on" => second.process.is_running(),
        check "the retry reaches the newer terminal" => was_retried,
        check "the retry is the second attempt" => second_log.contains("(attempt 2)"),
        check "all callbacks come" => all_came,
        check "every callback is one of a cargo" => receipts.count_malformed() == 0,
    }
    Ok(verdict)
}

fn start_terminal(
    common: &CommonOptions,
    environment: &TrialEnvironment,
    name: &str,
    forward_to: &str,
) -> Result<Terminal> {
    let arguments = ["listen", "--forward-to", forward_to, "--as", NAME];
    let log = environment.scratch.join(format!("listen-{name}.log"));
    let process = build_program(common, environment, &arguments)?.start(&log)?;
    Ok(Terminal { process, log })
}

async fn load(common: &CommonOptions, environment: &TrialEnvironment, count: u64) -> Result<()> {
    let url = format!("listen://{NAME}");
    for number in 0..count {
        let text = format!("callback {number}");
        let arguments = ["load", "-t", &text, "-m", FREE_MODEL, "--callback", &url];
        let log: &Path = &environment.scratch.join("load");
        build_program(common, environment, &arguments)?
            .run(log)
            .await?;
    }
    Ok(())
}

fn build_program(
    common: &CommonOptions,
    environment: &TrialEnvironment,
    arguments: &[&str],
) -> Result<ChildProgram> {
    let organization = environment.first_organization()?;
    let base_url = format!("http://{}", environment.server()?.address());
    let program = ChildProgram::new(&common.longshore);
    let mut program = program.with_arguments(arguments.iter().copied());
    program.environment = vec![
        ("LONGSHORE_BASE_URL".to_owned(), base_url),
        ("LONGSHORE_API_KEY".to_owned(), organization.api_key.clone()),
    ];
    Ok(program)
}
