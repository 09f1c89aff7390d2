//! The sandboxed child process that reads untrusted bytes: `longshored probe MEDIA_TYPE`.
//!
//! The child enters its sandbox, reports that it is ready, reads the bytes from standard input
//! and answers with one line. If it crashes, dies by a signal or hangs after it was ready, the
//! file is malformed.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use domain::file::{FileFailureReason, FileStructure, MediaType};
use domain::probe_protocol::{MAX_LINE_BYTES, READY_LINE, decode_result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// For the child to read one chunk, or to answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_OUTPUT_BYTES: u64 = (READY_LINE.len() + MAX_LINE_BYTES) as u64;
/// SIGHUP, SIGINT, SIGQUIT and SIGTERM, which have these numbers on every Linux system.
const TERMINATION_SIGNALS: [i32; 4] = [1, 2, 3, 15];

/// Starts child processes.
#[derive(Debug, Clone)]
pub struct Prober {
    program: PathBuf,
    response_timeout: Duration,
    limits: Option<ProbeLimits>,
}

/// Limits of one child. Without them the child uses its defaults.
#[derive(Debug, Clone, Copy)]
pub struct ProbeLimits {
    pub memory_bytes: u64,
    pub cpu: Duration,
}

/// Our own failure: it says nothing about the file.
#[derive(Debug, thiserror::Error)]
pub enum ProbeFailure {
    #[error("the probe cannot be started")]
    Start(#[source] io::Error),
    /// The sandbox is not available, or the program is not longshored. Says how the child ended.
    #[error("the probe ended before it was confined: {0}")]
    NotReady(String),
    #[error("the probe was terminated by a signal")]
    Terminated,
    #[error("the probe gave a wrong answer for a valid file")]
    WrongAnswer,
}

/// Whether the child reads more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedStatus {
    WantsMore,
    /// It has its answer or has ended: call [`ProbeProcess::finish`].
    Finished,
}

/// A child that reads one file. It is killed on drop.
#[derive(Debug)]
pub struct ProbeProcess {
    media_type: MediaType,
    response_timeout: Duration,
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
}

impl Prober {
    /// `program` is the longshored binary.
    pub fn new(program: PathBuf) -> Self {
        Self::with_timeout(program, RESPONSE_TIMEOUT)
    }

    /// The timeout counts only while we wait for the child, not for a slow object store.
    pub fn with_timeout(program: PathBuf, response_timeout: Duration) -> Self {
        Self {
            program,
            response_timeout,
            limits: None,
        }
    }

    #[must_use]
    pub fn with_limits(self, limits: ProbeLimits) -> Self {
        Self {
            limits: Some(limits),
            ..self
        }
    }

    pub fn start(&self, media_type: MediaType) -> Result<ProbeProcess, ProbeFailure> {
        let mut child = Command::new(&self.program)
            .args(["probe", media_type.as_str()])
            .args(self.limits.iter().flat_map(ProbeLimits::arguments))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A parser's last message may contain bytes of the file.
            .stderr(Stdio::null())
            .kill_on_drop(true)
            // A terminal's interrupt must reach longshored only; it decides when the child ends.
            .process_group(0)
            .spawn()
            .map_err(ProbeFailure::Start)?;
        let output = child.stdout.take();
        Ok(ProbeProcess {
            media_type,
            response_timeout: self.response_timeout,
            input: child.stdin.take(),
            output: output.ok_or_else(|| ProbeFailure::Start(io::ErrorKind::BrokenPipe.into()))?,
            child,
        })
    }

    /// Probes a small text to check that the sandbox works on this host.
    pub async fn check_sandbox(&self) -> Result<(), ProbeFailure> {
        let mut probing = self.start(MediaType::Text)?;
        probing.feed(Bytes::from_static(b"ahoy")).await;
        match probing.finish().await? {
            Ok(FileStructure::Text) => Ok(()),
            _ => Err(ProbeFailure::WrongAnswer),
        }
    }
}

impl ProbeLimits {
    fn arguments(&self) -> [String; 2] {
        [
            format!("--memory-bytes={}", self.memory_bytes),
            format!("--cpu-seconds={}", self.cpu.as_secs()),
        ]
    }
}

impl ProbeProcess {
    /// The process id, while the child runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Never fails: [`Self::finish`] reports a child that has ended.
    pub async fn feed(&mut self, bytes: Bytes) -> FeedStatus {
        let Some(input) = &mut self.input else {
            return FeedStatus::Finished;
        };
        match timeout(self.response_timeout, input.write_all(&bytes)).await {
            Ok(Ok(())) => FeedStatus::WantsMore,
            Ok(Err(_)) => self.stop_feeding(),
            Err(_) => {
                // Fails only if the child has ended. `finish` waits for it.
                let _ended_already = self.child.start_kill();
                self.stop_feeding()
            }
        }
    }

    fn stop_feeding(&mut self) -> FeedStatus {
        self.input = None;
        FeedStatus::Finished
    }

    /// Reads the answer after all bytes were fed or the child stopped reading.
    pub async fn finish(self) -> Result<Result<FileStructure, FileFailureReason>, ProbeFailure> {
        let Self {
            media_type,
            response_timeout,
            mut child,
            input,
            output,
        } = self;
        drop(input);
        let mut written = Vec::new();
        let ending = async {
            let mut limited = output.take(MAX_OUTPUT_BYTES);
            limited.read_to_end(&mut written).await?;
            // A child that writes more gets a broken pipe.
            drop(limited);
            child.wait().await
        };
        let status = match timeout(response_timeout, ending).await {
            Ok(ended) => ended.ok(),
            Err(_) => child.kill().await.ok().and(None),
        };
        let Some(answer) = written.strip_prefix(READY_LINE.as_bytes()) else {
            return Err(ProbeFailure::NotReady(describe_exit(&written, status)));
        };
        if status.is_some_and(was_terminated) {
            return Err(ProbeFailure::Terminated);
        }
        Ok(parse_answer(media_type, status, answer)
            .unwrap_or(Err(media_type.kind().malformed_reason())))
    }
}

/// The answer of a child that exited successfully.
fn parse_answer(
    media_type: MediaType,
    status: Option<ExitStatus>,
    answer: &[u8],
) -> Option<Result<FileStructure, FileFailureReason>> {
    status.filter(ExitStatus::success)?;
    let line = str::from_utf8(answer).ok()?.strip_suffix('\n')?;
    decode_result(media_type, line)
}

/// A service manager or a terminal sent the signal. No file can cause this.
fn was_terminated(status: ExitStatus) -> bool {
    status
        .signal()
        .is_some_and(|signal| TERMINATION_SIGNALS.contains(&signal))
}

/// Before it was ready the child had read nothing, so its output contains no bytes of the file.
fn describe_exit(written: &[u8], status: Option<ExitStatus>) -> String {
    let written = String::from_utf8_lossy(written);
    match (written.trim(), status) {
        ("", Some(status)) => status.to_string(),
        ("", None) => "no answer in time".to_owned(),
        (written, _) => written.to_owned(),
    }
}
