//! A tmux server of the trial: programs in terminals whose screens can be read.

use std::path::PathBuf;
use std::time::Duration;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, PollLimits, Result};

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(10), Duration::from_millis(50));
const COLUMNS: &str = "120";
const ROWS: &str = "30";
const EXIT_LINE: &str = "exit status ";

/// It is killed on drop, and what runs in its terminals with it.
#[derive(Debug)]
pub struct TmuxServer {
    child: ChildServer,
    client: ChildProgram,
    client_log: PathBuf,
}

impl TmuxServer {
    pub async fn start(scratch: &ScratchFolder) -> Result<Self> {
        let socket = scratch.join("tmux").display().to_string();
        let mut client = ChildProgram::new("tmux");
        client = client.with_arguments(["-f", "/dev/null", "-S", &socket]);
        let variables = [("LANG", "C.UTF-8"), ("TERM", "screen-256color")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        client.environment = variables.to_vec();
        let mut started = Self {
            child: ChildServer::new("tmux", scratch.join("tmux.log"), START_LIMITS),
            client_log: scratch.join("tmux-client"),
            client,
        };
        // With -D, it does not leave the trial.
        let server = started.client.clone().with_arguments(["-D"]);
        started.child.spawn(&server)?;
        // A program that has ended leaves its screen.
        let keep = ["set-option", "-g", "remain-on-exit", "on"];
        let keep = started.client.clone().with_arguments(keep);
        let log = started.client_log.clone();
        let ask = async || keep.run(&log).await.map(drop);
        started.child.wait_until_answering(ask).await?;
        Ok(started)
    }

    /// Runs a program in a new terminal.
    pub async fn open(&self, name: &str, program: &ChildProgram) -> Result<TmuxTerminal<'_>> {
        let session = ["new-session", "-d", "-s", name, "-x", COLUMNS, "-y", ROWS];
        let variables = program.environment.iter();
        let variables =
            variables.flat_map(|(name, value)| ["-e".to_owned(), format!("{name}={value}")]);
        let path = program.path.display().to_string();
        let shell = format!("\"$@\"; echo \"{EXIT_LINE}$?\"");
        let command = self.client.clone().with_arguments(session);
        let command = command.with_arguments(variables);
        let command = command.with_arguments(["--", "sh", "-c", &shell, "sh", &path]);
        let command = command.with_arguments(&program.arguments);
        command.run(&self.client_log).await?;
        Ok(TmuxTerminal {
            server: self,
            name: name.to_owned(),
        })
    }
}

#[derive(Debug)]
pub struct TmuxTerminal<'a> {
    server: &'a TmuxServer,
    name: String,
}

impl TmuxTerminal<'_> {
    /// All lines that are not empty, also those above the screen. Long ones are not broken.
    pub async fn screen(&self) -> Result<String> {
        let capture = ["capture-pane", "-pJ", "-S", "-", "-t", &self.name];
        let command = self.server.client.clone().with_arguments(capture);
        let text = command.run(&self.server.client_log).await?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// The exit status, if the program has ended. A shell prints it: tmux sometimes has none.
    pub async fn exit_code(&self) -> Result<Option<i32>> {
        let screen = self.screen().await?;
        let code = screen.lines().find_map(|line| line.strip_prefix(EXIT_LINE));
        code.map(|code| code.trim().parse().context("the exit status"))
            .transpose()
    }
}
