//! `longshored admin files …`: the proof that counts and rows of files agree.

use std::fmt::Write as _;

use clap::Subcommand;
use serde::Serialize;
use store::shard::file::audit::{self, Fault};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::printer::Printer;
use crate::admin::say;
use crate::failure;

#[derive(Debug, Subcommand)]
pub(super) enum FilesCommand {
    /// Prove that references, objects and storage are counted right on every shard; exit with 1
    /// if they are not. Every row is looked at.
    Check,
}

pub(super) async fn run(command: FilesCommand, desk: Desk<'_>) -> Result<(), AdminFailure> {
    match command {
        FilesCommand::Check => check(desk).await,
    }
}

async fn check(desk: Desk<'_>) -> Result<(), AdminFailure> {
    let mut shards = Vec::with_capacity(desk.shards.len());
    for shard in desk.shards {
        let found = audit::check(shard).await;
        shards.push(match found {
            Ok(faults) => Proved::of(&shard.name, faults),
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
struct Checked {
    clean: bool,
    shards: Vec<Proved>,
}

/// What was found on one shard.
#[derive(Debug, Serialize)]
struct Proved {
    shard: String,
    clean: bool,
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
    file_id: Option<String>,
    expected: String,
    found: String,
    #[serde(skip)]
    text: String,
}

impl Proved {
    fn of(shard: &str, faults: Vec<Fault>) -> Self {
        Self {
            shard: shard.to_owned(),
            clean: faults.is_empty(),
            failure: None,
            faults: faults.into_iter().map(FaultView::from).collect(),
        }
    }

    fn failed(shard: &str, failure: String) -> Self {
        Self {
            shard: shard.to_owned(),
            clean: false,
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
            file_id: fault.file.map(|id| id.to_string()),
            text: fault.to_string(),
            expected: fault.expected,
            found: fault.found,
        }
    }
}

impl Checked {
    fn text(&self) -> String {
        let mut page = String::new();
        for shard in &self.shards {
            let verdict = match (&shard.failure, shard.faults.len()) {
                (Some(failure), _) => format!("not examined: {failure}"),
                (None, 0) => "clean".to_owned(),
                (None, faults) => format!("FAULTS: {faults}"),
            };
            // Writing to a text cannot fail.
            let _written = writeln!(page, "shard {}: {verdict}", shard.shard);
            for fault in &shard.faults {
                let _written = writeln!(page, "  {}", fault.text);
            }
        }
        page
    }

    fn verdict(&self) -> Result<(), AdminFailure> {
        let faults = self.shards.iter().map(|shard| shard.faults.len()).sum();
        let unread = |shard: &&Proved| shard.failure.is_some();
        match (faults, self.shards.iter().find(unread)) {
            (0, None) => Ok(()),
            (0, Some(shard)) => Err(AdminFailure::Unproved(shard.shard.clone())),
            (faults, _) => Err(AdminFailure::FileFaults(faults)),
        }
    }
}

#[cfg(test)]
mod tests {
    use store::shard::file::audit::Identity;

    use super::*;

    #[test]
    fn faults_are_shown_before_the_verdict() {
        let fault = Fault {
            identity: Identity::References,
            organization: None,
            file: "file_019b76da807b774b805000000000002a".parse().ok(),
            expected: "1".to_owned(),
            found: "2".to_owned(),
        };
        let checked = Checked {
            clean: false,
            shards: vec![
                Proved::of("north", vec![fault]),
                Proved::of("south", Vec::new()),
                Proved::failed("west", "away".to_owned()),
            ],
        };
        insta::assert_snapshot!(checked.text(), @r"
        shard north: FAULTS: 1
          references: file_019b76da807b774b805000000000002a expected 1, found 2; a file counts the open cargo that name it
        shard south: clean
        shard west: not examined: away
        ");
        insta::assert_snapshot!(checked.verdict().unwrap_err(), @"counts of files are not right, faults: 1; nothing was changed. Keep what was printed, and report it");
    }
}
