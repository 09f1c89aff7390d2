//! API keys: looked up by the digest of the whole key, displayed by their first characters.

use crate::DatabaseSession;
use domain::api_key::{ApiKeyStatus, SecretDigest};
use domain::id::{ApiKeyId, Berth, OrganizationId, ProjectId};
use domain::organization::Plan;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::berth;
use crate::control::change_feed;
use crate::control::organization;

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyRow {
    pub id: ApiKeyId,
    pub project: ProjectId,
    pub name: String,
    pub prefix: String,
    pub is_active: bool,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// The key that replaces this one.
    pub successor: Option<ApiKeyId>,
}

/// The project and organization that a key authenticates, and whether it is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiKeyPrincipal {
    pub key: ApiKeyId,
    pub project: ProjectId,
    pub organization: OrganizationId,
    pub plan: Plan,
    pub berth: Berth,
    pub status: ApiKeyStatus,
}

pub async fn create(
    control: &Control,
    key: &ApiKeyRow,
    digest: SecretDigest,
    by: &Actor,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    insert(&mut tx, key, digest).await?;
    record_change(&mut tx, key, "key.created", by, key.created_at).await?;
    tx.commit().await?;
    Ok(())
}

/// Replaces a key by a new one. The old one stays valid until `ends_at` or its earlier expiry.
///
/// Returns None when the old one does not exist, is not active, or was replaced before.
pub async fn rotate(
    control: &Control,
    old: ApiKeyId,
    new: &ApiKeyRow,
    digest: SecretDigest,
    ends_at: Timestamp,
    by: &Actor,
) -> Result<Option<ApiKeyRow>, Error> {
    let mut tx = control.pool.begin().await?;
    insert(&mut tx, new, digest).await?;
    let row = sqlx::query_as!(
        Row,
        "update control.api_key
         set successor = $3, expires_at = least(expires_at, $4)
         where id = $1 and project_id = $2 and is_active and successor is null
         returning id, project_id, name, prefix, is_active, expires_at, last_used_at, created_at,
             successor",
        old.uuid(),
        new.project.uuid(),
        new.id.uuid(),
        ends_at
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let old = ApiKeyRow::from(row);
    record_change(&mut tx, &old, "key.rotated", by, new.created_at).await?;
    record_change(&mut tx, new, "key.created", by, new.created_at).await?;
    tx.commit().await?;
    Ok(Some(old))
}

async fn insert(
    tx: &mut DatabaseSession,
    key: &ApiKeyRow,
    digest: SecretDigest,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into control.api_key
             (id, project_id, name, prefix, digest, is_active, expires_at, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        key.id.uuid(),
        key.project.uuid(),
        key.name,
        key.prefix,
        digest.0.as_slice(),
        key.is_active,
        key.expires_at,
        key.created_at
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Appends to the audit log and to the change feed: a node may have cached the key, or that no
/// such key exists.
async fn record_change(
    tx: &mut DatabaseSession,
    key: &ApiKeyRow,
    action: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let organization = sqlx::query_scalar!(
        "select organization_id from control.project where id = $1",
        key.project.uuid()
    )
    .fetch_one(&mut *tx)
    .await?;
    let act = AuditEvent {
        organization: Some(organization.into()),
        project: Some(key.project),
        action,
        subject: format!("{} ({}…)", key.name, key.prefix),
        ..AuditEvent::default()
    };
    audit_log::append(&mut *tx, by, act, now).await?;
    change_feed::append(tx, change_feed::ChangeKind::Key, Some(key.id.uuid()), now).await
}

pub async fn find(control: &Control, id: ApiKeyId) -> Result<Option<ApiKeyRow>, Error> {
    let row = sqlx::query_as!(
        Row,
        "select id, project_id, name, prefix, is_active, expires_at, last_used_at, created_at,
             successor
         from control.api_key where id = $1",
        id.uuid()
    )
    .fetch_optional(&control.pool)
    .await?;
    Ok(row.map(ApiKeyRow::from))
}

pub async fn find_by_digest(
    control: &Control,
    digest: SecretDigest,
) -> Result<Option<ApiKeyPrincipal>, Error> {
    let row = sqlx::query!(
        "select api_key.id, api_key.project_id, api_key.is_active, api_key.expires_at,
                project.organization_id, project.is_active as project_active,
                organization.plan, organization.berth
         from control.api_key
         join control.project on project.id = api_key.project_id
         join control.organization on organization.id = project.organization_id
         where api_key.digest = $1",
        digest.0.as_slice()
    )
    .fetch_optional(&control.pool)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(ApiKeyPrincipal {
        key: row.id.into(),
        project: row.project_id.into(),
        organization: row.organization_id.into(),
        plan: organization::plan_from_row(&row.plan)?,
        berth: berth::from_row(row.berth, "control.organization")?,
        status: ApiKeyStatus {
            is_active: row.is_active,
            expires_at: row.expires_at,
            is_project_active: row.project_active,
        },
    }))
}

/// At most `limit` of a project's keys, oldest first, after the given one.
pub async fn list(
    control: &Control,
    project: ProjectId,
    after: Option<ApiKeyId>,
    limit: u32,
) -> Result<Vec<ApiKeyRow>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select id, project_id, name, prefix, is_active, expires_at, last_used_at, created_at,
             successor
         from control.api_key
         where project_id = $1 and id > $2
         order by id
         limit $3",
        project.uuid(),
        after.map_or(Uuid::nil(), ApiKeyId::uuid),
        i64::from(limit)
    )
    .fetch_all(&control.pool)
    .await?;
    Ok(rows.into_iter().map(ApiKeyRow::from).collect())
}

