//! A process of a run, which is watched until it is killed or ends.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::harness::measurement::process_memory;
use crate::harness::servers::child_process::ChildProcess;
use crate::harness::{ChildProgram, Result, TrialVerdict, judge};

const MAX_MEGABYTES: f64 = 200.0;
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The last start of the largest run.
const RUN_TIMEOUT: Duration = Duration::from_hours(1);

/// How its processes were killed, and the most memory of one.
#[derive(Debug, Default)]
pub(super) struct RunHistory {
    kills: u64,
    peak_megabytes: f64,
}

impl RunHistory {
    /// Kills a new process once this holds. It does not count if it has ended before.
    pub(super) async fn start_and_kill(
        &mut self,
        program: &ChildProgram,
        log: &Path,
        is_due: impl Fn() -> bool,
    ) -> Result<()> {
        let mut process = program.start(log)?;
        let was_running = self.watch(&mut process, is_due).await;
        self.kills += u64::from(was_running);
        process.kill();
        Ok(())
    }

    /// Starts a last process, waits for its end, and judges all of them.
    pub(super) async fn finish(
        &mut self,
        program: &ChildProgram,
        log: &Path,
        expected_kills: u64,
        verdict: &mut TrialVerdict,
    ) -> Result<()> {
        let mut process = program.start(log)?;
        self.watch(&mut process, || false).await;
        let status = process.wait_for_exit(RUN_TIMEOUT).await?;
        judge! { verdict;
            record "kills" => self.kills,
            record "peak_megabytes" => self.peak_megabytes,
            record "exit_code" => json!(status.code()),
            check "the last start ends with 0" => status.success(),
            check "every kill came while it ran" => self.kills == expected_kills,
            check "less than 200 MB of memory" => self.peak_megabytes < MAX_MEGABYTES,
        }
        Ok(())
    }

    async fn watch(&mut self, process: &mut ChildProcess, is_due: impl Fn() -> bool) -> bool {
        while process.is_running() {
            if let Ok(megabytes) = process_memory::peak_resident_megabytes(process.pid()) {
                self.peak_megabytes = self.peak_megabytes.max(megabytes);
            }
            if is_due() {
                return true;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        false
    }
}
