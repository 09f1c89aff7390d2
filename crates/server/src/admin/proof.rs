//! A proof over all shards: what was found on each, for people or for scripts, and the verdict.

use std::fmt::{Debug, Display, Write as _};

use serde::Serialize;
use store::Shard;

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::printer::Printer;
use crate::admin::say;
use crate::failure;

/// What a proof has looked at: a line for people, or nothing.
pub(super) trait Examined: Debug + Default + Display + Serialize {
    /// What it ends with when faults were found.
    fn wrong(faults: usize) -> AdminFailure;
}

#[derive(Debug, Serialize)]
pub(super) struct Checked<E> {
    pub(super) clean: bool,
    pub(super) shards: Vec<Proved<E>>,
}

/// What was found on one shard.
#[derive(Debug, Serialize)]
pub(super) struct Proved<E> {
    shard: String,
    clean: bool,
    #[serde(flatten)]
    examined: E,
    /// Why nothing is known.
    failure: Option<String>,
    /// Of each identity at most a hundred.
    faults: Vec<FaultView>,
}

#[derive(Debug, Serialize)]
pub(super) struct FaultView {
    pub(super) identity: &'static str,
    pub(super) broken: &'static str,
    pub(super) organization_id: Option<String>,
    #[serde(flatten)]
    pub(super) at: Place,
    pub(super) expected: String,
    pub(super) found: String,
    /// All of it, for people.
    #[serde(skip)]
    pub(super) text: String,
}

/// Where in an organization's rows a fault is.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Place {
    Ledger {
        posting: Option<i64>,
        cargo_id: Option<String>,
    },
    Files {
        file_id: Option<String>,
    },
}

/// Examines shard by shard, prints what was found, and ends with the verdict.
pub(super) async fn prove<E: Examined>(
    desk: Desk<'_>,
    examine: impl AsyncFn(&Shard) -> Result<(E, Vec<FaultView>), store::Error>,
) -> Result<(), AdminFailure> {
    let mut shards = Vec::with_capacity(desk.shards.len());
    for shard in desk.shards {
        shards.push(match examine(shard).await {
            Ok((examined, faults)) => Proved::of(&shard.name, examined, faults),
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

impl<E: Examined> Proved<E> {
    pub(super) fn of(shard: &str, examined: E, faults: Vec<FaultView>) -> Self {
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

impl<E: Examined> Checked<E> {
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
        let unread = |shard: &&Proved<E>| shard.failure.is_some();
        match (faults, self.shards.iter().find(unread)) {
            (0, None) => Ok(()),
            (0, Some(shard)) => Err(AdminFailure::Unproved(shard.shard.clone())),
            (faults, _) => Err(E::wrong(faults)),
        }
    }
}
