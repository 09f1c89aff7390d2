//! How recovery is shown: the state of a shard, and the jobs that were found.

use domain::recovery::JobFate;
use domain::time::to_wire;
use serde::Serialize;
use store::shard::recovery::RecoveryState;
use workers::recovery::unknown_jobs::FoundJob;

use crate::admin::printer::{AdminView, or_dash, yes_or_no};

#[derive(Debug, Serialize)]
pub(super) struct RecoveryView {
    shard: String,
    paused_since: Option<String>,
    reason: Option<String>,
    /// Later jobs at providers may be unknown to the rows.
    known_until: Option<String>,
    accepted_at: Option<String>,
    is_removal_held: bool,
}

impl RecoveryView {
    pub(super) fn new(shard: &str, state: &RecoveryState, is_removal_held: bool) -> Self {
        let pause = state.pause.as_ref();
        Self {
            shard: shard.to_owned(),
            paused_since: pause.map(|pause| to_wire(pause.since)),
            reason: pause.map(|pause| pause.reason.clone()),
            known_until: state.known_until.map(to_wire),
            accepted_at: state.accepted_at.map(to_wire),
            is_removal_held,
        }
    }
}

impl AdminView for RecoveryView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let paused = match &self.paused_since {
            Some(since) => format!("since {since}"),
            None => "no".to_owned(),
        };
        vec![
            ("shard", self.shard.clone()),
            ("paused", paused),
            ("reason", or_dash(self.reason.as_ref())),
            ("known until", or_dash(self.known_until.as_ref())),
            ("accepted", or_dash(self.accepted_at.as_ref())),
            ("removal held", yes_or_no(self.is_removal_held)),
        ]
    }
}

#[derive(Debug, Serialize)]
pub(super) struct FoundJobView {
    shard: String,
    account: String,
    job: String,
    batch_id: String,
    created_at: Option<String>,
    items: Option<u64>,
    /// `adopt`, `cancel` or `report`.
    action: &'static str,
    is_done: bool,
}

impl FoundJobView {
    pub(super) fn new(shard: &str, found: &FoundJob, is_done: bool) -> Self {
        Self {
            shard: shard.to_owned(),
            account: found.account.clone(),
            job: found.job.0.clone(),
            batch_id: found.batch.to_string(),
            created_at: found.created_at.map(to_wire),
            items: found.items,
            action: action(found.fate),
            is_done,
        }
    }
}

const fn action(fate: JobFate) -> &'static str {
    match fate {
        JobFate::Adopt => "adopt",
        JobFate::Cancel => "cancel",
        JobFate::Report => "report",
        JobFate::Known | JobFate::Ignore => "none",
    }
}

impl AdminView for FoundJobView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("shard", self.shard.clone()),
            ("account", self.account.clone()),
            ("job", self.job.clone()),
            ("batch", self.batch_id.clone()),
            ("created", or_dash(self.created_at.as_ref())),
            (
                "items",
                or_dash(self.items.map(|it| it.to_string()).as_ref()),
            ),
            ("action", self.action.to_owned()),
            ("done", yes_or_no(self.is_done)),
        ]
    }
}
