//! `longshored`, the server: settings, telemetry and wiring around the other crates.
#![expect(
    unreachable_pub,
    reason = "a program has no outside: `pub` says what a module offers"
)]

mod admin;

mod catalogue;

mod clock;

mod config;

mod dashboard;

mod doctor;

mod failure;

mod files;

mod licence;

mod listener;

mod metrics;

mod migrate;

mod notes;

mod presence;

mod probe;

mod providers;

mod run;

mod schema;

mod serve;

mod settings;

mod signals;

mod telemetry;

mod trial;

mod wiring;

mod work;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use mimalloc::MiMalloc;
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::admin::AdminCommand;
use crate::probe::ProbeCommand;
use crate::run::Role;
use crate::settings::Settings;
use crate::trial::TrialCommand;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// How long a thread that is stuck in a system call may hold up the end.
const LAST: Duration = Duration::from_secs(1);

/// Packs single AI requests into provider batches and brings every answer back.
///
/// Settings are SVC_… variables of the environment: see `longshored config`.
#[derive(Debug, Parser)]
#[command(name = "longshored", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring control and every shard to this program's schema.
    Migrate,
    /// Serve the API and the dashboard.
    Serve,
    /// Run the stages: gather, dispatch, collect, deliver, sweep and audit.
    Work,
    /// Serve and work in one process, for a small install.
    All,
    Admin(AdminCommand),
    /// Say what is wrong with each dependency, and how to mend it.
    Doctor(Form),
    /// Show every setting, its value, and who gave it.
    Config(Form),
    /// Read an uploaded file on standard input, confined; workers start it.
    #[command(hide = true)]
    Probe(ProbeCommand),
    /// Time a single step on real rows, for benches.
    #[command(subcommand, hide = true)]
    Trial(TrialCommand),
}

#[derive(Debug, Clone, Copy, Args)]
struct Form {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match obey(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            // Nobody is left to tell when standard error is closed.
            let _told = writeln!(io::stderr(), "longshored: {}", failure::chain(&*failure));
            ExitCode::FAILURE
        }
    }
}

fn obey(command: Command) -> Result<ExitCode, Box<dyn Error>> {
    // Before any setting: it has none, and shares nothing with whoever started it.
    if let Command::Probe(probe) = &command {
        return Ok(probe::run(probe));
    }
    let reading = settings::from_environment();
    if let Command::Config(form) = command {
        let wrong = !reading.faults.is_empty();
        say(form, || config::text(&reading), &config::document(&reading))?;
        return Ok(if wrong {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        });
    }
    if let Command::Admin(admin) = &command
        && let Some(alone) = admin.alone()
    {
        alone.run(reading.values()?, clock::host_now())?;
        return Ok(ExitCode::SUCCESS);
    }
    let settings = reading.settings()?;
    telemetry::init(&settings.values)?;
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(Box::pin(carry_out(command, &settings)));
    runtime.shutdown_timeout(LAST);
    ended
}

async fn carry_out(command: Command, settings: &Settings) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Migrate => {
            for line in migrate::run(settings).await? {
                writeln!(io::stdout(), "{line}")?;
            }
        }
        Command::Serve => run::run(settings, Role::Serve).await?,
        Command::Work => run::run(settings, Role::Work).await?,
        Command::All => run::run(settings, Role::All).await?,
        Command::Admin(command) => {
            let stores = wiring::connect_for_command(settings)?;
            // Rows carry the time of control, whatever this host's clock says.
            let now = store::doctor::now(&stores.control.pool).await?;
            let limits = licence::in_force(&settings.values, now);
            admin::run(command, &stores, limits, settings, now).await?;
        }
        Command::Doctor(form) => {
            let report = doctor::examine(settings).await;
            say(form, || doctor::text(&report), &report)?;
            return Ok(if report.ok {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Command::Trial(command) => {
            writeln!(
                io::stdout(),
                "{}",
                Box::pin(trial::run(command, settings)).await?
            )?;
        }
        // Answered before: it must show settings that are wrong, too.
        Command::Config(_) | Command::Probe(_) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// A command's answer, and nothing else, goes to standard output.
fn say(form: Form, text: impl Fn() -> String, document: &impl Serialize) -> io::Result<()> {
    let answer = if form.json {
        serde_json::to_string(document)?
    } else {
        text()
    };
    writeln!(io::stdout(), "{answer}")
}
