//! The consistency check of the ledger. It changes nothing.

use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;
use store::shard::ledger_audit::{self, LedgerAuditReport, LedgerFault};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::consistency_check::{self, FaultLocation, FaultView};

pub(super) async fn run(context: AdminContext<'_>) -> Result<(), AdminFailure> {
    consistency_check::check_shards(context, async |shard| {
        let began = Instant::now();
        let report = ledger_audit::check_all(shard).await?;
        Ok(split_report(report, began.elapsed()))
    })
    .await
}

/// How many rows were checked.
#[derive(Debug, Default, Serialize)]
pub(super) struct ExaminedLedgerRows {
    accounts: u64,
    postings: u64,
    open_holds: u64,
    outcomes: u64,
    /// How long the check took.
    seconds: f64,
}

impl fmt::Display for ExaminedLedgerRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "accounts {}, postings {}, open holds {}, outcomes {}, in {:.1} s",
            self.accounts, self.postings, self.open_holds, self.outcomes, self.seconds
        )
    }
}

impl consistency_check::ExaminedRows for ExaminedLedgerRows {
    fn failure(faults: usize) -> AdminFailure {
        AdminFailure::LedgerFaults(faults)
    }
}

pub(super) fn split_report(
    report: LedgerAuditReport,
    took: Duration,
) -> (ExaminedLedgerRows, Vec<FaultView>) {
    let examined = ExaminedLedgerRows {
        accounts: report.counts.accounts,
        postings: report.counts.postings,
        open_holds: report.counts.open_holds,
        outcomes: report.counts.outcomes,
        seconds: took.as_secs_f64(),
    };
    (examined, report.faults.into_iter().map(view).collect())
}

fn view(fault: LedgerFault) -> FaultView {
    FaultView {
        identity: fault.invariant.as_str(),
        broken: fault.invariant.sentence(),
        organization_id: fault.organization.map(|id| id.to_string()),
        location: FaultLocation::Ledger {
            posting: fault.posting,
            cargo_id: fault.cargo.map(|id| id.to_string()),
        },
        text: fault.to_string(),
        expected: fault.expected,
        found: fault.found,
    }
}
