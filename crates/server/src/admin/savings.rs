//! `longshored admin savings`: what batching saved, by organization and model.

mod view;

use std::collections::{BTreeMap, HashMap};

use clap::Args;
use domain::id::{OrganizationId, ProjectId};
use domain::time::Timestamp;
use store::Shard;
use store::control::project;
use store::shard::saving::{self, Saved};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::PAGE;
use crate::admin::argument;
use crate::admin::organization;
use crate::admin::savings::view::{Sum, View};

#[derive(Debug, Args)]
pub(super) struct SavingsCommand {
    /// Only this organization's.
    #[arg(long, value_name = "ID", value_parser = argument::id::<domain::id::OrganizationKind>)]
    organization: Option<OrganizationId>,
    /// What ended on this day (UTC) or later; all, if not given.
    #[arg(long, value_name = "DATE", value_parser = argument::day)]
    since: Option<Timestamp>,
}

pub(super) async fn run(command: SavingsCommand, desk: Desk<'_>) -> Result<String, AdminFailure> {
    let SavingsCommand {
        organization,
        since,
    } = command;
    let mut sums = BTreeMap::new();
    match organization {
        Some(organization) => {
            let (_, shard) = organization::home(organization, desk).await?;
            let projects = projects(organization, desk).await?;
            let owners = projects.iter().map(|project| (*project, organization));
            let saved = list(shard, Some(&projects), since).await?;
            add(&mut sums, saved, &owners.collect());
        }
        None => {
            for shard in desk.shards {
                let saved = list(shard, None, since).await?;
                let projects: Vec<ProjectId> = saved.iter().map(|it| it.project).collect();
                let owners = project::owners(desk.control, &projects).await?;
                add(&mut sums, saved, &owners);
            }
        }
    }
    View::new(since, sums).shown(desk.printer)
}

async fn list(
    shard: &Shard,
    projects: Option<&[ProjectId]>,
    since: Option<Timestamp>,
) -> Result<Vec<Saved>, AdminFailure> {
    let saved = saving::list(shard, projects, since).await;
    saved.map_err(|source| AdminFailure::Unanswered {
        shard: shard.name.to_string(),
        source,
    })
}

async fn projects(
    organization: OrganizationId,
    desk: Desk<'_>,
) -> Result<Vec<ProjectId>, AdminFailure> {
    let mut projects: Vec<ProjectId> = Vec::new();
    loop {
        let after = projects.last().copied();
        let page = project::page(desk.control, organization, after, PAGE).await?;
        if page.is_empty() {
            return Ok(projects);
        }
        projects.extend(page.into_iter().map(|project| project.id));
    }
}

/// Whose, and of which model; a project that control does not know is nobody's.
type Sums = BTreeMap<(Option<OrganizationId>, String), Sum>;

fn add(sums: &mut Sums, saved: Vec<Saved>, owners: &HashMap<ProjectId, OrganizationId>) {
    for one in saved {
        let owner = owners.get(&one.project).copied();
        let sum = sums.entry((owner, one.model)).or_default();
        *sum = *sum
            + Sum {
                cargo: one.cargo,
                charged: one.charged,
                saving: one.saving,
            };
    }
}

#[cfg(test)]
mod tests;
