//! `longshored admin savings`: what batching saved and what providers billed us, by organization and
//! model.

mod view;

use std::collections::{BTreeMap, HashMap};

use clap::Args;
use domain::id::{OrganizationId, ProjectId};
use domain::time::Timestamp;
use store::Shard;
use store::control::project;
use store::shard::saving::{self, ModelSavings};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::ROWS_PER_PAGE;
use crate::admin::argument;
use crate::admin::organization;
use crate::admin::savings::view::{SavingsSum, SavingsView};

#[derive(Debug, Args)]
pub(super) struct SavingsCommand {
    /// Only this organization.
    #[arg(long, value_name = "ID", value_parser = argument::id::<domain::id::OrganizationKind>)]
    organization: Option<OrganizationId>,
    /// Only cargo that ended on this day (UTC) or later; all, if not given.
    #[arg(long, value_name = "DATE", value_parser = argument::day)]
    since: Option<Timestamp>,
}

pub(super) async fn run(
    command: SavingsCommand,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let SavingsCommand {
        organization,
        since,
    } = command;
    let mut sums = BTreeMap::new();
    match organization {
        Some(organization) => {
            let (_, shard) = organization::find_with_shard(organization, context).await?;
            let projects = projects(organization, context).await?;
            let owners = projects.iter().map(|project| (*project, organization));
            let saved = list(shard, Some(&projects), since).await?;
            add(&mut sums, saved, &owners.collect());
        }
        None => {
            for shard in context.shards {
                let saved = list(shard, None, since).await?;
                let projects: Vec<ProjectId> = saved.iter().map(|it| it.project).collect();
                let owners = project::find_owners(context.control, &projects).await?;
                add(&mut sums, saved, &owners);
            }
        }
    }
    SavingsView::new(since, sums).render(context.printer)
}

async fn list(
    shard: &Shard,
    projects: Option<&[ProjectId]>,
    since: Option<Timestamp>,
) -> Result<Vec<ModelSavings>, AdminFailure> {
    let saved = saving::list(shard, projects, since).await;
    saved.map_err(|source| AdminFailure::ShardFailed {
        shard: shard.name.to_string(),
        source,
    })
}

async fn projects(
    organization: OrganizationId,
    context: AdminContext<'_>,
) -> Result<Vec<ProjectId>, AdminFailure> {
    let mut projects: Vec<ProjectId> = Vec::new();
    loop {
        let after = projects.last().copied();
        let page = project::list(context.control, organization, after, ROWS_PER_PAGE).await?;
        if page.is_empty() {
            return Ok(projects);
        }
        projects.extend(page.into_iter().map(|project| project.id));
    }
}

/// Sums by organization and model; none for a project that control does not know.
type SavingsSums = BTreeMap<(Option<OrganizationId>, String), SavingsSum>;

fn add(
    sums: &mut SavingsSums,
    saved: Vec<ModelSavings>,
    owners: &HashMap<ProjectId, OrganizationId>,
) {
    for one in saved {
        let owner = owners.get(&one.project).copied();
        let sum = sums.entry((owner, one.model)).or_default();
        *sum = *sum
            + SavingsSum {
                cargo: one.cargo,
                charged: one.charged,
                cost: one.cost,
                saving: one.saving,
            };
    }
}

#[cfg(test)]
mod tests;
