//! `longshored admin files …`: the proof that counts and rows of files agree, and whether bytes
//! are removed from the bucket.

mod removal;

use std::fmt;

use clap::Subcommand;
use serde::Serialize;
use store::shard::file::audit::{self, Fault};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::proof::{self, FaultView, Place};

#[derive(Debug, Subcommand)]
pub(super) enum FilesCommand {
    /// Prove that references, objects and storage are counted right on every shard; exit with 1
    /// if they are not. Every row is looked at.
    Check,
    /// Show on every shard whether bytes are removed from the bucket, and why not.
    Removal,
    /// Let bytes be removed again where that is held, because the database was restored, promoted
    /// or copied. Bytes that the rows do not know are then removed for good.
    Confirm {
        /// This shard only.
        #[arg(long)]
        shard: Option<String>,
    },
}

pub(super) async fn run(command: FilesCommand, desk: Desk<'_>) -> Result<(), AdminFailure> {
    match command {
        FilesCommand::Check => check(desk).await,
        FilesCommand::Removal => removal::show(desk).await,
        FilesCommand::Confirm { shard } => removal::confirm(desk, shard.as_deref()).await,
    }
}

async fn check(desk: Desk<'_>) -> Result<(), AdminFailure> {
    proof::prove(desk, async |shard| {
        let faults = audit::check(shard).await?;
        Ok((EveryRow {}, faults.into_iter().map(view).collect()))
    })
    .await
}

/// All there is, so nothing is said of it.
#[derive(Debug, Default, Serialize)]
struct EveryRow {}

impl fmt::Display for EveryRow {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl proof::Examined for EveryRow {
    fn wrong(faults: usize) -> AdminFailure {
        AdminFailure::FileFaults(faults)
    }
}

fn view(fault: Fault) -> FaultView {
    FaultView {
        identity: fault.identity.as_str(),
        broken: fault.identity.sentence(),
        organization_id: fault.organization.map(|id| id.to_string()),
        at: Place::Files {
            file_id: fault.file.map(|id| id.to_string()),
        },
        text: fault.to_string(),
        expected: fault.expected,
        found: fault.found,
    }
}

#[cfg(test)]
mod tests {
    use store::shard::file::audit::Identity;

    use crate::admin::proof::{Checked, Proved};

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
                Proved::of("north", EveryRow {}, vec![view(fault)]),
                Proved::of("south", EveryRow {}, Vec::new()),
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
