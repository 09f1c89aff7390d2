//! Whether this scanner finds what it must and owns up to what it does not look at.
//!
//! As it comes, clamd calls clean what is too large or too deep for it. One that does is not
//! relied on.

use std::time::Duration;

use domain::file::Kind;
use tokio::time::timeout;

use super::answer::Verdict;
use super::{ScanFailure, Scanner, samples};

const FINDS: &str = "the scanner must find the test file that every scanner knows";
const UNPACKS: &str = "the scanner must look into archives";
const KNOWS_CLEAN: &str = "the scanner must call harmless bytes clean";
const OWNS_UP: &str = "the scanner must report what exceeds its limits (AlertExceedsMax yes)";
const TAKES_LARGE: &str = "the scanner must take files of 1 GB (StreamMaxLength)";
const REFUSES_LARGER: &str = "the scanner must refuse a stream beyond its limit";
const ANSWERS: &str = "the scanner must answer";

/// A sample is scanned in a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// Refusals come at once; what is silent for so long has taken the length.
const SILENCE: Duration = Duration::from_millis(100);

/// The scanner must not be relied on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{check}: {why}")]
pub struct ScannerProbeFailure {
    /// What must be so.
    pub check: &'static str,
    /// What was seen instead.
    pub why: String,
    /// It was not to be had at all, so nothing is known.
    pub away: bool,
}

type Probed = Result<(), ScannerProbeFailure>;

impl Scanner {
    /// Every check in turn; the first that fails is told.
    pub async fn probe(&self) -> Probed {
        let hasty = Self {
            timeout: self.timeout.min(PATIENCE),
            ..self.clone()
        };
        hasty.ping().await.map_err(no_answer(ANSWERS))?;
        let infected = |verdict: &Verdict| matches!(verdict, Verdict::Infected(_));
        hasty.expect(FINDS, samples::eicar(), infected).await?;
        hasty
            .expect(UNPACKS, samples::packed_eicar(), infected)
            .await?;
        let clean = |verdict: &Verdict| *verdict == Verdict::Clean;
        hasty
            .expect(KNOWS_CLEAN, samples::harmless(), clean)
            .await?;
        let exceeded = |verdict: &Verdict| *verdict == Verdict::LimitExceeded;
        hasty.expect(OWNS_UP, samples::too_deep(), exceeded).await?;
        hasty.takes_large().await?;
        hasty.refuses_larger().await
    }

    async fn expect(
        &self,
        check: &'static str,
        sample: Vec<u8>,
        good: impl Fn(&Verdict) -> bool,
    ) -> Probed {
        let scanned = async {
            let mut scanning = self.begin().await?;
            scanning.feed(sample.into()).await?;
            scanning.verdict().await
        };
        let verdict = scanned.await.map_err(no_answer(check))?;
        if good(&verdict) {
            Ok(())
        } else {
            Err(seen(check, told(&verdict)))
        }
    }

    /// Nobody sends a gigabyte to ask: its length is announced, and refused at once or not.
    async fn takes_large(&self) -> Probed {
        let largest = u32::try_from(Kind::Video.most_bytes()).unwrap_or(u32::MAX);
        let mut wire = self
            .announce(largest)
            .await
            .map_err(no_answer(TAKES_LARGE))?;
        // Whoever has answered this has read the length before.
        self.ping().await.map_err(no_answer(TAKES_LARGE))?;
        match timeout(SILENCE, wire.answer()).await {
            Err(_) => Ok(()),
            Ok(Ok(answer)) => Err(seen(TAKES_LARGE, answer)),
            Ok(Err(failure)) => Err(no_answer(TAKES_LARGE)(failure)),
        }
    }

    async fn refuses_larger(&self) -> Probed {
        let answered = async {
            let mut wire = self.announce(u32::MAX).await?;
            self.in_time(wire.answer()).await?
        };
        match answered.await.map(|answer| super::answer::read(&answer)) {
            Ok(Ok(Verdict::LimitExceeded)) => Ok(()),
            Ok(Ok(verdict)) => Err(seen(REFUSES_LARGER, told(&verdict))),
            Ok(Err(failure)) => Err(seen(REFUSES_LARGER, failure.to_string())),
            Err(ScanFailure::Timeout(_)) => Err(seen(REFUSES_LARGER, "a stream of 4 GB was taken")),
            Err(failure) => Err(no_answer(REFUSES_LARGER)(failure)),
        }
    }

    async fn announce(&self, length: u32) -> Result<super::Wire, ScanFailure> {
        let mut wire = self.connected().await?;
        let words = [b"zINSTREAM\0".as_slice(), &length.to_be_bytes()].concat();
        self.in_time(wire.send(&words)).await??;
        Ok(wire)
    }
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Clean => "it was called clean".to_owned(),
        Verdict::Infected(name) => format!("{name} was found"),
        Verdict::LimitExceeded => "it was too much for it".to_owned(),
    }
}

fn seen(check: &'static str, why: impl Into<String>) -> ScannerProbeFailure {
    ScannerProbeFailure {
        check,
        why: why.into(),
        away: false,
    }
}

fn no_answer(check: &'static str) -> impl Fn(ScanFailure) -> ScannerProbeFailure {
    move |failure| ScannerProbeFailure {
        check,
        why: failure.to_string(),
        away: matches!(failure, ScanFailure::Away(_) | ScanFailure::Timeout(_)),
    }
}
