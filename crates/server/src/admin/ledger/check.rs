//! The proof of the ledger, shard by shard. Nothing is changed.

use std::fmt::Write as _;

use serde::Serialize;
use store::shard::audit::{self, Fault, Report};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::printer::Printer;
use crate::admin::say;
use crate::failure;

pub(super) async fn run(desk: Desk<'_>) -> Result<(), AdminFailure> {
    let mut shards = Vec::with_capacity(desk.shards.len());
    for shard in desk.shards {
        let found = audit::whole(shard).await;
        shards.push(match found {
            Ok(report) => Proved::of(&shard.name, report),
            Err(error) => Proved::failed(&shard.name, failure::chain(&error)),
        });
    }
    let checked = Checked {
        clean: shards.iter().all(|shard| shard.clean),
        shards,
    };
    match desk.printer {
        Printer::Json => say(&(serde_json::to_string(&checked)? + "\n"))?,
        Printer::Text => say(&checked.text())?,
    }
    checked.verdict()
}

#[derive(Debug, Serialize)]
pub(super) struct Checked {
    pub(super) clean: bool,
    pub(super) shards: Vec<Proved>,
}

/// What was found on one shard.
#[derive(Debug, Serialize)]
pub(super) struct Proved {
    shard: String,
    clean: bool,
    accounts: u64,
    postings: u64,
    open_holds: u64,
    outcomes: u64,
    /// Why nothing is known.
    failure: Option<String>,
    /// Of each identity at most a hundred.
    faults: Vec<FaultView>,
}

#[derive(Debug, Serialize)]
struct FaultView {
    identity: &'static str,
    broken: &'static str,
    organization_id: Option<String>,
    posting: Option<i64>,
    cargo_id: Option<String>,
    expected: String,
    found: String,
    #[serde(skip)]
    text: String,
}

impl Proved {
    pub(super) fn of(shard: &str, report: Report) -> Self {
        Self {
            shard: shard.to_owned(),
            clean: report.faults.is_empty(),
            accounts: report.examined.accounts,
            postings: report.examined.postings,
            open_holds: report.examined.open_holds,
            outcomes: report.examined.outcomes,
            failure: None,
            faults: report.faults.into_iter().map(FaultView::from).collect(),
        }
    }

    pub(super) fn failed(shard: &str, failure: String) -> Self {
        Self {
            shard: shard.to_owned(),
            clean: false,
            accounts: 0,
            postings: 0,
            open_holds: 0,
            outcomes: 0,
            failure: Some(failure),
            faults: Vec::new(),
        }
    }
}

impl From<Fault> for FaultView {
    fn from(fault: Fault) -> Self {
        Self {
            identity: fault.identity.as_str(),
            broken: fault.identity.sentence(),
            organization_id: fault.organization.map(|id| id.to_string()),
            posting: fault.posting,
            cargo_id: fault.cargo.map(|id| id.to_string()),
            text: fault.to_string(),
            expected: fault.expected,
            found: fault.found,
        }
    }
}

impl Checked {
    pub(super) fn text(&self) -> String {
        let mut page = String::new();
        for shard in &self.shards {
            let verdict = match (&shard.failure, shard.faults.len()) {
                (Some(failure), _) => format!("not examined: {failure}"),
                (None, 0) => "clean".to_owned(),
                (None, faults) => format!("FAULTS: {faults}"),
            };
            // Writing to a text cannot fail.
            let _written = writeln!(page, "shard {}: {verdict}", shard.shard);
            if shard.failure.is_none() {
                let _written = writeln!(
                    page,
                    "  accounts {}, postings {}, open holds {}, outcomes {}",
                    shard.accounts, shard.postings, shard.open_holds, shard.outcomes
                );
            }
            for fault in &shard.faults {
                let _written = writeln!(page, "  {}", fault.text);
            }
        }
        page
    }

    pub(super) fn verdict(&self) -> Result<(), AdminFailure> {
        let faults = self.shards.iter().map(|shard| shard.faults.len()).sum();
        let unread = |shard: &&Proved| shard.failure.is_some();
        match (faults, self.shards.iter().find(unread)) {
            (0, None) => Ok(()),
            (0, Some(shard)) => Err(AdminFailure::Unproved(shard.shard.clone())),
            (faults, _) => Err(AdminFailure::LedgerFaults(faults)),
        }
    }
}
