//! Child processes that never outlive the trial.
//!
//! Each has its own process group, so that an interrupt from the terminal reaches only the
//! trial, which ends them in order. `setpriv --pdeathsig` ends them even if the trial is
//! killed.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{FailureContext as _, Result, TrialFailure};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The user that a program runs as.
#[derive(Debug, Clone, Copy)]
pub struct UnixUser {
    pub uid: u32,
    pub gid: u32,
}

/// A program and how to run it.
#[derive(Debug, Clone)]
pub struct ChildProgram {
    pub path: PathBuf,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub user: Option<UnixUser>,
    /// The signal that the child gets when the trial dies.
    pub parent_death_signal: &'static str,
    /// The limit of open files; without it, the limit of the trial.
    pub open_files: Option<u32>,
}

impl ChildProgram {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            user: None,
            parent_death_signal: "KILL",
            open_files: None,
        }
    }

    #[must_use]
    pub fn with_arguments<S: Into<String>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(more.into_iter().map(Into::into));
        self
    }

    fn command(&self) -> Command {
        let mut command = match self.open_files {
            None => Command::new("setpriv"),
            Some(most) => {
                let mut command = Command::new("prlimit");
                command
                    .arg(format!("--nofile={most}:{most}"))
                    .arg("setpriv");
                command
            }
        };
        command.arg(format!("--pdeathsig={}", self.parent_death_signal));
        if let Some(user) = self.user {
            command.arg(format!("--reuid={}", user.uid));
            command
                .arg(format!("--regid={}", user.gid))
                .arg("--clear-groups");
        }
        command.arg("--").arg(&self.path).args(&self.arguments);
        // Settings of the shell that started the trial must not reach the service.
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).process_group(0);
        command
    }

    /// Starts it with all output appended to `log`.
    pub fn start(&self, log: &Path) -> Result<ChildProcess> {
        let file = open_log(log)?;
        let errors = file.try_clone().context("opening a log file twice")?;
        let child = self.command().stdout(file).stderr(errors).spawn();
        let child = child.context(format!("starting {}", self.path.display()))?;
        Ok(ChildProcess {
            name: self.path.display().to_string(),
            child,
        })
    }

    /// Runs it to its end and returns its standard output; `log` is the prefix of temporary
    /// files.
    pub async fn run(&self, log: &Path) -> Result<String> {
        let finished = self.run_to_end(log).await?;
        if finished.status.success() {
            return Ok(finished.stdout);
        }
        let complaint: Vec<&str> = finished.stderr.lines().take(20).collect();
        let what = format!("{} {}", self.path.display(), self.arguments.join(" "));
        let what: String = what.chars().take(300).collect();
        Err(TrialFailure::new(format!(
            "{what}: {}: {}",
            finished.status,
            complaint.join("\n")
        )))
    }

    /// The same, but a failing exit status is not an error.
    pub async fn run_to_end(&self, log: &Path) -> Result<ProgramOutput> {
        let (output, errors) = (log.with_extension("out"), log.with_extension("err"));
        let child = self
            .command()
            .stdout(File::create(&output).context("creating an output file")?)
            .stderr(File::create(&errors).context("creating an output file")?)
            .spawn();
        let child = child.context(format!("starting {}", self.path.display()))?;
        let mut daemon = ChildProcess {
            name: self.path.display().to_string(),
            child,
        };
        Ok(ProgramOutput {
            status: daemon.wait_for_exit(Duration::from_hours(2)).await?,
            stdout: fs::read_to_string(&output).context("reading an output file")?,
            stderr: fs::read_to_string(&errors).unwrap_or_default(),
        })
    }
}

/// The exit status and the output of a program.
#[derive(Debug)]
pub struct ProgramOutput {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

fn open_log(log: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    file.context(format!("opening {}", log.display()))
}

/// A running child; it is killed and waited for on drop.
#[derive(Debug)]
pub struct ChildProcess {
    name: String,
    child: Child,
}

impl ChildProcess {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The exit status, if it has exited.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let pid = self.pid().to_string();
        let mut command = Command::new("sh");
        command
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &pid])
            .stderr(Stdio::null());
        let status = command.status().context("running kill")?;
        if !status.success() {
            return Err(TrialFailure::new(format!(
                "{} ({pid}) is not running",
                self.name
            )));
        }
        Ok(())
    }

    /// SIGSTOP, without the delay of starting `kill`.
    pub fn stop(&self) -> Result<()> {
        self.send_signal(Signal::STOP)
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<()> {
        self.send_signal(Signal::CONT)
    }

    fn send_signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.context("the process id is out of range")?;
        kill_process(pid, signal).context(format!("signalling {}", self.name))
    }

    /// SIGKILL; it has exited when this returns.
    pub fn kill(&mut self) {
        // Either fails only if it has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it has exited.
    pub async fn wait_for_exit(&mut self, within: Duration) -> Result<ExitStatus> {
        let begun = Instant::now();
        loop {
            let status = self.child.try_wait().context("waiting for a child")?;
            if let Some(status) = status {
                return Ok(status);
            }
            if begun.elapsed() > within {
                let text = format!("{} has not exited within {} s", self.name, within.as_secs());
                return Err(TrialFailure::new(text));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Sends a signal and waits a while, then kills it; for code that cannot await.
    pub fn terminate(&mut self, signal: &str, within: Duration) {
        let begun = Instant::now();
        if self.is_running() && self.signal(signal).is_ok() {
            while self.is_running() && begun.elapsed() < within {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        self.kill();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("trials-daemon-{}-{name}", std::process::id()))
    }

    #[tokio::test]
    async fn what_a_program_wrote_comes_back() {
        let log = log("echo");
        let mut program = ChildProgram::new("sh").with_arguments(["-c", "echo $WORD; echo no >&2"]);
        program
            .environment
            .push(("WORD".to_owned(), "yes".to_owned()));
        assert_eq!(program.run(&log).await.unwrap(), "yes\n");
        for extension in ["out", "err"] {
            fs::remove_file(log.with_extension(extension)).unwrap();
        }
    }

    #[tokio::test]
    async fn a_dropped_child_process_is_gone() {
        let log = log("sleep");
        let daemon = ChildProgram::new("sleep")
            .with_arguments(["600"])
            .start(&log)
            .unwrap();
        let entry = PathBuf::from(format!("/proc/{}", daemon.pid()));
        assert!(entry.exists());
        drop(daemon);
        assert!(!entry.exists());
        fs::remove_file(log).unwrap();
    }
}
