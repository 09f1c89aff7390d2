//! The audit log: who changed, read or exported what. A change is written in its own transaction.
//!
//! Entries become visible in the order of their ids, so the last id that a reader has seen is its
//! cursor. A trigger locks the log from the first entry of a transaction to its end: append last,
//! because all other writers wait meanwhile.

use crate::DatabaseSession;
use domain::id::{OrganizationId, PersonId, ProjectId};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;

/// Who makes a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// None for the console, for this program, and for people who are not signed in.
    pub person: Option<PersonId>,
    pub name: String,
    pub address: Option<String>,
    pub user_agent: Option<String>,
}

impl Actor {
    /// The person who runs `longshored admin`.
    pub fn console() -> Self {
        Self {
            person: None,
            name: "console".to_owned(),
            address: None,
            user_agent: None,
        }
    }
}

/// What was changed. Programs read `action`, people the rest. No field ever holds a prompt, an
/// answer or a secret.
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
    pub person: Option<PersonId>,
    pub actor: String,
    pub address: Option<String>,
    pub user_agent: Option<String>,
    pub organization: Option<OrganizationId>,
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
             (at, person, who, address, user_agent, organization, project, action, subject, detail)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        now,
        by.person.map(PersonId::uuid),
        by.name,
        by.address,
        by.user_agent,
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

/// For a read, or for a change on a shard. Called before the change is made.
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
            "select id, at, person, who, address, user_agent, organization, project, action,
                 subject, detail
             from control.audit where id < $1 order by id desc limit $2",
            before,
            i64::from(limit)
        );
        let rows = rows.fetch_all(&control.pool).await?;
        return Ok(rows.into_iter().map(AuditLogEntry::from).collect());
    };
    let rows = sqlx::query_as!(
        Row,
        "select id, at, person, who, address, user_agent, organization, project, action, subject,
             detail
         from control.audit where organization = $1 and id < $2 order by id desc limit $3",
        organization.uuid(),
        before,
        i64::from(limit)
    );
    let rows = rows.fetch_all(&control.pool).await?;
    Ok(rows.into_iter().map(AuditLogEntry::from).collect())
}

/// An organization's log, or without one the whole log: oldest first, after the entry `after`.
pub async fn list_after(
    control: &Control,
    organization: Option<OrganizationId>,
    after: i64,
    limit: u32,
) -> Result<Vec<AuditLogEntry>, Error> {
    let Some(organization) = organization else {
        let rows = sqlx::query_as!(
            Row,
            "select id, at, person, who, address, user_agent, organization, project, action,
                 subject, detail
             from control.audit where id > $1 order by id limit $2",
            after,
            i64::from(limit)
        );
        let rows = rows.fetch_all(&control.pool).await?;
        return Ok(rows.into_iter().map(AuditLogEntry::from).collect());
    };
    let rows = sqlx::query_as!(
        Row,
        "select id, at, person, who, address, user_agent, organization, project, action, subject,
             detail
         from control.audit where organization = $1 and id > $2 order by id limit $3",
        organization.uuid(),
        after,
        i64::from(limit)
    );
    let rows = rows.fetch_all(&control.pool).await?;
    Ok(rows.into_iter().map(AuditLogEntry::from).collect())
}

struct Row {
    id: i64,
    at: Timestamp,
    person: Option<Uuid>,
    who: String,
    address: Option<String>,
    user_agent: Option<String>,
    organization: Option<Uuid>,
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
            person: row.person.map(PersonId::from),
            actor: row.who,
            address: row.address,
            user_agent: row.user_agent,
            organization: row.organization.map(OrganizationId::from),
            project: row.project.map(ProjectId::from),
            action: row.action,
            subject: row.subject,
            detail: row.detail,
        }
    }
}
