//! Deletes the oldest entries of the audit log and of the change feed.
//!
//! Processes that serve do it, because they need control anyway and workers never do. Several of
//! them delete the same rows, which does no harm.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::error_chain;
use domain::history_retention::CHANGE_RETENTION;
use domain::time::{Clock, Timestamp};
use store::Control;
use store::control::history;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

const SWEEP_INTERVAL: Duration = Duration::from_hours(1);
const MAX_ROWS_PER_STATEMENT: i64 = 1000;

#[derive(Debug)]
pub struct ControlHistorySweeper {
    pub control: Control,
    /// The clock of the control database.
    pub clock: Arc<dyn Clock>,
    /// How long entries of the audit log are kept.
    pub audit_retention: TimeDelta,
    /// Whether entries must be in the audit file before they leave.
    pub has_audit_file: bool,
}

impl ControlHistorySweeper {
    /// Deletes at an interval, until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut tick = interval(SWEEP_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            let now = self.clock.now();
            match stop.run_until_cancelled(self.sweep(now)).await {
                Some(Ok(())) => {}
                Some(Err(failure)) => {
                    let failure = error_chain::chain(&failure);
                    tracing::warn!(
                        failure,
                        "old entries of the audit log could not be deleted and will be tried again"
                    );
                }
                None => return,
            }
        }
    }

    async fn sweep(&self, now: Timestamp) -> Result<(), store::Error> {
        let (control, most) = (&self.control, MAX_ROWS_PER_STATEMENT);
        let before = now - self.audit_retention;
        let written = self.has_audit_file;
        while history::delete_audit_entries(control, before, written, most).await?
            == most.unsigned_abs()
        {}
        let before = now - CHANGE_RETENTION;
        while history::delete_changes(control, before, most).await? == most.unsigned_abs() {}
        Ok(())
    }
}
