//! `longshore listen` in terminals: while its receiver is down, the schedule of retries goes on;
//! a newer terminal takes the name over.

use std::time::Duration;

use serde_json::json;

use crate::harness::servers::free_port;
use crate::harness::servers::tmux::{TmuxServer, TmuxTerminal};
use crate::harness::{
    DatabaseLayout, Deployment, FREE_MODEL, PollLimits, ProcessSpec, Result, TrialEnvironment,
    TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosListenOptions, CommonOptions};

const NAME: &str = "trial";
const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(50));
/// The first retry comes after 30 s.
const RETRY_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(200));

pub async fn run(common: &CommonOptions, options: &ChaosListenOptions) -> Result<TrialVerdict> {
    let deployment = Deployment::new([ProcessSpec::new("all", "first")])
        .with_organizations(1)
        .with_long_redis_budget()
        .with("MOCK_DELAY_SECONDS", "0");
    let layout = DatabaseLayout::SingleShard;
    let environment = TrialEnvironment::build(common, layout, deployment).await?;
    let nowhere = format!("http://{}/hook", free_port::find_free_address()?);
    let tmux = TmuxServer::start(&environment.scratch).await?;
    let listen = |forward_to: &str| {
        let program = environment.client_program(&common.longshore)?;
        Ok(program.with_arguments(["listen", "--forward-to", forward_to, "--as", NAME]))
    };
    let first = tmux.open("first", &listen(&nowhere)?).await?;
    let was_ready = shows(&first, "Ready.").await?;
    load(common, &environment, 1).await?;
    report_progress("the receiver is down");
    let was_refused = shows(&first, "connection refused").await?;

    let sink_url = environment.callback_sink.url();
    let second = tmux.open("second", &listen(&sink_url)?).await?;
    let exit_code = async || first.exit_code().await;
    let exit_of_the_older = START_LIMITS.read_until(Option::is_some, exit_code).await?;
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
    // The line is written after the answer of the receiver.
    let count_answers = async || {
        let screen = second.screen().await?;
        let answers = screen.lines().filter(|line| is_answer(line)).count();
        Ok((u64::try_from(answers).unwrap_or_default(), screen))
    };
    let (answers, second_screen) = START_LIMITS
        .read_until(|(answers, _)| *answers == expected, count_answers)
        .await?;
    let first_screen = first.screen().await?;
    for (name, screen) in [("older", &first_screen), ("newer", &second_screen)] {
        report_progress(format!("the {name} terminal:\n{screen}"));
    }
    let mut verdict = TrialVerdict::new("chaos listen");
    judge! { verdict;
        record "received" => receipts.count_cargo(),
        record "duplicates" => receipts.count_duplicates(),
        record "exit_of_the_older" => json!(exit_of_the_older),
        record "answers_shown" => answers,
        check "the terminal is ready" => was_ready,
        check "a receiver that is down is a failed attempt" => was_refused,
        check "the older terminal ends" => exit_of_the_older == Some(1),
        check "the older terminal says why" => first_screen.contains("Another terminal listens"),
        check "the newer terminal goes on" => second.exit_code().await?.is_none(),
        check "the retry reaches the newer terminal" => was_retried,
        check "the retry is the second attempt" => second_screen.contains("(attempt 2)"),
        check "all callbacks come" => all_came,
        check "the newer terminal shows every answer of the receiver" => answers == expected,
        check "every callback is one of a cargo" => receipts.count_malformed() == 0,
    }
    Ok(verdict)
}

/// Waits until the screen has this text; returns whether it has.
async fn shows(terminal: &TmuxTerminal<'_>, text: &str) -> Result<bool> {
    let screen = async || terminal.screen().await;
    let screen = START_LIMITS
        .read_until(|screen| screen.contains(text), screen)
        .await?;
    Ok(screen.contains(text))
}

/// Such as `→ POST /hook 200 3 ms crg_… (attempt 1)`.
fn is_answer(line: &str) -> bool {
    line.starts_with("→ POST ") && line.contains(" 200 ")
}

async fn load(common: &CommonOptions, environment: &TrialEnvironment, count: u64) -> Result<()> {
    let url = format!("listen://{NAME}");
    for number in 0..count {
        let text = format!("callback {number}");
        let program = environment.client_program(&common.longshore)?;
        let program =
            program.with_arguments(["load", "-t", &text, "-m", FREE_MODEL, "--callback", &url]);
        program.run(&environment.scratch.join("load")).await?;
    }
    Ok(())
}