pub async fn activate(
    control: &Control,
    id: ApiKeyId,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<ApiKeyRow>, Error> {
    set_active(control, id, true, by, now).await
}

/// The row stays: cargo that was loaded with the key refers to it.
pub async fn deactivate(
    control: &Control,
    id: ApiKeyId,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<ApiKeyRow>, Error> {
    set_active(control, id, false, by, now).await
}

async fn set_active(
    control: &Control,
    id: ApiKeyId,
    is_active: bool,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<ApiKeyRow>, Error> {
    let mut tx = control.pool.begin().await?;
    let row = sqlx::query_as!(
        Row,
        "update control.api_key
         set is_active = $2
         where id = $1
         returning id, project_id, name, prefix, is_active, expires_at, last_used_at, created_at,
             successor",
        id.uuid(),
        is_active
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let key = ApiKeyRow::from(row);
    let action = if is_active {
        "key.activated"
    } else {
        "key.deactivated"
    };
    record_change(&mut tx, &key, action, by, now).await?;
    tx.commit().await?;
    Ok(Some(key))
}

/// Records when keys were last used. A time never moves back. Nothing goes to the change feed.
pub async fn record_last_used(
    control: &Control,
    used: &[(ApiKeyId, Timestamp)],
) -> Result<(), Error> {
    let (ids, moments): (Vec<Uuid>, Vec<Timestamp>) = used
        .iter()
        .map(|(key, moment)| (key.uuid(), *moment))
        .unzip();
    sqlx::query!(
        r#"
        with used as (
            select id, max(at) as at
            from unnest($1::uuid[], $2::timestamptz[]) as told (id, at)
            group by id
        ),
        -- Nodes touch the same keys: taken in one order, they never wait in a ring.
        locked as (
            select api_key.id, used.at
            from control.api_key
            join used on used.id = api_key.id
            where api_key.last_used_at is null or api_key.last_used_at < used.at
            order by api_key.id
            for no key update of api_key
        )
        update control.api_key
        set last_used_at = greatest(api_key.last_used_at, locked.at)
        from locked
        where api_key.id = locked.id
        "#,
        &ids,
        &moments
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}

struct Row {
    id: Uuid,
    project_id: Uuid,
    name: String,
    prefix: String,
    is_active: bool,
    expires_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    created_at: Timestamp,
    successor: Option<Uuid>,
}

impl From<Row> for ApiKeyRow {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            project: row.project_id.into(),
            name: row.name,
            prefix: row.prefix,
            is_active: row.is_active,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            created_at: row.created_at,
            successor: row.successor.map(ApiKeyId::from),
        }
    }
}
