//! A server of the trial: a child process that is killed, stopped and started again.

use std::fs;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Instant;

use crate::harness::servers::child_process::{ChildProcess, ChildProgram};
use crate::harness::{FailureContext as _, PollLimits, Result, TrialFailure};

/// How many lines of the log an error shows.
const LOG_TAIL_LINES: usize = 50;

/// Appends to one log across restarts; it is killed on drop.
#[derive(Debug)]
pub struct ChildServer {
    name: String,
    log_file: PathBuf,
    start_limits: PollLimits,
    process: Option<ChildProcess>,
}

impl ChildServer {
    /// Not started yet.
    pub fn new(name: impl Into<String>, log_file: PathBuf, start_limits: PollLimits) -> Self {
        Self {
            name: name.into(),
            log_file,
            start_limits,
            process: None,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts it without waiting.
    pub fn spawn(&mut self, program: &ChildProgram) -> Result<()> {
        self.process = Some(program.start(&self.log_file)?);
        Ok(())
    }

    /// Calls `ask` until it succeeds. If the server has exited or takes too long, the error
    /// shows the end of its log.
    pub async fn wait_until_answering(
        &mut self,
        mut ask: impl AsyncFnMut() -> Result<()>,
    ) -> Result<()> {
        let begun = Instant::now();
        while let Err(failure) = ask().await {
            let is_running = self.is_running();
            if !is_running || begun.elapsed() > self.start_limits.timeout {
                let what = if is_running {
                    "is not ready"
                } else {
                    "has exited"
                };
                return Err(self.failure(&format!("{what}: {failure}")));
            }
            tokio::time::sleep(self.start_limits.interval).await;
        }
        Ok(())
    }

    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(ChildProcess::is_running)
    }

    /// Fails if it has exited without a command of the trial.
    pub fn check_running(&mut self) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        Err(self.failure("exited unexpectedly"))
    }

    /// The exit status, if it has exited.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.process.as_mut().and_then(ChildProcess::exit_status)
    }

    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ChildProcess::pid)
    }

    /// SIGKILL: connections are reset. Returns the id of the killed process.
    pub fn kill(&mut self) -> Option<u32> {
        let mut process = self.take()?;
        process.kill();
        Some(process.pid())
    }

    /// SIGSTOP: it keeps its memory, its sockets and its transactions, and answers nothing.
    pub fn stop(&self) -> Result<()> {
        self.running()?.stop()
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<()> {
        self.running()?.resume()
    }

    /// Sends a signal by name, such as `HUP`.
    pub fn signal(&self, name: &str) -> Result<()> {
        self.running()?.signal(name)
    }

    fn running(&self) -> Result<&ChildProcess> {
        let process = self.process.as_ref();
        process.context(format!("{} is not running", self.name))
    }

    /// The process, for a caller that ends it in another way.
    pub fn take(&mut self) -> Option<ChildProcess> {
        self.process.take()
    }

    /// A failure that shows the end of the log.
    pub fn failure(&self, what: &str) -> TrialFailure {
        TrialFailure::new(format!("{} {what}\n{}", self.name, self.log_tail()))
    }

    /// The end of its log, for error messages.
    pub fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log_file).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(LOG_TAIL_LINES)..);
        tail.unwrap_or_default().join("\n")
    }
}
