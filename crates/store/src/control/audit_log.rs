//! The audit log: who changed what, written in the transaction of the change.

use crate::DatabaseSession;
use domain::id::{OrganizationId, PersonId, ProjectId};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;

/// Who makes a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// None for the console and for this program.
    pub person: Option<PersonId>,
    pub name: String,
    pub address: Option<String>,
}

impl Actor {
    /// The person who runs `longshored admin`.
    pub fn console() -> Self {
        Self {
            person: None,
            name: "console".to_owned(),
            address: None,
        }
    }
}

/// What was changed. Programs read `action`, people the rest.
#[derive(Debug, Clone, Default)]
pub struct AuditEvent<'a> {
    pub organization: Option<OrganizationId>,
    pub project: Option<ProjectId>,
    pub action: &'a str,
    pub subject: String,
    pub detail: String,
}

/// A row of the log.
#[derive(Debug, Clone)]
pub struct AuditLogEntry {
    pub id: i64,
    pub at: Timestamp,
    pub actor: String,
    pub address: Option<String>,
    pub project: Option<ProjectId>,
    pub action: String,
    pub subject: String,
    pub detail: String,
}

/// Runs in the transaction of the change.
pub(super) async fn append(
    tx: &mut DatabaseSession,
    by: &Actor,
    act: AuditEvent<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into control.audit
             (at, person, who, address, organization, project, action, subject, detail)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        now,
        by.person.map(PersonId::uuid),
        by.name,
        by.address,
        act.organization.map(OrganizationId::uuid),
        act.project.map(ProjectId::uuid),
        act.action,
        act.subject,
        act.detail
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// For a change on a shard. Called before the change is made.
pub async fn record(
    control: &Control,
    by: &Actor,
    act: AuditEvent<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    let mut connection = control.pool.acquire().await?;
    append(&mut connection, by, act, now).await
}

/// An organization's log, or without one the whole log: newest first, older than `before`.
pub async fn list(
    control: &Control,
    organization: Option<OrganizationId>,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<AuditLogEntry>, Error> {
    let before = before.unwrap_or(i64::MAX);
    let Some(organization) = organization else {
        let rows = sqlx::query_as!(
            Row,
            "select id, at, who, address, project, action, subject, detail
             from control.audit where id < $1 order by id desc limit $2",
            before,
            i64::from(limit)
        );
        let rows = rows.fetch_all(&control.pool).await?;
        return Ok(rows.into_iter().map(AuditLogEntry::from).collect());
    };
    let rows = sqlx::query_as!(
        Row,
        "select id, at, who, address, project, action, subject, detail
         from control.audit where organization = $1 and id < $2 order by id desc limit $3",
        organization.uuid(),
        before,
        i64::from(limit)
    );
    let rows = rows.fetch_all(&control.pool).await?;
    Ok(rows.into_iter().map(AuditLogEntry::from).collect())
}

struct Row {
    id: i64,
    at: Timestamp,
    who: String,
    address: Option<String>,
    project: Option<Uuid>,
    action: String,
    subject: String,
    detail: String,
}

impl From<Row> for AuditLogEntry {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            at: row.at,
            actor: row.who,
            address: row.address,
            project: row.project.map(ProjectId::from),
            action: row.action,
            subject: row.subject,
            detail: row.detail,
        }
    }
}
