//! Erases a project, an organization or a person, in control and on the shards. Each can be
//! repeated after an interruption.

use std::sync::Arc;

use domain::id::{OrganizationId, ProjectId};
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::Shard;
use crate::control;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::person::Person;
use crate::control::project::{self, Project};
use crate::shard::person_erasure;
use crate::shard::project_erasure::{self, ProjectContents};
use crate::shard::project_keys;

/// The name of an organization that was erased.
pub const ERASED_ORGANIZATION: &str = "erased";

/// Projects per query.
const PROJECTS_PER_PAGE: u32 = 100;

/// Erases a project. Returns what is left: cargo in flight with its files, and objects that sweep
/// has yet to remove.
pub async fn erase_project(
    control: &Control,
    shard: &Shard,
    project: &Project,
    by: &Actor,
    now: Timestamp,
) -> Result<ProjectContents, Error> {
    let act = AuditEvent {
        organization: Some(project.organization),
        project: Some(project.id),
        action: "project.erasure_started",
        ..AuditEvent::default()
    };
    audit_log::record(control, by, act, now).await?;
    if project.is_active {
        project::deactivate(control, project.id, by, now).await?;
    }
    let left = erase_project_rows(shard, project.id, now).await?;
    control::erasure::erase_project(control, project, by, now).await?;
    Ok(left)
}

/// Erases what a shard has of a project. Control may not know the project any more.
pub async fn erase_project_rows(
    shard: &Shard,
    project: ProjectId,
    now: Timestamp,
) -> Result<ProjectContents, Error> {
    // Before any row is touched: what is encrypted is unreadable from here on.
    let mut tx = shard.begin().await?;
    project_keys::erase_project_keys(&mut tx, project, now).await?;
    tx.commit().await?;
    project_erasure::erase(shard, project, now).await
}

/// Whether a shard has anything that an erasure of the project would erase.
pub async fn has_rows(shard: &Shard, project: ProjectId) -> Result<bool, Error> {
    let contents = project_erasure::count(shard, project).await?;
    Ok(contents != ProjectContents::default())
}

/// Erases an organization with all its projects. Its account, ledger and usage stay: they hold ids
/// and numbers, and the references and notes of payments.
pub async fn erase_organization(
    control: &Control,
    shard: &Shard,
    organization: OrganizationId,
    by: &Actor,
    now: Timestamp,
) -> Result<ProjectContents, Error> {
    let mut left = ProjectContents::default();
    for project in list_projects(control, organization).await? {
        left = left.plus(erase_project(control, shard, &project, by, now).await?);
    }
    control::erasure::erase_organization(control, organization, by, now).await?;
    Ok(left)
}

/// All projects of an organization, also erased ones: cargo of theirs may have been in flight.
pub async fn list_projects(
    control: &Control,
    organization: OrganizationId,
) -> Result<Vec<Project>, Error> {
    let mut projects: Vec<Project> = Vec::new();
    loop {
        let after = projects.last().map(|project| project.id);
        let page = project::list(control, organization, after, PROJECTS_PER_PAGE).await?;
        if page.is_empty() {
            return Ok(projects);
        }
        projects.extend(page);
    }
}

/// Erases a person. The audit log keeps what they did, and forgets who.
pub async fn erase_person(
    control: &Control,
    shards: &[Arc<Shard>],
    person: &Person,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    for shard in shards {
        person_erasure::erase_email(shard, &person.email).await?;
    }
    control::erasure::erase_person(control, person, by, now).await
}
