//! Child processes that never outlive the trial.
//!
//! Each gets a process group of its own, so that an interrupt from the terminal
//! reaches only us and we end them in order; and `setpriv --pdeathsig` ends them
//! even when we are killed outright.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::{During as _, Failure, Result};

const LOOK: Duration = Duration::from_millis(10);
/// So much of a log is shown of what did not start.
const LAST_LINES: usize = 50;

/// How long a server may take to start, and how often it is asked meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub within: Duration,
    pub every: Duration,
}

/// Whom a program runs as, when not as ourselves.
#[derive(Debug, Clone, Copy)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

/// A program and how it is to be run.
#[derive(Debug, Clone)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub user: Option<User>,
    /// The signal that it gets when we are gone.
    pub at_our_death: &'static str,
    /// How many files it may have open; as many as we may if not told.
    pub open_files: Option<u32>,
}

impl Program {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            user: None,
            at_our_death: "KILL",
            open_files: None,
        }
    }

    #[must_use]
    pub fn arguments<S: Into<String>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
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
        command.arg(format!("--pdeathsig={}", self.at_our_death));
        if let Some(user) = self.user {
            command.arg(format!("--reuid={}", user.uid));
            command
                .arg(format!("--regid={}", user.gid))
                .arg("--clear-groups");
        }
        command.arg("--").arg(&self.path).args(&self.arguments);
        // Settings of the shell we were started from must not reach the service.
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).process_group(0);
        command
    }

    /// Starts it with all output appended to `log`.
    pub fn start(&self, log: &Path) -> Result<Daemon> {
        let file = appended(log)?;
        let errors = file.try_clone().during("sharing a log file")?;
        let child = self.command().stdout(file).stderr(errors).spawn();
        let child = child.during(format!("starting {}", self.path.display()))?;
        Ok(Daemon {
            name: self.path.display().to_string(),
            child,
        })
    }

    /// Runs it to its end and returns what it wrote; `log` is where that lies meanwhile.
    pub async fn run(&self, log: &Path) -> Result<String> {
        let finished = self.finish(log).await?;
        if finished.status.success() {
            return Ok(finished.output);
        }
        let complaint: Vec<&str> = finished.complaint.lines().take(20).collect();
        let what = format!("{} {}", self.path.display(), self.arguments.join(" "));
        let what: String = what.chars().take(300).collect();
        Err(Failure::new(format!(
            "{what}: {}: {}",
            finished.status,
            complaint.join("\n")
        )))
    }

    /// The same, for whoever expects that it may say no.
    pub async fn finish(&self, log: &Path) -> Result<Finished> {
        let (output, errors) = (log.with_extension("out"), log.with_extension("err"));
        let child = self
            .command()
            .stdout(File::create(&output).during("making an output file")?)
            .stderr(File::create(&errors).during("making an output file")?)
            .spawn();
        let child = child.during(format!("starting {}", self.path.display()))?;
        let mut daemon = Daemon {
            name: self.path.display().to_string(),
            child,
        };
        Ok(Finished {
            status: daemon.ended(Duration::from_hours(2)).await?,
            output: fs::read_to_string(&output).during("reading an output file")?,
            complaint: fs::read_to_string(&errors).unwrap_or_default(),
        })
    }
}

/// What a program that has ended left behind.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub output: String,
    pub complaint: String,
}

fn appended(log: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    file.during(format!("opening {}", log.display()))
}

/// A running child; dropped, it is killed and waited for.
#[derive(Debug)]
pub struct Daemon {
    name: String,
    child: Child,
}

impl Daemon {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// How it ended, if it has.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let pid = self.pid().to_string();
        let mut command = Command::new("sh");
        command
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &pid])
            .stderr(Stdio::null());
        let status = command.status().during("running kill")?;
        if !status.success() {
            return Err(Failure::new(format!(
                "{} ({pid}) is not there to signal",
                self.name
            )));
        }
        Ok(())
    }

    /// SIGSTOP, without the time that starting `kill` takes.
    pub fn stop(&self) -> Result<()> {
        self.send(Signal::STOP)
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<()> {
        self.send(Signal::CONT)
    }

    fn send(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::new("a process id is no number of a process"))?;
        kill_process(pid, signal).during(format!("signalling {}", self.name))
    }

    /// SIGKILL, and gone when this returns.
    pub fn kill(&mut self) {
        // Either may fail only because it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks until it answers. One that has ended, or takes longer, is told with the end of its log.
    pub async fn answering(
        &mut self,
        log: &Path,
        patience: Patience,
        mut ask: impl AsyncFnMut() -> Result<()>,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            match ask().await {
                Ok(()) => return Ok(()),
                Err(_) if begun.elapsed() < patience.within && self.is_running() => {
                    tokio::time::sleep(patience.every).await;
                }
                Err(failure) => {
                    let log = fs::read_to_string(log).unwrap_or_default();
                    let lines: Vec<&str> = log.lines().collect();
                    let last = lines.get(lines.len().saturating_sub(LAST_LINES)..);
                    let last = last.unwrap_or_default().join("\n");
                    return Err(Failure::new(format!("{failure}\n{last}")));
                }
            }
        }
    }

    /// Waits for its end.
    pub async fn ended(&mut self, within: Duration) -> Result<ExitStatus> {
        let begun = Instant::now();
        loop {
            let status = self.child.try_wait().during("waiting for a child")?;
            if let Some(status) = status {
                return Ok(status);
            }
            if begun.elapsed() > within {
                let text = format!("{} has not ended within {} s", self.name, within.as_secs());
                return Err(Failure::new(text));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Signals it and gives it a while; for use where nothing can be awaited.
    pub fn end_politely(&mut self, signal: &str, within: Duration) {
        let begun = Instant::now();
        if self.is_running() && self.signal(signal).is_ok() {
            while self.is_running() && begun.elapsed() < within {
                std::thread::sleep(LOOK);
            }
        }
        self.kill();
    }
}

impl Drop for Daemon {
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
        let mut program = Program::new("sh").arguments(["-c", "echo $WORD; echo no >&2"]);
        program
            .environment
            .push(("WORD".to_owned(), "yes".to_owned()));
        assert_eq!(program.run(&log).await.unwrap(), "yes\n");
        for extension in ["out", "err"] {
            fs::remove_file(log.with_extension(extension)).unwrap();
        }
    }

    #[tokio::test]
    async fn a_dropped_daemon_is_gone() {
        let log = log("sleep");
        let daemon = Program::new("sleep")
            .arguments(["600"])
            .start(&log)
            .unwrap();
        let entry = PathBuf::from(format!("/proc/{}", daemon.pid()));
        assert!(entry.exists());
        drop(daemon);
        assert!(!entry.exists());
        fs::remove_file(log).unwrap();
    }
}
