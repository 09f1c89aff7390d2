//! The child process that reads untrusted bytes: `longshored probe MEDIA_TYPE`.
//!
//! It confines itself before it reads, says that it is ready, takes the bytes on its standard
//! input and answers with one line. Whatever else becomes of it once it was ready (a crash, a
//! signal, silence) is the file's doing, and means that the file is malformed.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use domain::file::{Flaw, MediaType, Structure};
use domain::probe::{LONGEST_LINE, READY, hear};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// So long may a child take over a chunk, or over its answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// All that a child ever says.
const LONGEST_OUTPUT: u64 = (READY.len() + LONGEST_LINE) as u64;
/// SIGHUP, SIGINT, SIGQUIT and SIGTERM, which have these numbers on every Linux.
const ASKING: [i32; 4] = [1, 2, 3, 15];

/// Starts children.
#[derive(Debug, Clone)]
pub struct Prober {
    program: PathBuf,
    patience: Duration,
    limits: Option<Limits>,
}

/// What one file may cost a child, where it is not to decide by itself.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub memory_bytes: u64,
    pub cpu: Duration,
}

/// Ours: it says nothing about the file.
#[derive(Debug, thiserror::Error)]
pub enum ProbeFailure {
    #[error("the probe cannot be started")]
    Start(#[source] io::Error),
    /// No sandbox on this host, or no longshored: how it ended.
    #[error("the probe ended before it was confined: {0}")]
    NotReady(String),
    #[error("the probe was stopped from outside")]
    Stopped,
    #[error("the probe does not read what is right")]
    Wrong,
}

/// Whether a child takes more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appetite {
    Hungry,
    /// It knows its answer: [`Probing::finish`] has it, at once.
    Full,
}

/// A child that reads one file. Dropped, it is killed.
#[derive(Debug)]
pub struct Probing {
    media_type: MediaType,
    patience: Duration,
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
}

impl Prober {
    /// `program` is longshored itself.
    pub fn new(program: PathBuf) -> Self {
        Self::with_patience(program, PATIENCE)
    }

    /// The patience counts only while the child keeps us waiting: a slow store costs it nothing.
    pub fn with_patience(program: PathBuf, patience: Duration) -> Self {
        Self {
            program,
            patience,
            limits: None,
        }
    }

    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Self {
            limits: Some(limits),
            ..self
        }
    }

    pub fn start(&self, media_type: MediaType) -> Result<Probing, ProbeFailure> {
        let mut child = Command::new(&self.program)
            .args(["probe", media_type.as_str()])
            .args(self.limits.iter().flat_map(Limits::arguments))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What a parser says in its last moment may be made of the file.
            .stderr(Stdio::null())
            .kill_on_drop(true)
            // A terminal's interrupt is for us; we decide what becomes of the child.
            .process_group(0)
            .spawn()
            .map_err(ProbeFailure::Start)?;
        let output = child.stdout.take();
        Ok(Probing {
            media_type,
            patience: self.patience,
            input: child.stdin.take(),
            output: output.ok_or_else(|| ProbeFailure::Start(io::ErrorKind::BrokenPipe.into()))?,
            child,
        })
    }

    /// Reads a word, to learn whether files can be probed on this host.
    pub async fn rehearse(&self) -> Result<(), ProbeFailure> {
        let mut probing = self.start(MediaType::Text)?;
        probing.feed(Bytes::from_static(b"ahoy")).await;
        match probing.finish().await? {
            Ok(Structure::Text) => Ok(()),
            _ => Err(ProbeFailure::Wrong),
        }
    }
}

impl Limits {
    fn arguments(&self) -> [String; 2] {
        [
            format!("--memory-bytes={}", self.memory_bytes),
            format!("--cpu-seconds={}", self.cpu.as_secs()),
        ]
    }
}

impl Probing {
    /// The process, while it is one.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Never fails: what a child that has gone has to say is heard in the end.
    pub async fn feed(&mut self, bytes: Bytes) -> Appetite {
        let Some(input) = &mut self.input else {
            return Appetite::Full;
        };
        match timeout(self.patience, input.write_all(&bytes)).await {
            Ok(Ok(())) => Appetite::Hungry,
            Ok(Err(_)) => self.stop_feeding(),
            Err(_) => {
                // It cannot be stopped twice, and is waited for below.
                let _ended_already = self.child.start_kill();
                self.stop_feeding()
            }
        }
    }

    fn stop_feeding(&mut self) -> Appetite {
        self.input = None;
        Appetite::Full
    }

    /// The answer, once all bytes were fed or the child wants no more.
    pub async fn finish(self) -> Result<Result<Structure, Flaw>, ProbeFailure> {
        let Self {
            media_type,
            patience,
            mut child,
            input,
            output,
        } = self;
        drop(input);
        let mut said = Vec::new();
        let ending = async {
            let mut few = output.take(LONGEST_OUTPUT);
            few.read_to_end(&mut said).await?;
            // Whoever says more than that finds nobody who listens.
            drop(few);
            child.wait().await
        };
        let status = match timeout(patience, ending).await {
            Ok(ended) => ended.ok(),
            Err(_) => child.kill().await.ok().and(None),
        };
        let Some(answer) = said.strip_prefix(READY.as_bytes()) else {
            return Err(ProbeFailure::NotReady(last_words(&said, status)));
        };
        if status.is_some_and(was_asked_to_end) {
            return Err(ProbeFailure::Stopped);
        }
        Ok(understood(media_type, status, answer).unwrap_or(Err(media_type.kind().malformed())))
    }
}

/// What a child that ended well has answered.
fn understood(
    media_type: MediaType,
    status: Option<ExitStatus>,
    answer: &[u8],
) -> Option<Result<Structure, Flaw>> {
    status.filter(ExitStatus::success)?;
    let line = str::from_utf8(answer).ok()?.strip_suffix('\n')?;
    hear(media_type, line)
}

/// By a service manager or a terminal that ends us all. No file can bring this about.
fn was_asked_to_end(status: ExitStatus) -> bool {
    status
        .signal()
        .is_some_and(|signal| ASKING.contains(&signal))
}

/// Before it was ready it had read nothing, so its words are its own.
fn last_words(said: &[u8], status: Option<ExitStatus>) -> String {
    let said = String::from_utf8_lossy(said);
    match (said.trim(), status) {
        ("", Some(status)) => status.to_string(),
        ("", None) => "no answer in time".to_owned(),
        (said, _) => said.to_owned(),
    }
}
