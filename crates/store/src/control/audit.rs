//! The audit log: every change that somebody made, in words, with the change itself.

use crate::Session;
use domain::id::{OrganizationId, PersonId, ProjectId};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;

/// Who changes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Nobody we know: somebody at the console, or this program itself.
    pub person: Option<PersonId>,
    pub who: String,
    pub address: Option<String>,
}

impl Author {
    /// Whoever may run `longshored admin`.
    pub fn console() -> Self {
        Self {
            person: None,
            who: "console".to_owned(),
            address: None,
        }
    }
}

/// What was changed. `action` is for programs, the rest for people.
#[derive(Debug, Clone, Default)]
pub struct Act<'a> {
    pub organization: Option<OrganizationId>,
    pub project: Option<ProjectId>,
    pub action: &'a str,
    pub subject: String,
    pub detail: String,
}

/// A line of the log.
#[derive(Debug, Clone)]
pub struct Entry {
    pub id: i64,
    pub at: Timestamp,
    pub who: String,
    pub address: Option<String>,
    pub project: Option<ProjectId>,
    pub action: String,
    pub subject: String,
    pub detail: String,
}

/// Within the transaction of the change.
pub(super) async fn note(
    tx: &mut Session,
    by: &Author,
    act: Act<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into control.audit
             (at, person, who, address, organization, project, action, subject, detail)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        now,
        by.person.map(PersonId::uuid),
        by.who,
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

/// For what is changed elsewhere, on a shard: before it is done.
pub async fn announce(
    control: &Control,
    by: &Author,
    act: Act<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    let mut connection = control.pool.acquire().await?;
    note(&mut connection, by, act, now).await
}

/// An organization's log, or with none the whole one, newest first, before an entry.
pub async fn page(
    control: &Control,
    organization: Option<OrganizationId>,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Entry>, Error> {
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
        return Ok(rows.into_iter().map(Entry::from).collect());
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
    Ok(rows.into_iter().map(Entry::from).collect())
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

impl From<Row> for Entry {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            at: row.at,
            who: row.who,
            address: row.address,
            project: row.project.map(ProjectId::from),
            action: row.action,
            subject: row.subject,
            detail: row.detail,
        }
    }
}
