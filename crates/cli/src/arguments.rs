//! The command line: its commands and options.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::cli_error::CliResult;
use crate::commands::cancel::{self, CancelOptions};
use crate::commands::check::{self, CheckOptions};
use crate::commands::completions::{self, CompletionOptions};
use crate::commands::estimate::{self, EstimateOptions};
use crate::commands::list::{self, ListOptions};
use crate::commands::listen::{self, ListenOptions};
use crate::commands::load::{self, LoadOptions};
use crate::commands::login::{self, LoginOptions};
use crate::commands::receiver::{self, ReceiverCommand};
use crate::commands::run_file::{self, RunOptions};
use crate::commands::tail::{self, TailOptions};
use crate::commands::track::{self, TrackOptions};
use crate::commands::upload::{self, UploadOptions};
use crate::commands::whoami;
use crate::exit_status::ExitStatus;
use crate::session::{GlobalOptions, Session};

/// Sends AI requests to a Longshore service, and collects the answers.
///
/// The key comes from `LONGSHORE_API_KEY`, from --key-file or from `longshore login`; the address
/// from --base-url, `LONGSHORE_BASE_URL` or the login.
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but some items failed, 4 not signed in or not
/// allowed, 5 not found, 6 limit or credit, 7 service unavailable, 8 still under way after --timeout,
/// 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "longshore", version)]
pub struct CommandLine {
    #[command(flatten)]
    pub options: GlobalOptions,
    #[command(subcommand)]
    command: CallerCommand,
}

#[derive(Debug, Subcommand)]
enum CallerCommand {
    /// Load every line of a file, and collect every answer. Run it again to continue.
    Run(RunOptions),
    /// Check every line of a file, without loading anything.
    Check(CheckOptions),
    /// Estimate what the requests of a file cost.
    Estimate(EstimateOptions),
    /// Load one request.
    Load(LoadOptions),
    /// Show cargo or groups; with --wait when they are completed.
    Track(TrackOptions),
    /// Print what is completed, as it happens.
    Tail(TailOptions),
    /// List cargo, newest first.
    List(ListOptions),
    /// Cancel cargo or a whole group.
    Cancel(CancelOptions),
    /// Upload files for requests.
    Upload(UploadOptions),
    /// Send callbacks of `listen://NAME` to a receiver on this machine.
    Listen(ListenOptions),
    /// Test a receiver of callbacks.
    #[command(subcommand)]
    Receiver(ReceiverCommand),
    /// Store the address of a service and an API key.
    Login(LoginOptions),
    /// Forget a profile and its key.
    Logout,
    /// List the profiles.
    Profiles,
    /// Show the key, its project, limits and balance.
    Whoami,
    /// Print a script that completes commands in your shell.
    Completions(CompletionOptions),
}

impl CommandLine {
    pub async fn run(self, session: &Session) -> CliResult<ExitStatus> {
        match self.command {
            CallerCommand::Run(options) => Box::pin(run_file::run(session, &options)).await,
            CallerCommand::Check(options) => Box::pin(check::run(session, &options)).await,
            CallerCommand::Estimate(options) => Box::pin(estimate::run(session, &options)).await,
            CallerCommand::Load(options) => Box::pin(load::run(session, &options)).await,
            CallerCommand::Track(options) => Box::pin(track::run(session, &options)).await,
            CallerCommand::Tail(options) => Box::pin(tail::run(session, &options)).await,
            CallerCommand::List(options) => Box::pin(list::run(session, &options)).await,
            CallerCommand::Cancel(options) => Box::pin(cancel::run(session, &options)).await,
            CallerCommand::Upload(options) => Box::pin(upload::run(session, &options)).await,
            CallerCommand::Listen(options) => Box::pin(listen::run(session, &options)).await,
            CallerCommand::Receiver(command) => Box::pin(receiver::run(session, &command)).await,
            CallerCommand::Login(options) => Box::pin(login::login(session, options)).await,
            CallerCommand::Logout => login::logout(session),
            CallerCommand::Profiles => login::list_profiles(session),
            CallerCommand::Whoami => Box::pin(whoami::run(session)).await,
            CallerCommand::Completions(options) => {
                // Only a built command passes the options of all commands on to each.
                let mut command = Self::command();
                command.build();
                completions::run(session, options, &command)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn completions_name_every_command() {
        let command = CommandLine::command();
        for shell in [
            completions::ShellKind::Bash,
            completions::ShellKind::Zsh,
            completions::ShellKind::Fish,
        ] {
            let script = completions::render(shell, &command);
            for subcommand in command.get_subcommands() {
                assert!(script.contains(subcommand.get_name()), "{shell:?}");
            }
        }
    }
}
