//! The limits in force: the plans, and the licence as long as it runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::limit::Limits;
use domain::time::{Clock, to_wire};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::licence::{self, Licence, LicenceFailure, Source};
use crate::settings::table::Values;

/// How soon the end of a licence is noticed.
const BEAT: Duration = Duration::from_secs(10);

type Verdict = Result<Option<Licence>, LicenceFailure>;

#[derive(Debug)]
pub struct Keeper {
    source: Source,
    plans: Limits,
    clock: Arc<dyn Clock>,
    /// As it was read last; whether it has run out is asked again and again.
    read: Mutex<Verdict>,
    sender: watch::Sender<Limits>,
}

impl Keeper {
    pub fn open(values: &Values, clock: Arc<dyn Clock>) -> Self {
        let plans = licence::plans(values);
        let (sender, _) = watch::channel(plans);
        let keeper = Self {
            source: Source::of(values),
            plans,
            clock,
            read: Mutex::new(Ok(None)),
            sender,
        };
        keeper.reload();
        keeper
    }

    pub fn watch(&self) -> watch::Receiver<Limits> {
        self.sender.subscribe()
    }

    /// Reads the file again. Unlike a catalogue, a broken licence takes effect: it may be a withdrawn one.
    pub fn reload(&self) {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = self.source.read();
        let (verdict, _) = self.judge();
        tell(&verdict);
    }

    /// Lets a licence end by itself, until told to stop.
    pub async fn keep(&self, stop: CancellationToken) {
        let mut beat = tokio::time::interval(BEAT);
        while !stop.is_cancelled() {
            tokio::select! {
                _ = beat.tick() => self.tick(),
                () = stop.cancelled() => {}
            }
        }
    }

    pub(super) fn tick(&self) {
        let (verdict, changed) = self.judge();
        if changed {
            tell(&verdict);
        }
    }

    /// What is in force now, and whether that is new.
    fn judge(&self) -> (Verdict, bool) {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let verdict = match read.clone() {
            Ok(Some(licence)) => licence.at(now).map(Some),
            other => other,
        };
        let mut limits = self.plans;
        if let Ok(Some(licence)) = &verdict {
            limits.enterprise = licence.limits;
        }
        let changed = self.sender.send_if_modified(|last| {
            let differs = *last != limits;
            *last = limits;
            differs
        });
        (verdict, changed)
    }
}

fn tell(verdict: &Verdict) {
    match verdict {
        Ok(None) => {}
        Ok(Some(licence)) => tracing::info!(
            licence.licensee = licence.licensee,
            licence.expires_at = to_wire(licence.expires_at),
            "licence in force"
        ),
        Err(failure) => tracing::error!(
            error = %failure,
            "no licence in force: the enterprise plan has its defaults"
        ),
    }
}
