//! `longshore run FILE`: loads every line, collects every answer, and goes on where it was when
//! the same command runs again.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use client::LongshoreClient;
use client::records::GroupRecord;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::cli_error::{CliError, CliResult};
use crate::commands::check;
use crate::commands::estimate::{FileEstimate, estimate_file};
use crate::commands::run_report::{keep_output, report, report_detached};
use crate::exit_status::ExitStatus;
use crate::numbers::{dollars, group_digits};
use crate::printer::{self, OutputPrinter};
use crate::requests::request_file::{self, FileSummary};
use crate::requests::request_line::LineDefaults;
use crate::run::answer_store::{AnswerStore, part_path, with_suffix};
use crate::run::earlier_answers::EarlierAnswers;
use crate::run::progress::{ProgressSnapshot, RunProgress, render};
use crate::run::shared_run::SharedRun;
use crate::run::{collector, identity, loader};
use crate::session::Session;
use crate::terminal;

const MAX_SHOWN_FAULTS: usize = 20;
const TERMINAL_INTERVAL: Duration = Duration::from_millis(250);
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Within a run a call gives up sooner: the run itself repeats it for ever.
const CALL_BUDGET: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct RunOptions {
    /// One request per line: a load, `{"custom_id", "params"}`, a line of an `OpenAI` or Anthropic
    /// batch file, or bare params.
    pub file: PathBuf,
    /// Where the answers go, in the order of the input. By default FILE.answers.jsonl.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// The name of the run. By default it follows from the file and the options, so the same
    /// command is the same run.
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub defaults: LineDefaults,
    /// Run although some lines have faults. Their answers are failures.
    #[arg(long)]
    pub skip_bad: bool,
    /// Stop before loading if the estimate is higher, in dollars.
    #[arg(long, value_name = "DOLLARS")]
    pub max_cost: Option<f64>,
    /// On a terminal, ask first if the estimate is higher, in dollars.
    #[arg(long, value_name = "DOLLARS", default_value_t = 1.0)]
    pub ask_above: f64,
    /// Ask nothing.
    #[arg(long, short)]
    pub yes: bool,
    /// End when all is loaded. The same command collects the answers later.
    #[arg(long)]
    pub detach: bool,
    /// Replace the output file.
    #[arg(long)]
    pub force: bool,
    /// Then load the requests that failed again, and put their new answers into the output. Of a
    /// finished run, only this is done.
    #[arg(long, conflicts_with_all = ["force", "detach"])]
    pub retry_failed: bool,
}

/// A run whose file was checked.
struct CheckedRun<'a> {
    session: &'a Session,
    options: &'a RunOptions,
    client: LongshoreClient,
    name: String,
    output: PathBuf,
    requests: u64,
}

pub async fn run(session: &Session, options: &RunOptions) -> CliResult<ExitStatus> {
    let output = output_path(options);
    let summary = check_file(session, options)?;
    let name = identity::group_name(options.name.as_deref(), &summary.sha256, &options.defaults)?;
    let client = session.client()?.retrying_for(Some(CALL_BUDGET));
    let is_begun = part_path(&output).exists();
    let checked = CheckedRun {
        session,
        options,
        client: client.clone(),
        name: name.clone(),
        output: output.clone(),
        requests: summary.requests,
    };
    if options.retry_failed && output.exists() && !is_begun {
        return checked.retry_failed().await;
    }
    let likely_cost = if is_begun {
        None
    } else {
        confirm_cost(session, options, &client).await?
    };
    let group = client.create_group(&name).await?;
    if output.exists() && !is_begun && !options.force {
        return keep_output(session, &output, &group);
    }
    let store = AnswerStore::open(&output, &group.group_id, summary.requests)?;
    let shared = checked.work(&name, &group, store, likely_cost).await?;
    if options.detach {
        return report_detached(session, &shared);
    }
    let totals = shared.store.lock().finish()?;
    if options.retry_failed && totals.failed > 0 {
        return checked.retry_failed().await;
    }
    report(session, &shared, &output, totals).await
}

