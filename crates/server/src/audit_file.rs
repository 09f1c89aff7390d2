//! Appends the audit log to `SVC_AUDIT_FILE` as JSON lines, for a SIEM.
//!
//! Processes that serve do it, because they need control anyway and workers never do. A lease lets
//! one of them write at a time. Control remembers the last entry that is in the file: a restart or
//! a takeover loses no line, and repeats at most those of one write.

mod append;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::error_chain;
use domain::time::Clock;
use store::Control;
use store::control::{audit_file, audit_log};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use append::STANDARD_OUTPUT;

const WRITE_INTERVAL: Duration = Duration::from_secs(2);
/// Another process continues this long after the last one wrote.
const LEASE_DURATION: TimeDelta = TimeDelta::seconds(15);
const MAX_ENTRIES_PER_WRITE: u32 = 1000;

#[derive(Debug)]
pub struct AuditFileWriter {
    pub control: Control,
    /// The clock of the control database.
    pub clock: Arc<dyn Clock>,
    /// This process.
    pub node: Uuid,
    pub path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum AuditFileFailure {
    #[error("the control database failed")]
    Store(#[from] store::Error),
    #[error("an entry cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("the file cannot be written")]
    File(#[from] io::Error),
}

impl AuditFileWriter {
    /// Writes new entries at an interval, until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut tick = interval(WRITE_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_failing = false;
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            let Some(written) = stop.run_until_cancelled(self.catch_up()).await else {
                break;
            };
            match &written {
                Ok(()) if is_failing => tracing::info!("SVC_AUDIT_FILE is written again"),
                Ok(()) => {}
                Err(failure) => {
                    metrics::counter!("longshore_audit_file_write_errors_total").increment(1);
                    if !is_failing {
                        let failure = error_chain::chain(failure);
                        tracing::error!(failure, "SVC_AUDIT_FILE cannot be written; retrying");
                    }
                }
            }
            is_failing = written.is_err();
        }
        // Without it, the lease expires.
        let _ = audit_file::release(&self.control, self.node).await;
    }

    /// Writes all entries that are not in the file, and publishes the age of the oldest one that is
    /// still missing. The age is published while another process writes, too.
    async fn catch_up(&self) -> Result<(), AuditFileFailure> {
        let written = self.write_all().await;
        let oldest = audit_file::find_oldest_unwritten(&self.control).await?;
        let age = oldest.map(|oldest| (self.clock.now() - oldest).as_seconds_f64());
        metrics::gauge!("longshore_audit_file_lag_seconds").set(age.unwrap_or_default().max(0.0));
        written
    }

    async fn write_all(&self) -> Result<(), AuditFileFailure> {
        while self.write_page().await? {}
        Ok(())
    }

    /// Returns whether there may be more entries.
    async fn write_page(&self) -> Result<bool, AuditFileFailure> {
        let now = self.clock.now();
        let until = now + LEASE_DURATION;
        let Some(after) = audit_file::hold(&self.control, self.node, until, now).await? else {
            return Ok(false);
        };
        let entries =
            audit_log::list_after(&self.control, None, after, MAX_ENTRIES_PER_WRITE).await?;
        let Some(last) = entries.last().map(|entry| entry.id) else {
            return Ok(false);
        };
        let lines = api::audit::encode_lines(entries)?;
        let path = self.path.clone();
        let appended = tokio::task::spawn_blocking(move || append::append_lines(&path, &lines));
        appended.await.map_err(io::Error::other)??;
        // False if another process took over meanwhile: it continues.
        Ok(audit_file::advance(&self.control, self.node, last).await?)
    }
}
