//! The age of the audit's proofs, and the faults that it found.

use chrono::TimeDelta;
use domain::error_chain;
use domain::time::Timestamp;
use store::Error;
use store::shard::ledger_audit::LedgerProofState;

use crate::doctor::DependencyFindings;

/// Workers prove what changed in the ledger once a minute, and read all of it again within a day.
const MAX_LEDGER_PROOF_AGE: TimeDelta = TimeDelta::minutes(15);
const MAX_LEDGER_READ_AGE: TimeDelta = TimeDelta::hours(26);

pub(super) fn check_ledger(
    found: &mut DependencyFindings,
    state: Result<LedgerProofState, Error>,
    now: Timestamp,
) {
    let check = "ledger";
    let state = match state {
        Ok(state) => state,
        Err(error) => {
            let fix = "run doctor again, \
                      or `longshored admin ledger check`, which has no time limit";
            return found.warning(check, &error_chain::chain(&error), fix);
        }
    };
    if let Some(first) = state.faults.first() {
        let text = format!("faults: {}; the first is {first}", state.faults.len());
        let fix = "change nothing by hand; `longshored admin ledger check` lists all faults, and \
                   docs/credit-and-ledger.md says what to do";
        return found.wrong(check, &text, fix);
    }
    let Some((proven, read)) = state.proven_at.zip(state.read_since) else {
        let fix = "start a worker; then wait until it has read all rows once";
        return found.warning(check, "the audit has not read all rows yet", fix);
    };
    let (proven, read) = (now - proven, now - read);
    let text = format!(
        "changes were proven {} min ago, and all rows within the last {} h",
        proven.num_minutes().max(0),
        read.num_hours().max(0) + 1
    );
    if proven > MAX_LEDGER_PROOF_AGE || read > MAX_LEDGER_READ_AGE {
        let fix = "see why workers do not audit; meanwhile run `longshored admin ledger check`";
        found.warning(check, &text, fix);
    } else {
        found.ok(check, &text);
    }
}
