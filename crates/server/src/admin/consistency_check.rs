//! A consistency check over all shards: the report of each, and the overall result.

use std::fmt::{Debug, Display, Write as _};

use domain::error_chain;
use serde::Serialize;
use store::Shard;

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::print_output;
use crate::admin::printer::Printer;

/// The rows that a check has read: a line of text for people, or an empty one.
pub(super) trait ExaminedRows: Debug + Default + Display + Serialize {
    /// The failure of the command when the check has found faults.
    fn failure(faults: usize) -> AdminFailure;
}

#[derive(Debug, Serialize)]
pub(super) struct ConsistencyReport<E> {
    pub(super) clean: bool,
    pub(super) shards: Vec<ShardConsistency<E>>,
}

/// The result of one shard.
#[derive(Debug, Serialize)]
pub(super) struct ShardConsistency<E> {
    shard: String,
    clean: bool,
    #[serde(flatten)]
    examined: E,
    /// Why the shard could not be checked.
    failure: Option<String>,
    /// At most a hundred per invariant.
    faults: Vec<FaultView>,
}

#[derive(Debug, Serialize)]
pub(super) struct FaultView {
    pub(super) identity: &'static str,
    pub(super) broken: &'static str,
    pub(super) organization_id: Option<String>,
    #[serde(flatten)]
    pub(super) location: FaultLocation,
    pub(super) expected: String,
    pub(super) found: String,
    /// The whole line for people.
    #[serde(skip)]
    pub(super) text: String,
}

/// The row with the fault.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum FaultLocation {
    Ledger {
        posting: Option<i64>,
        cargo_id: Option<String>,
    },
    Files {
        file_id: Option<String>,
    },
}

/// Checks shard by shard, prints the report, and fails if there are faults.
pub(super) async fn check_shards<E: ExaminedRows>(
    context: AdminContext<'_>,
    examine: impl AsyncFn(&Shard) -> Result<(E, Vec<FaultView>), store::Error>,
) -> Result<(), AdminFailure> {
    let mut shards = Vec::with_capacity(context.shards.len());
    for shard in context.shards {
        shards.push(match examine(shard).await {
            Ok((examined, faults)) => ShardConsistency::new(&shard.name, examined, faults),
            Err(error) => ShardConsistency::failed(&shard.name, error_chain::chain(&error)),
        });
    }
    let checked = ConsistencyReport {
        clean: shards.iter().all(|shard| shard.clean),
        shards,
    };
    match context.printer {
        Printer::Json => print_output(&(serde_json::to_string(&checked)? + "\n"))?,
        Printer::Text => print_output(&checked.text())?,
    }
    checked.verdict()
}

impl<E: ExaminedRows> ShardConsistency<E> {
    pub(super) fn new(shard: &str, examined: E, faults: Vec<FaultView>) -> Self {
        Self {
            shard: shard.to_owned(),
            clean: faults.is_empty(),
            examined,
            failure: None,
            faults,
        }
    }

    pub(super) fn failed(shard: &str, failure: String) -> Self {
        Self {
            shard: shard.to_owned(),
            clean: false,
            examined: E::default(),
            failure: Some(failure),
            faults: Vec::new(),
        }
    }
}

impl<E: ExaminedRows> ConsistencyReport<E> {
    pub(super) fn text(&self) -> String {
        let mut page = String::new();
        for shard in &self.shards {
            let verdict = match (&shard.failure, shard.faults.len()) {
                (Some(failure), _) => format!("not checked: {failure}"),
                (None, 0) => "clean".to_owned(),
                (None, faults) => format!("FAULTS: {faults}"),
            };
            // Writing to a string cannot fail.
            let _written = writeln!(page, "shard {}: {verdict}", shard.shard);
            let examined = shard.examined.to_string();
            if shard.failure.is_none() && !examined.is_empty() {
                let _written = writeln!(page, "  {examined}");
            }
            for fault in &shard.faults {
                let _written = writeln!(page, "  {}", fault.text);
            }
        }
        page
    }

    pub(super) fn verdict(&self) -> Result<(), AdminFailure> {
        let faults = self.shards.iter().map(|shard| shard.faults.len()).sum();
        let has_failed = |shard: &&ShardConsistency<E>| shard.failure.is_some();
        match (faults, self.shards.iter().find(has_failed)) {
            (0, None) => Ok(()),
            (0, Some(shard)) => Err(AdminFailure::ShardNotChecked(shard.shard.clone())),
            (faults, _) => Err(E::failure(faults)),
        }
    }
}
