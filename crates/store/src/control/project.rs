//! Projects: the owners of cargo, files and keys.

use std::collections::HashMap;

use domain::id::{OrganizationId, ProjectId};
use domain::project::Slug;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::change_feed;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub organization: OrganizationId,
    pub slug: Slug,
    pub is_active: bool,
    pub created_at: Timestamp,
    /// Its data was erased. It is never activated again.
    pub is_erased: bool,
}

impl Project {
    fn audit_event(&self, action: &'static str) -> AuditEvent<'static> {
        AuditEvent {
            organization: Some(self.organization),
            project: Some(self.id),
            action,
            subject: self.slug.to_string(),
            ..AuditEvent::default()
        }
    }
}

/// Fails with a unique violation when the slug is taken.
pub async fn create(control: &Control, project: &Project, by: &Actor) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "insert into control.project (id, organization_id, slug, is_active, created_at)
         values ($1, $2, $3, $4, $5)",
        project.id.uuid(),
        project.organization.uuid(),
        project.slug.as_str(),
        project.is_active,
        project.created_at
    )
    .execute(&mut *tx)
    .await?;
    let act = project.audit_event("project.created");
    audit_log::append(&mut tx, by, act, project.created_at).await?;
    let subject = Some(project.id.uuid());
    change_feed::append(
        &mut tx,
        change_feed::ChangeKind::Project,
        subject,
        project.created_at,
    )
    .await?;
    tx.commit().await?;
    Ok(())
}

pub async fn find(control: &Control, id: ProjectId) -> Result<Option<Project>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, organization_id, slug, is_active, created_at,
               erased_at is not null as "is_erased!"
           from control.project
           where id = $1"#,
        id.uuid()
    )
    .fetch_optional(&control.pool)
    .await?;
    row.map(Project::try_from).transpose()
}

/// At most `limit` of an organization's projects, oldest first, after the given one.
pub async fn list(
    control: &Control,
    organization: OrganizationId,
    after: Option<ProjectId>,
    limit: u32,
) -> Result<Vec<Project>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, organization_id, slug, is_active, created_at,
               erased_at is not null as "is_erased!"
           from control.project
           where organization_id = $1 and id > $2
           order by id
           limit $3"#,
        organization.uuid(),
        after.map_or(Uuid::nil(), ProjectId::uuid),
        i64::from(limit)
    )
    .fetch_all(&control.pool)
    .await?;
    rows.into_iter().map(Project::try_from).collect()
}

/// The organizations that own these projects.
pub async fn find_owners(
    control: &Control,
    projects: &[ProjectId],
) -> Result<HashMap<ProjectId, OrganizationId>, Error> {
    let projects: Vec<Uuid> = projects.iter().map(|project| project.uuid()).collect();
    let rows = sqlx::query!(
        "select id, organization_id from control.project where id = any($1)",
        &projects
    )
    .fetch_all(&control.pool)
    .await?;
    let owners = rows.into_iter();
    Ok(owners
        .map(|row| (row.id.into(), row.organization_id.into()))
        .collect())
}

/// Accepts a project's keys again; None when there is no such project, or it was erased.
pub async fn activate(
    control: &Control,
    id: ProjectId,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Project>, Error> {
    set_active(control, id, true, by, now).await
}

/// Refuses a project's keys. Cargo that was loaded before is still processed.
pub async fn deactivate(
    control: &Control,
    id: ProjectId,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Project>, Error> {
    set_active(control, id, false, by, now).await
}

async fn set_active(
    control: &Control,
    id: ProjectId,
    is_active: bool,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Project>, Error> {
    let mut tx = control.pool.begin().await?;
    let row = sqlx::query_as!(
        Row,
        r#"update control.project
           set is_active = $2
           where id = $1 and (erased_at is null or not $2)
           returning id, organization_id, slug, is_active, created_at,
               erased_at is not null as "is_erased!""#,
        id.uuid(),
        is_active
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let project = Project::try_from(row)?;
    let action = if is_active {
        "project.activated"
    } else {
        "project.deactivated"
    };
    audit_log::append(&mut tx, by, project.audit_event(action), now).await?;
    change_feed::append(
        &mut tx,
        change_feed::ChangeKind::Project,
        Some(id.uuid()),
        now,
    )
    .await?;
    tx.commit().await?;
    Ok(Some(project))
}

struct Row {
    id: Uuid,
    organization_id: Uuid,
    slug: String,
    is_active: bool,
    created_at: Timestamp,
    is_erased: bool,
}

impl TryFrom<Row> for Project {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let corrupt = Error::Corrupt {
            table: "control.project",
            column: "slug",
        };
        Ok(Self {
            id: row.id.into(),
            organization: row.organization_id.into(),
            slug: row.slug.parse().map_err(|_| corrupt)?,
            is_active: row.is_active,
            created_at: row.created_at,
            is_erased: row.is_erased,
        })
    }
}
