//! One stream on its way through the scanner.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::ScanFailure;
use super::answer::{self, Verdict};
use super::wire::Wire;

/// A chunk of clamd's own stream is no longer.
const LONGEST_CHUNK: usize = 1 << 20;

/// Dropped before its verdict, it ends the scan.
pub struct Scanning {
    wire: Wire,
    answered: bool,
    /// For one chunk to be taken.
    stall: Duration,
    /// For the verdict.
    timeout: Duration,
}

impl fmt::Debug for Scanning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanning")
            .field("answered", &self.answered)
            .finish_non_exhaustive()
    }
}

impl Scanning {
    pub(super) const fn new(wire: Wire, stall: Duration, timeout: Duration) -> Self {
        Self {
            wire,
            answered: false,
            stall,
            timeout,
        }
    }

    /// Gives the scanner more to look at. Once it has answered, what is fed is let go.
    pub async fn feed(&mut self, mut bytes: Bytes) -> Result<(), ScanFailure> {
        // An empty chunk would end the stream.
        while !bytes.is_empty() && !self.answered {
            let chunk = bytes.split_to(bytes.len().min(LONGEST_CHUNK));
            let fed = timeout(self.stall, self.wire.feed(chunk)).await;
            self.answered = fed.unwrap_or(Err(ScanFailure::Timeout(self.stall)))?;
        }
        Ok(())
    }

    /// Whether the answer is there already, whatever is still to be fed.
    pub const fn is_answered(&self) -> bool {
        self.answered
    }

    /// Ends the stream and waits for the verdict.
    pub async fn verdict(mut self) -> Result<Verdict, ScanFailure> {
        let said = async {
            if !self.answered {
                self.answered = self.wire.feed(Bytes::new()).await?;
            }
            self.wire.answer().await
        };
        let said = timeout(self.timeout, said).await;
        let said = said.unwrap_or(Err(ScanFailure::Timeout(self.timeout)))?;
        let verdict = answer::read(&said)?;
        // It cannot know what it had not seen to the end.
        if self.answered && verdict == Verdict::Clean {
            return Err(answer::unclear("clean before the end"));
        }
        Ok(verdict)
    }
}
