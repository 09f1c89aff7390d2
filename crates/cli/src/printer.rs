//! Everything that a person or a program reads: standard output for results, standard error for
//! the rest.

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::Value;

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::printable::printable;
use crate::table::TextTable;

#[derive(Debug, Clone, Copy)]
pub struct OutputPrinter {
    is_json: bool,
    is_quiet: bool,
}

impl OutputPrinter {
    pub const fn new(is_json: bool, is_quiet: bool) -> Self {
        Self { is_json, is_quiet }
    }

    pub const fn is_json(self) -> bool {
        self.is_json
    }

    pub const fn is_quiet(self) -> bool {
        self.is_quiet
    }

    /// A line of the result.
    #[expect(clippy::unused_self, reason = "all output goes through the printer")]
    pub fn line(self, text: &str) -> CliResult<()> {
        write_line(&printable(text))
    }

    /// The result for programs: one line of JSON.
    #[expect(clippy::unused_self, reason = "all output goes through the printer")]
    pub fn json(self, value: &Value) -> CliResult<()> {
        // JSON escapes the control characters of strings.
        write_line(&value.to_string())
    }

    /// The result in the form that the caller chose.
    pub fn result(self, value: &Value, text: impl FnOnce(&Value) -> String) -> CliResult<()> {
        if self.is_json {
            self.json(value)
        } else {
            self.line(text(value).trim_end())
        }
    }

    pub fn table(self, table: &TextTable) -> CliResult<()> {
        self.line(table.render().trim_end())
    }

    /// A remark on standard error, which a pipe does not see.
    pub fn note(self, text: &str) {
        if !self.is_quiet {
            // Nothing is left to do when standard error is closed.
            let _written = writeln!(io::stderr(), "{}", printable(text));
        }
    }

    pub fn error(self, error: &CliError) {
        if error.is_silent() {
            return;
        }
        let text = if self.is_json {
            error.to_json().to_string()
        } else {
            let next = error.next.as_deref().unwrap_or_default();
            let request = error.request_id.as_deref();
            let request = request.map(|id| format!(" [request {id}]"));
            let text = format!(
                "longshore: {}{}",
                error.message,
                request.unwrap_or_default()
            );
            printable(&format!("{text}\n{next}")).into_owned()
        };
        let _written = writeln!(io::stderr(), "{}", text.trim_end());
    }
}

/// Whether a person sees standard error.
pub fn is_error_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person can answer questions.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Replaces the current line of the terminal.
pub fn rewrite_line(text: &str) {
    let mut terminal = io::stderr().lock();
    let text = printable(text);
    let _written = write!(terminal, "\r\x1b[K{text}").and_then(|()| terminal.flush());
}

fn write_line(text: &str) -> CliResult<()> {
    let mut output = io::stdout().lock();
    let written = writeln!(output, "{text}").and_then(|()| output.flush());
    written.map_err(|error| output_error(&error))
}

fn output_error(error: &io::Error) -> CliError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return CliError::closed_output();
    }
    let message = format!("standard output: {error}");
    CliError::new(ExitStatus::Failed, "output_error", message)
}
