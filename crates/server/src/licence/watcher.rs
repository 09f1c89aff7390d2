//! Watches the licence: publishes the limits in force, on reload and when it expires.

use std::sync::Arc;
use std::time::Duration;

use domain::plan_limits::LimitsByPlan;
use domain::time::{Clock, Timestamp, to_wire};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::licence::{self, Licence, LicenceFailure, LicenceSource};
use crate::settings::table::SettingValues;

/// How often the expiry of the licence is checked.
const EXPIRY_CHECK_INTERVAL: Duration = Duration::from_secs(10);

type LicenceResult = Result<Option<Licence>, LicenceFailure>;

#[derive(Debug)]
pub struct LicenceWatcher {
    source: LicenceSource,
    plans: LimitsByPlan,
    clock: Arc<dyn Clock>,
    /// The result of the last read; its expiry is checked at every interval.
    last_read: Mutex<LicenceResult>,
    sender: watch::Sender<LimitsByPlan>,
}

impl LicenceWatcher {
    pub fn open(values: &SettingValues, clock: Arc<dyn Clock>) -> Self {
        let plans = licence::plan_limits(values);
        let (sender, _) = watch::channel(plans);
        let watcher = Self {
            source: LicenceSource::from_settings(values),
            plans,
            clock,
            last_read: Mutex::new(Ok(None)),
            sender,
        };
        watcher.reload();
        watcher
    }

    pub fn watch(&self) -> watch::Receiver<LimitsByPlan> {
        self.sender.subscribe()
    }

    /// Reads the file again. Unlike an invalid catalogue, an invalid licence takes effect: it may
    /// have been withdrawn.
    pub fn reload(&self) {
        *self.last_read.lock() = self.source.read();
        let (verdict, _) = self.publish_limits();
        log_licence(&verdict);
    }

    /// Checks the expiry at an interval, until `stop`.
    pub async fn run(&self, stop: CancellationToken) {
        let mut beat = tokio::time::interval(EXPIRY_CHECK_INTERVAL);
        while !stop.is_cancelled() {
            tokio::select! {
                _ = beat.tick() => self.tick(),
                () = stop.cancelled() => {}
            }
        }
    }

    pub(super) fn tick(&self) {
        let (verdict, changed) = self.publish_limits();
        if changed {
            log_licence(&verdict);
        }
    }

    /// Publishes the limits in force, and returns whether they changed.
    fn publish_limits(&self) -> (LicenceResult, bool) {
        let read = self.last_read.lock();
        report_expiry(&read);
        let now = self.clock.now();
        let verdict = match read.clone() {
            Ok(Some(licence)) => licence.valid_at(now).map(Some),
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

/// An expired licence keeps its time. One that cannot be used has expired at the epoch.
fn report_expiry(read: &LicenceResult) {
    let expires_at = match read {
        Ok(None) => return,
        Ok(Some(licence)) => licence.expires_at,
        Err(_) => Timestamp::UNIX_EPOCH,
    };
    metrics::gauge!("longshore_licence_expiry_timestamp_seconds")
        .set((expires_at - Timestamp::UNIX_EPOCH).as_seconds_f64());
}

fn log_licence(verdict: &LicenceResult) {
    match verdict {
        Ok(None) => {}
        Ok(Some(licence)) => tracing::info!(
            licence.licensee = licence.licensee,
            licence.expires_at = to_wire(licence.expires_at),
            "licence is in force"
        ),
        Err(failure) => tracing::error!(
            error = %failure,
            "licence is not in force: the enterprise plan uses its default limits"
        ),
    }
}
