//! `longshored admin files …`: consistency check of files, and the removal of objects from the
//! bucket.

mod removal;

use std::fmt;

use clap::Subcommand;
use serde::Serialize;
use store::shard::file::audit::{self, FileFault};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::consistency_check::{self, FaultLocation, FaultView};

#[derive(Debug, Subcommand)]
pub(super) enum FilesCommand {
    /// Check the counts of references, objects and storage on every shard, row by row; exit with 1
    /// if one is wrong.
    Check,
    /// Show on every shard whether the removal of objects is held, and why.
    Removal,
    /// Allow the removal of objects again after the database was restored, promoted or copied.
    /// Objects that no row refers to are then deleted for good.
    Confirm {
        /// Only on this shard.
        #[arg(long)]
        shard: Option<String>,
    },
}

pub(super) async fn run(
    command: FilesCommand,
    context: AdminContext<'_>,
) -> Result<(), AdminFailure> {
    match command {
        FilesCommand::Check => check(context).await,
        FilesCommand::Removal => removal::show(context).await,
        FilesCommand::Confirm { shard } => removal::confirm(context, shard.as_deref()).await,
    }
}

async fn check(context: AdminContext<'_>) -> Result<(), AdminFailure> {
    consistency_check::check_shards(context, async |shard| {
        let faults = audit::check(shard).await?;
        Ok((ExaminedFileRows {}, faults.into_iter().map(view).collect()))
    })
    .await
}

/// The check covers all rows, so there are no numbers to report.
#[derive(Debug, Default, Serialize)]
struct ExaminedFileRows {}

impl fmt::Display for ExaminedFileRows {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl consistency_check::ExaminedRows for ExaminedFileRows {
    fn failure(faults: usize) -> AdminFailure {
        AdminFailure::FileFaults(faults)
    }
}

fn view(fault: FileFault) -> FaultView {
    FaultView {
        identity: fault.invariant.as_str(),
        broken: fault.invariant.sentence(),
        organization_id: fault.organization.map(|id| id.to_string()),
        location: FaultLocation::Files {
            file_id: fault.file.map(|id| id.to_string()),
        },
        text: fault.to_string(),
        expected: fault.expected,
        found: fault.found,
    }
}

#[cfg(test)]
mod tests {
    use store::shard::file::audit::FileInvariant;

    use crate::admin::consistency_check::{ConsistencyReport, ShardConsistency};

    use super::*;

    #[test]
    fn faults_are_shown_before_the_verdict() {
        let fault = FileFault {
            invariant: FileInvariant::References,
            organization: None,
            file: "file_019b76da807b774b805000000000002a".parse().ok(),
            expected: "1".to_owned(),
            found: "2".to_owned(),
        };
        let checked = ConsistencyReport {
            clean: false,
            shards: vec![
                ShardConsistency::new("north", ExaminedFileRows {}, vec![view(fault)]),
                ShardConsistency::new("south", ExaminedFileRows {}, Vec::new()),
                ShardConsistency::failed("west", "unreachable".to_owned()),
            ],
        };
        insta::assert_snapshot!(checked.text(), @r"
        shard north: FAULTS: 1
          references: file_019b76da807b774b805000000000002a expected 1, found 2; a file counts the open cargo that name it
        shard south: clean
        shard west: not checked: unreachable
        ");
        insta::assert_snapshot!(checked.verdict().unwrap_err(), @"the files are inconsistent, faults: 1; nothing was changed. Keep this output and report the problem");
    }
}