impl CheckedRun<'_> {
    /// Loads and collects what the store lacks.
    async fn work(
        &self,
        name: &str,
        group: &GroupRecord,
        store: AnswerStore,
        likely_cost: Option<u64>,
    ) -> CliResult<Arc<SharedRun>> {
        let progress = RunProgress::new(ProgressSnapshot {
            requests: self.requests,
            loaded: store.loaded,
            totals: store.totals,
            likely_cost,
            ..ProgressSnapshot::default()
        });
        let printer = self.session.printer;
        printer.note(&format!("run {name} ({})", group.group_id));
        let shared = Arc::new(SharedRun {
            client: self.client.clone(),
            group_id: group.group_id.clone(),
            path: self.options.file.clone(),
            defaults: self.options.defaults.clone(),
            requests: self.requests,
            store: Mutex::new(store),
            progress,
        });
        let ended = work(printer, &shared, self.options.detach).await;
        if printer::is_error_terminal() && !printer.is_quiet() {
            printer::rewrite_line("");
        }
        ended.map(|()| shared)
    }

    /// Loads the failed requests of a finished run into a group of their own. The output is
    /// replaced once all of them have new answers. Killed, the same command goes on.
    async fn retry_failed(&self) -> CliResult<ExitStatus> {
        let group = self.client.create_group(&self.name).await?;
        if !(group.existing && group.is_completed()) {
            return Err(not_finished(&self.output, &self.name));
        }
        let earlier = EarlierAnswers::read(&self.output, self.requests)?;
        let printer = self.session.printer;
        if earlier.failed == 0 {
            printer.note("No request that the service took has failed: there is nothing to retry.");
            return Ok(earlier.exit_status());
        }
        let count = group_digits(earlier.failed);
        printer.note(&format!("{count} requests failed and are loaded again."));
        let name = identity::retry_name(&self.name, &earlier.failed_digest);
        let group = self.client.create_group(&name).await?;
        let draft = with_suffix(&self.output, ".retry");
        let mut store = AnswerStore::open(&draft, &group.group_id, self.requests)?;
        earlier.keep_in(&mut store)?;
        let shared = self.work(&name, &group, store, None).await?;
        let totals = shared.store.lock().finish()?;
        let replaced = fs::rename(&draft, &self.output);
        replaced.map_err(|error| CliError::file(&self.output, &error))?;
        report(self.session, &shared, &self.output, totals).await
    }
}

fn not_finished(output: &Path, name: &str) -> CliError {
    let message = format!(
        "{} exists, but the run {name} is not completed. Nothing was loaded.",
        output.display()
    );
    CliError::new(ExitStatus::Failed, "not_completed", message)
        .with_next("Give the file, the options and the output of the finished run.")
}

fn output_path(options: &RunOptions) -> PathBuf {
    options.output.clone().unwrap_or_else(|| {
        let mut name = options.file.as_os_str().to_owned();
        name.push(".answers.jsonl");
        PathBuf::from(name)
    })
}

/// Checks all lines before anything is loaded.
fn check_file(session: &Session, options: &RunOptions) -> CliResult<FileSummary> {
    let summary = request_file::check(&options.file, &options.defaults)?;
    if summary.requests == 0 {
        let message = format!("{} has no requests.", options.file.display());
        return Err(CliError::new(ExitStatus::Failed, "no_requests", message));
    }
    if summary.faulty_lines == 0 || options.skip_bad {
        return Ok(summary);
    }
    for fault in summary.faults.iter().take(MAX_SHOWN_FAULTS) {
        session.printer.note(&check::describe(fault));
    }
    let count = group_digits(summary.faulty_lines);
    let message = format!("{count} lines have faults. Nothing was loaded.");
    let next = "Correct them, or add --skip-bad. `longshore check FILE` shows all.";
    Err(CliError::new(ExitStatus::Failed, "faulty_lines", message).with_next(next))
}

