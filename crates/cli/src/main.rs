//! `longshore`, the command line for callers.
#![expect(
    unreachable_pub,
    reason = "a program has no dependents: `pub` marks a module's interface"
)]

mod arguments;

mod cli_error;

mod clock;

mod commands;

mod environment;

mod exit_status;

mod json_fields;

mod numbers;

mod printable;

mod printer;

mod profiles;

mod receiver_check;

mod requests;

mod run;

mod session;

mod table;

mod terminal;

use std::process::ExitCode;

use clap::Parser as _;
use tokio::runtime::Builder;

use crate::arguments::CommandLine;
use crate::cli_error::{CliError, CliResult};
use crate::environment::CallerEnvironment;
use crate::exit_status::ExitStatus;
use crate::session::Session;

fn main() -> ExitCode {
    let arguments = CommandLine::parse();
    let session = Session::new(arguments.options.clone(), CallerEnvironment::read());
    match run_command(arguments, &session) {
        Ok(exit) => exit.into(),
        Err(error) => {
            session.printer.error(&error);
            error.exit.into()
        }
    }
}

fn run_command(arguments: CommandLine, session: &Session) -> CliResult<ExitStatus> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::new(ExitStatus::Failed, "setup_failed", error.to_string()))?;
    let ended = runtime.block_on(arguments.run(session));
    // A thread that waits for a key from the terminal does not delay the exit.
    runtime.shutdown_background();
    ended
}
