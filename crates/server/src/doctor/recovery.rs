//! Checks whether a shard is paused, and whether the removal of its files is held.

use domain::error_chain;
use store::Error;
use store::shard::bucket_marker::BucketMarkerState;
use store::shard::recovery::RecoveryPause;

use crate::doctor::DependencyFindings;

/// A database that was restored or copied takes no loads until an operator accepts it.
pub(super) fn check_pause(
    found: &mut DependencyFindings,
    pause: Result<Option<RecoveryPause>, Error>,
) {
    let check = "recovery";
    match pause {
        Ok(Some(pause)) => {
            let since = pause.since.format("%Y-%m-%d %H:%M:%S UTC");
            let text = format!("paused since {since}: {}", pause.reason);
            let fix = "read the runbook, then run `longshored admin recovery status`, `report` and \
                       `accept`";
            found.wrong(check, &text, fix);
        }
        Ok(None) => found.ok(check, "not paused"),
        Err(error) => found.warning(check, &error_chain::chain(&error), "run doctor again"),
    }
}

pub(super) fn check_removal(
    found: &mut DependencyFindings,
    state: Result<BucketMarkerState, Error>,
) {
    let check = "file removal";
    match state {
        Ok(BucketMarkerState {
            held: Some(hold), ..
        }) => {
            let text = format!(
                "held since {}: {}",
                hold.since.format("%Y-%m-%d %H:%M:%S UTC"),
                hold.reason
            );
            let fix = "check that this is the right database, then run \
                       `longshored admin files confirm` (see docs/object-storage-and-scanner.md)";
            found.wrong(check, &text, fix);
        }
        Ok(_) => found.ok(check, "not held"),
        Err(error) => found.wrong(
            check,
            &error_chain::chain(&error),
            "allow this user to call pg_control_system(), pg_walfile_name() and \
             pg_current_wal_lsn()",
        ),
    }
}
