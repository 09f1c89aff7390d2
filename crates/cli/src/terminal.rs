//! Questions to the person at the terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;

/// Typed characters are not shown while this exists.
struct HiddenInput(Termios);

impl HiddenInput {
    /// None if standard input is not a terminal.
    fn begin() -> Option<Self> {
        let shown = tcgetattr(io::stdin()).ok()?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).ok()?;
        Some(Self(shown))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        let _restored = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        let _written = writeln!(io::stderr());
    }
}

/// The answer to a question, without spaces around it.
pub async fn ask(question: &str) -> CliResult<String> {
    prompt(question);
    read_line().await
}

/// The same, without echo if a person types it.
pub async fn ask_secret(question: &str) -> CliResult<String> {
    if !io::stdin().is_terminal() {
        return read_line().await;
    }
    prompt(question);
    // Dropped on an interrupt, too: the terminal shows what is typed again.
    let _hidden = HiddenInput::begin();
    read_line().await
}

fn prompt(question: &str) {
    let mut terminal = io::stderr().lock();
    let _written = write!(terminal, "{question}").and_then(|()| terminal.flush());
}

async fn read_line() -> CliResult<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    tokio::select! {
        read = read => {
            let line = read.map_err(io::Error::other).and_then(|line| line);
            let line = line.map_err(|error| input_error(&error.to_string()))?;
            Ok(line.trim().to_owned())
        }
        _ = tokio::signal::ctrl_c() => {
            Err(CliError::new(ExitStatus::Interrupted, "interrupted", "Stopped."))
        }
    }
}

fn input_error(reason: &str) -> CliError {
    let message = format!("standard input: {reason}");
    CliError::new(ExitStatus::Failed, "input_error", message)
}
