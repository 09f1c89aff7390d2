//! The proof of the ledger. Nothing is changed.

use std::fmt;

use serde::Serialize;
use store::shard::audit::{self, Fault, Report};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::proof::{self, FaultView, Place};

pub(super) async fn run(desk: Desk<'_>) -> Result<(), AdminFailure> {
    proof::prove(desk, async |shard| Ok(parts(audit::whole(shard).await?))).await
}

/// How much was looked at.
#[derive(Debug, Default, Serialize)]
pub(super) struct Examined {
    accounts: u64,
    postings: u64,
    open_holds: u64,
    outcomes: u64,
}

impl fmt::Display for Examined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "accounts {}, postings {}, open holds {}, outcomes {}",
            self.accounts, self.postings, self.open_holds, self.outcomes
        )
    }
}

impl proof::Examined for Examined {
    fn wrong(faults: usize) -> AdminFailure {
        AdminFailure::LedgerFaults(faults)
    }
}

pub(super) fn parts(report: Report) -> (Examined, Vec<FaultView>) {
    let examined = Examined {
        accounts: report.examined.accounts,
        postings: report.examined.postings,
        open_holds: report.examined.open_holds,
        outcomes: report.examined.outcomes,
    };
    (examined, report.faults.into_iter().map(view).collect())
}

fn view(fault: Fault) -> FaultView {
    FaultView {
        identity: fault.identity.as_str(),
        broken: fault.identity.sentence(),
        organization_id: fault.organization.map(|id| id.to_string()),
        at: Place::Ledger {
            posting: fault.posting,
            cargo_id: fault.cargo.map(|id| id.to_string()),
        },
        text: fault.to_string(),
        expected: fault.expected,
        found: fault.found,
    }
}