/// The likely cost, if it was asked for. Ends the run if it is too high.
async fn confirm_cost(
    session: &Session,
    options: &RunOptions,
    client: &LongshoreClient,
) -> CliResult<Option<u64>> {
    let may_ask = printer::is_interactive() && !options.yes;
    if options.max_cost.is_none() && !may_ask {
        return Ok(None);
    }
    let estimate = estimate_file(client, &options.file, &options.defaults).await;
    let estimate = match estimate {
        Ok(estimate) => estimate,
        // Without a limit the estimate is only a service.
        Err(_) if options.max_cost.is_none() => return Ok(None),
        Err(error) => return Err(error),
    };
    let bound = estimate.high.or(estimate.likely).unwrap_or(estimate.hold);
    if options.max_cost.is_some_and(|limit| is_above(bound, limit)) {
        let message = format!(
            "The estimate is up to {}, above --max-cost. Nothing was loaded.",
            dollars(bound)
        );
        return Err(CliError::new(
            ExitStatus::LimitReached,
            "above_max_cost",
            message,
        ));
    }
    if may_ask && is_above(bound, options.ask_above) {
        ask(session, &estimate).await?;
    }
    Ok(estimate.likely)
}

async fn ask(session: &Session, estimate: &FileEstimate) -> CliResult<()> {
    session.printer.note(&estimate.render());
    let answer = terminal::ask("Load these requests? [y/N] ").await?;
    if matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(CliError::new(
        ExitStatus::Failed,
        "declined",
        "Nothing was loaded.",
    ))
}

fn is_above(nanos: u64, limit: f64) -> bool {
    let limit = Duration::try_from_secs_f64(limit.max(0.0));
    // A second has as many nanoseconds as a dollar has nano-dollars.
    limit.is_ok_and(|limit| u128::from(nanos) > limit.as_nanos())
}

/// Loads and collects at the same time, until both are done or the caller interrupts.
async fn work(printer: OutputPrinter, shared: &Arc<SharedRun>, is_detached: bool) -> CliResult<()> {
    let (loaded, is_loaded) = watch::channel(false);
    let load = async {
        loader::load_all(Arc::clone(shared)).await?;
        let total = shared.requests - shared.store.lock().totals.refused;
        shared
            .client
            .seal_group(&shared.group_id, Some(total))
            .await?;
        loaded.send_replace(true);
        CliResult::Ok(())
    };
    let collect = async {
        if is_detached {
            return Ok(());
        }
        collector::collect_all(Arc::clone(shared), is_loaded).await
    };
    let both = async { tokio::try_join!(load, collect).map(|_| ()) };
    tokio::select! {
        ended = both => ended,
        _ = tokio::signal::ctrl_c() => Err(interrupted(shared)),
        never = show_progress(printer, shared) => match never {},
    }
}

async fn show_progress(printer: OutputPrinter, shared: &SharedRun) -> Infallible {
    let is_terminal = printer::is_error_terminal();
    let interval = if is_terminal {
        TERMINAL_INTERVAL
    } else {
        LOG_INTERVAL
    };
    loop {
        tokio::time::sleep(interval).await;
        let text = render(&shared.progress.sample(Instant::now()));
        if is_terminal && !printer.is_quiet() {
            printer::rewrite_line(&text);
        } else {
            printer.note(&text);
        }
    }
}

fn interrupted(shared: &SharedRun) -> CliError {
    let answered = shared.store.lock().totals.answered;
    let message = format!(
        "Stopped. {} of {} answers are stored. Nothing was cancelled.",
        group_digits(answered),
        group_digits(shared.requests)
    );
    let next = format!(
        "Run the same command again to continue. `longshore cancel --group {}` cancels the rest.",
        shared.group_id
    );
    CliError::new(ExitStatus::Interrupted, "interrupted", message).with_next(next)
}
