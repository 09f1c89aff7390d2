//! The malware scanner: clamd, streamed to over a socket.
//!
//! Only an explicit clean is clean. Our own client, because clamd may answer and hang up before
//! the stream has ended, and that answer must be read.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::timeout;

mod answer;
mod probe;
mod samples;
mod scan;
mod wire;

pub use answer::Verdict;
pub use probe::ScannerProbeFailure;
pub use scan::Scanning;

use wire::Wire;

/// Connecting and small talk; a scanner that needs longer for them is away.
const SMALL_TALK: Duration = Duration::from_secs(5);
/// How long the scanner may take no bytes before it counts as stuck.
const STALL: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `host:port`
    Tcp(String),
    Unix(PathBuf),
}

/// A stream that has no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanFailure {
    #[error("the scanner cannot be reached: {0}")]
    Away(&'static str),
    #[error("the scanner did not answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// Neither clean nor found; whatever it was, it is no verdict.
    #[error("the scanner gave no verdict: {0}")]
    Unclear(String),
}

/// Where clamd is. A connection is made for each scan.
#[derive(Debug, Clone)]
pub struct Scanner {
    address: Address,
    /// From the last byte to the verdict.
    timeout: Duration,
}

impl Scanner {
    pub const fn new(address: Address, timeout: Duration) -> Self {
        Self { address, timeout }
    }

    /// Opens a stream. What is fed to it is scanned when the verdict is asked for.
    pub async fn begin(&self) -> Result<Scanning, ScanFailure> {
        let mut wire = self.connected().await?;
        self.in_time(wire.send(b"zINSTREAM\0")).await??;
        Ok(Scanning::new(wire, self.stall(), self.timeout))
    }

    /// Whether it is there and listens.
    pub async fn ping(&self) -> Result<(), ScanFailure> {
        let mut wire = self.connected().await?;
        let asked = async {
            wire.send(b"zPING\0").await?;
            wire.answer().await
        };
        match self.in_time(asked).await??.as_str() {
            "PONG" => Ok(()),
            other => Err(answer::unclear(other)),
        }
    }

    async fn connected(&self) -> Result<Wire, ScanFailure> {
        self.in_time(Wire::connect(&self.address)).await?
    }

    async fn in_time<F: Future>(&self, work: F) -> Result<F::Output, ScanFailure> {
        let most = SMALL_TALK.min(self.timeout);
        let done = timeout(most, work).await;
        done.map_err(|_| ScanFailure::Timeout(most))
    }

    fn stall(&self) -> Duration {
        STALL.min(self.timeout)
    }
}
