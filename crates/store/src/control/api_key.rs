//! API keys: found by the digest of the whole key, shown by their first characters.

use crate::Session;
use domain::api_key::{Digest, Standing};
use domain::id::{Berth, KeyId, OrganizationId, ProjectId};
use domain::organization::Plan;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;
use crate::control::audit::{self, Act, Author};
use crate::control::berth;
use crate::control::change;
use crate::control::organization;

/// A key as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    pub project: ProjectId,
    pub name: String,
    pub prefix: String,
    pub is_active: bool,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// The key that takes its place.
    pub successor: Option<KeyId>,
}

/// Whom a key stands for, and whether it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub key: KeyId,
    pub project: ProjectId,
    pub organization: OrganizationId,
    pub plan: Plan,
    pub berth: Berth,
    pub standing: Standing,
}

pub async fn create(
    control: &Control,
    key: &ApiKey,
    digest: Digest,
    by: &Author,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    insert(&mut tx, key, digest).await?;
    note(&mut tx, key, "key.created", by, key.created_at).await?;
    tx.commit().await?;
    Ok(())
}

/// Puts a new key in the place of one that goes on until `ends_at`, or until it would have ended.
///
/// Nothing when the old one is not there, not active, or replaced already.
pub async fn rotate(
    control: &Control,
    old: KeyId,
    new: &ApiKey,
    digest: Digest,
    ends_at: Timestamp,
    by: &Author,
) -> Result<Option<ApiKey>, Error> {
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
    let old = ApiKey::from(row);
    note(&mut tx, &old, "key.rotated", by, new.created_at).await?;
    note(&mut tx, new, "key.created", by, new.created_at).await?;
    tx.commit().await?;
    Ok(Some(old))
}

async fn insert(tx: &mut Session, key: &ApiKey, digest: Digest) -> Result<(), Error> {
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

/// In the log, and in the feed: a node may remember the key otherwise, or as nobody's.
async fn note(
    tx: &mut Session,
    key: &ApiKey,
    action: &str,
    by: &Author,
    now: Timestamp,
) -> Result<(), Error> {
    let organization = sqlx::query_scalar!(
        "select organization_id from control.project where id = $1",
        key.project.uuid()
    )
    .fetch_one(&mut *tx)
    .await?;
    let act = Act {
        organization: Some(organization.into()),
        project: Some(key.project),
        action,
        subject: format!("{} ({}…)", key.name, key.prefix),
        ..Act::default()
    };
    audit::note(&mut *tx, by, act, now).await?;
    change::note(tx, change::Kind::Key, Some(key.id.uuid()), now).await
}

pub async fn find(control: &Control, id: KeyId) -> Result<Option<ApiKey>, Error> {
    let row = sqlx::query_as!(
        Row,
        "select id, project_id, name, prefix, is_active, expires_at, last_used_at, created_at,
             successor
         from control.api_key where id = $1",
        id.uuid()
    )
    .fetch_optional(&control.pool)
    .await?;
    Ok(row.map(ApiKey::from))
}

pub async fn find_by_digest(control: &Control, digest: Digest) -> Result<Option<Holder>, Error> {
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
    Ok(Some(Holder {
        key: row.id.into(),
        project: row.project_id.into(),
        organization: row.organization_id.into(),
        plan: organization::plan_from_row(&row.plan)?,
        berth: berth::from_row(row.berth, "control.organization")?,
        standing: Standing {
            is_active: row.is_active,
            expires_at: row.expires_at,
            project_active: row.project_active,
        },
    }))
}

/// At most `limit` of a project's keys, oldest first, after the given one.
pub async fn page(
    control: &Control,
    project: ProjectId,
    after: Option<KeyId>,
    limit: u32,
) -> Result<Vec<ApiKey>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select id, project_id, name, prefix, is_active, expires_at, last_used_at, created_at,
             successor
         from control.api_key
         where project_id = $1 and id > $2
         order by id
         limit $3",
        project.uuid(),
        after.map_or(Uuid::nil(), KeyId::uuid),
        i64::from(limit)
    )
    .fetch_all(&control.pool)
    .await?;
    Ok(rows.into_iter().map(ApiKey::from).collect())
}

pub async fn activate(
    control: &Control,
    id: KeyId,
    by: &Author,
    now: Timestamp,
) -> Result<Option<ApiKey>, Error> {
    set_active(control, id, true, by, now).await
}

/// The row stays: what was loaded with the key names it.
pub async fn deactivate(
    control: &Control,
    id: KeyId,
    by: &Author,
    now: Timestamp,
) -> Result<Option<ApiKey>, Error> {
    set_active(control, id, false, by, now).await
}

async fn set_active(
    control: &Control,
    id: KeyId,
    is_active: bool,
    by: &Author,
    now: Timestamp,
) -> Result<Option<ApiKey>, Error> {
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
    let key = ApiKey::from(row);
    let action = if is_active {
        "key.activated"
    } else {
        "key.deactivated"
    };
    note(&mut tx, &key, action, by, now).await?;
    tx.commit().await?;
    Ok(Some(key))
}

/// Writes down when keys were last used; a moment never goes back. No change is noted.
pub async fn touch(control: &Control, used: &[(KeyId, Timestamp)]) -> Result<(), Error> {
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

impl From<Row> for ApiKey {
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
            successor: row.successor.map(KeyId::from),
        }
    }
}
