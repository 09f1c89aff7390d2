//! Erases projects, organizations and people in control. Rows that others refer to stay without a
//! name, and entries of the audit log keep the event.

use domain::id::{OrganizationId, ProjectId};
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::change_feed::{self, ChangeKind};
use crate::control::project::Project;
use crate::number::unsigned;

mod audit_names;

mod person;

pub use person::{PersonRows, count_person, erase_person};

/// What control has of a project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProjectControlRows {
    pub api_keys: u64,
    /// Entries of the audit log with a subject or a detail.
    pub audit_entries: u64,
}

pub async fn count_project(
    control: &Control,
    project: ProjectId,
) -> Result<ProjectControlRows, Error> {
    let row = sqlx::query!(
        r#"select (select count(*) from control.api_key where project_id = $1) as "api_keys!",
               (select count(*) from control.audit
                where project = $1 and (subject <> '' or detail <> '')) as "audit_entries!""#,
        project.uuid()
    )
    .fetch_one(&control.pool)
    .await?;
    Ok(ProjectControlRows {
        api_keys: unsigned(row.api_keys),
        audit_entries: unsigned(row.audit_entries),
    })
}

/// Deletes the project's keys and its slug.
pub async fn erase_project(
    control: &Control,
    project: &Project,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let id = project.id.uuid();
    audit_names::erase_subjects(control, None, Some(project.id)).await?;
    let mut tx = control.pool.begin().await?;
    sqlx::query!("delete from control.api_key where project_id = $1", id)
        .execute(&mut *tx)
        .await?;
    sqlx::query!(
        "update control.project set is_active = false, erased_at = coalesce(erased_at, $2),
             slug = 'erased-' || replace(id::text, '-', '')
         where id = $1",
        id,
        now
    )
    .execute(&mut *tx)
    .await?;
    let act = AuditEvent {
        organization: Some(project.organization),
        project: Some(project.id),
        action: "project.erased",
        subject: project.id.to_string(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    change_feed::append(&mut tx, ChangeKind::Project, Some(id), now).await?;
    tx.commit().await?;
    Ok(())
}

/// Deletes the name, the members, the invitations and the audit tokens of an organization whose
/// projects are erased. The row stays: the ledger refers to it.
pub async fn erase_organization(
    control: &Control,
    organization: OrganizationId,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let id = organization.uuid();
    audit_names::erase_subjects(control, Some(organization), None).await?;
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "with members as (delete from control.member where organization = $1),
             invitations as (delete from control.pass where organization = $1),
             tokens as (delete from control.audit_token where organization = $1)
         update control.organization set name = 'erased' where id = $1",
        id
    )
    .execute(&mut *tx)
    .await?;
    let act = AuditEvent {
        organization: Some(organization),
        action: "organization.erased",
        subject: organization.to_string(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    change_feed::append(&mut tx, ChangeKind::Organization, Some(id), now).await?;
    tx.commit().await?;
    Ok(())
}
