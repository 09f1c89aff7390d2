//! `longshored admin erase …`: counts what it would erase, and erases with `--yes`.

mod view;

use std::sync::Arc;

use clap::Subcommand;
use domain::erasure_log::ErasureSubject;
use domain::id::{OrganizationId, ProjectId};
use domain::person::Email;
use store::Shard;
use store::control::audit_log::Actor;
use store::control::erasure::{self as control_erasure, ProjectControlRows};
use store::control::person;
use store::control::project::{self, Project};
use store::erasure;
use store::shard::project_erasure::{self, ProjectContents};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::argument;
use crate::admin::erase::view::{PersonErasureView, ProjectErasureView};
use crate::admin::organization;
use crate::admin::print_output;
use crate::admin::printer::AdminView;
use crate::clock::DatabaseClock;
use crate::files;
use crate::redis_client;
use crate::settings::table::SettingValues;

#[derive(Debug, Subcommand)]
pub(super) enum EraseCommand {
    /// Erase an organization with all its projects, members, invitations and audit tokens. Its
    /// ledger and its usage counts stay.
    Organization {
        #[arg(value_parser = argument::id::<domain::id::OrganizationKind>)]
        id: OrganizationId,
        /// Erase. Without it, the command only counts.
        #[arg(long)]
        yes: bool,
    },
    /// Erase a project: requests, answers, files, keys and settings. It is never active again.
    Project {
        #[arg(value_parser = argument::id::<domain::id::ProjectKind>)]
        id: ProjectId,
        /// Erase. Without it, the command only counts.
        #[arg(long)]
        yes: bool,
    },
    /// Erase a person: sessions, identities, second factors, memberships and invitations. The audit
    /// log keeps what they did, and forgets who.
    Person {
        email: Email,
        /// Erase. Without it, the command only counts.
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn run(
    command: EraseCommand,
    values: &SettingValues,
    context: AdminContext<'_>,
) -> Result<(), AdminFailure> {
    let (control, by, now) = (context.control, Actor::console(), context.now);
    match command {
        EraseCommand::Organization { id, yes } => {
            let (_, shard) = organization::find_with_shard(id, context).await?;
            let projects = erasure::list_projects(control, id).await?;
            show(id.to_string(), &projects, shard, yes, context).await?;
            if !yes {
                return Ok(());
            }
            for project in &projects {
                log_erasure(ErasureSubject::Project(project.id), values).await?;
            }
            log_erasure(ErasureSubject::Organization(id), values).await?;
            let left = erasure::erase_organization(control, shard, id, &by, now).await;
            let left = left.map_err(AdminFailure::ErasureInterrupted)?;
            forget_limits(Some(id), &projects, values).await?;
            check_left(left)
        }
        EraseCommand::Project { id, yes } => {
            let project = project::find(control, id).await?;
            let project = project.ok_or(AdminFailure::NoProject(id))?;
            let (_, shard) = organization::find_with_shard(project.organization, context).await?;
            let projects = std::slice::from_ref(&project);
            show(id.to_string(), projects, shard, yes, context).await?;
            if !yes {
                return Ok(());
            }
            log_erasure(ErasureSubject::Project(id), values).await?;
            let left = erasure::erase_project(control, shard, &project, &by, now).await;
            let left = left.map_err(AdminFailure::ErasureInterrupted)?;
            forget_limits(None, projects, values).await?;
            check_left(left)
        }
        EraseCommand::Person { email, yes } => erase_person(&email, yes, values, context).await,
    }
}

async fn erase_person(
    email: &Email,
    yes: bool,
    values: &SettingValues,
    context: AdminContext<'_>,
) -> Result<(), AdminFailure> {
    let found = person::find_credentials(context.control, email).await?;
    let found = found.ok_or_else(|| AdminFailure::NoPerson(email.as_str().to_owned()))?;
    let person = found.person;
    let rows = control_erasure::count_person(context.control, &person).await?;
    print(&PersonErasureView::new(&person, rows, yes), context)?;
    if !yes {
        return Ok(());
    }
    log_erasure(ErasureSubject::Person(person.id), values).await?;
    let (by, now) = (Actor::console(), context.now);
    erasure::erase_person(context.control, context.shards, &person, &by, now)
        .await
        .map_err(AdminFailure::ErasureInterrupted)
}

/// Logs the id in the bucket, if there is one. A database that is restored to an earlier moment is
/// erased again before its pause ends.
async fn log_erasure(subject: ErasureSubject, values: &SettingValues) -> Result<(), AdminFailure> {
    let Some(backends) = files::open_backends(values, Arc::new(DatabaseClock::new()))? else {
        return Ok(());
    };
    let _refreshed = backends.objects.refresh_credentials().await;
    let logged = backends.objects.log_erasure(subject).await;
    logged.map_err(AdminFailure::ErasureNotLogged)
}

/// Prints what the projects have.
async fn show(
    id: String,
    projects: &[Project],
    shard: &Shard,
    erases: bool,
    context: AdminContext<'_>,
) -> Result<(), AdminFailure> {
    let mut contents = ProjectContents::default();
    let mut rows = ProjectControlRows::default();
    for project in projects {
        let counted = project_erasure::count(shard, project.id).await;
        let counted = counted.map_err(|source| AdminFailure::ShardFailed {
            shard: shard.name.to_string(),
            source,
        })?;
        contents = contents.plus(counted);
        let of_project = control_erasure::count_project(context.control, project.id).await?;
        rows.api_keys += of_project.api_keys;
        rows.audit_entries += of_project.audit_entries;
    }
    print(
        &ProjectErasureView::new(id, contents, rows, erases),
        context,
    )
}

/// Counters in Redis hold ids, and expire within an hour.
async fn forget_limits(
    organization: Option<OrganizationId>,
    projects: &[Project],
    values: &SettingValues,
) -> Result<(), AdminFailure> {
    let Some(redis) = redis_client::open(values)? else {
        return Ok(());
    };
    let projects: Vec<ProjectId> = projects.iter().map(|project| project.id).collect();
    let forgotten = redis.forget(organization, &projects).await;
    forgotten.map_err(AdminFailure::CountersNotDeleted)
}

fn check_left(left: ProjectContents) -> Result<(), AdminFailure> {
    if left.open_cargo == 0 && left.files == 0 && left.objects == 0 {
        return Ok(());
    }
    Err(AdminFailure::ErasureIncomplete {
        open_cargo: left.open_cargo,
        files: left.files,
        objects: left.objects,
    })
}

fn print(view: &impl AdminView, context: AdminContext<'_>) -> Result<(), AdminFailure> {
    print_output(&context.printer.render_one(view)?)
}
