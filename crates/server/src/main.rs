//! `longshored`, the server: settings, telemetry and wiring around the other crates.
#![expect(
    unreachable_pub,
    reason = "a program has no dependents: `pub` marks a module's interface"
)]

mod admin;

mod audit_file;

mod callback_signing;
mod catalogue;

mod clock;

mod config;
mod control_history;

mod dashboard;

mod doctor;

mod durability;

mod files;

mod guide;

mod health;

mod licence;

mod listener;

mod metrics;

mod migrate;

mod migrate_status;

mod models_check;

mod models_list;

mod entry_errors;

mod node_lease;

mod probe;

mod providers;

mod redis_client;

mod run;

mod schema;

mod serve;

mod server_probe;

mod settings;

mod settings_page;

mod signals;

mod span_export;

mod logging;

mod master_key;

mod trial;

mod databases;

mod work;

mod worker_readiness;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use domain::error_chain;
use mimalloc::MiMalloc;
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

use crate::admin::AdminCommand;
use crate::health::HealthCommand;
use crate::migrate::MigrateOptions;
use crate::probe::ProbeCommand;
use crate::run::ProcessRole;
use crate::settings::Settings;
use crate::trial::TrialCommand;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// How long a thread that is stuck in a system call may delay the exit.
const RUNTIME_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Packs single AI requests into provider batch jobs and delivers every answer.
///
/// Settings are SVC_… environment variables; `longshored config` lists them all. A secret may
/// also be in a file.
#[derive(Debug, Parser)]
#[command(name = "longshored", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create or upgrade the schema of the control database and of every shard.
    Migrate(MigrateOptions),
    /// Serve the API and the dashboard.
    Serve,
    /// Run the worker stages: gather, dispatch, collect, deliver, sweep and audit.
    Work,
    /// Run `serve` and `work` in one process, for a small installation.
    All,
    Admin(AdminCommand),
    /// Check every dependency; say what is wrong and how to fix it.
    Doctor(OutputOptions),
    /// Ask the process of this machine or container whether it serves, for health checks.
    Health(HealthCommand),
    /// Compare the catalogue of models with what providers tell, or show it.
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Show every setting, its value and where the value comes from.
    Config(ConfigOptions),
    /// Parse an uploaded file from standard input in a sandbox; workers start it.
    #[command(hide = true)]
    Probe(ProbeCommand),
    /// Time single steps on real rows, for benchmarks.
    #[command(subcommand, hide = true)]
    Trial(TrialCommand),
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum ModelsCommand {
    /// Ask every provider about its models. The exit code is 1 if the catalogue contradicts one.
    Check(OutputOptions),
    /// List what each model can do, as a Markdown table.
    List(OutputOptions),
}

#[derive(Debug, Clone, Copy, Args)]
struct OutputOptions {
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, Args)]
struct ConfigOptions {
    #[command(flatten)]
    output: OutputOptions,
    /// Print a Markdown page about all settings instead of their values.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run_command(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            // Nothing is left to do when standard error is closed.
            let _written = writeln!(
                io::stderr(),
                "longshored: {}",
                error_chain::chain(&*failure)
            );
            ExitCode::FAILURE
        }
    }
}

fn run_command(command: Command) -> Result<ExitCode, Box<dyn Error>> {
    // Before the settings are read: the probe uses none of them.
    if let Command::Probe(probe) = &command {
        return Ok(probe::run(probe));
    }
    let reading = settings::from_environment();
    if let Command::Config(options) = command {
        if options.markdown {
            writeln!(io::stdout(), "{}", settings_page::render_markdown())?;
            return Ok(ExitCode::SUCCESS);
        }
        let wrong = !reading.faults.is_empty();
        print_output(
            options.output,
            || config::render_text(&reading),
            &config::build_report(&reading),
        )?;
        return Ok(if wrong {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        });
    }
    if let Command::Admin(admin) = &command
        && let Some(offline) = admin.offline_command()
    {
        offline.run(reading.values()?, clock::host_now())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Command::Health(health) = &command {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let answer = runtime.block_on(health::ask(health, reading.values()?))?;
        writeln!(io::stdout(), "{answer}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = reading.settings()?;
    logging::init(&settings.values)?;
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(Box::pin(run_with_settings(command, &settings)));
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN_TIMEOUT);
    ended
}

async fn run_with_settings(
    command: Command,
    settings: &Settings,
) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Migrate(options) if options.status => {
            let report = migrate_status::read(settings).await?;
            let form = OutputOptions { json: options.json };
            print_output(form, || migrate_status::render_text(&report), &report)?;
            return Ok(if report.done {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Command::Migrate(options) => migrate::run(settings, &options).await?,
        Command::Serve => run::run(settings, ProcessRole::Serve).await?,
        Command::Work => run::run(settings, ProcessRole::Work).await?,
        Command::All => run::run(settings, ProcessRole::All).await?,
        Command::Admin(command) => {
            let stores = databases::connect_for_command(settings)?;
            // Rows carry control's time, which may differ from this host's clock.
            let now = store::doctor::read_server_time(&stores.control.pool).await?;
            let limits = licence::limits_in_force(&settings.values, now);
            admin::run(command, &stores, limits, settings, now).await?;
        }
        Command::Doctor(form) => {
            let report = doctor::examine(settings).await;
            print_output(form, || doctor::render_text(&report), &report)?;
            return Ok(if report.ok {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Command::Models(ModelsCommand::Check(form)) => {
            let report = models_check::check(settings).await?;
            print_output(form, || models_check::render_text(&report), &report)?;
            return Ok(if report.ok {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Command::Models(ModelsCommand::List(form)) => {
            let models = models_list::read(settings)?;
            print_output(form, || models_list::render_markdown(&models), &models)?;
        }
        Command::Trial(command) => {
            writeln!(
                io::stdout(),
                "{}",
                Box::pin(trial::run(command, settings)).await?
            )?;
        }
        // Handled in `run_command`, which needs no database.
        Command::Config(_) | Command::Health(_) | Command::Probe(_) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Standard output carries only a command's answer; logs go to standard error.
fn print_output(
    form: OutputOptions,
    text: impl Fn() -> String,
    document: &impl Serialize,
) -> io::Result<()> {
    let answer = if form.json {
        serde_json::to_string(document)?
    } else {
        text()
    };
    writeln!(io::stdout(), "{answer}")
}
