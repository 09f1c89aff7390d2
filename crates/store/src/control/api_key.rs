//! API keys: looked up by the digest of the whole key, displayed by their first characters.

use std::net::IpAddr;
use std::sync::Arc;

use crate::DatabaseSession;
use domain::api_key::{ApiKeyStatus, SecretDigest};
use domain::id::{ApiKeyId, Berth, OrganizationId, ProjectId};
use domain::key_scope::KeyScope;
use domain::organization::Plan;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::berth;
use crate::control::change_feed;
use crate::control::key_scope::KeyScopeRow;
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
    pub last_used_address: Option<String>,
    pub created_at: Timestamp,
    /// The key that replaces this one.
    pub successor: Option<ApiKeyId>,
    pub scope: KeyScope,
}

/// The project and organization that a key authenticates, and whether it is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyPrincipal {
    pub key: ApiKeyId,
    pub project: ProjectId,
    pub organization: OrganizationId,
    pub plan: Plan,
    pub berth: Berth,
    pub status: ApiKeyStatus,
    /// None if the key is unrestricted.
    pub scope: Option<Arc<KeyScope>>,
}

/// A query that returns keys. All have the same columns.
macro_rules! key_rows {
    ($before:literal, $after:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Row,
            $before
                + " id, project_id, name, prefix, is_active, expires_at, last_used_at, \
                   last_used_address, created_at, successor, rights, models, addresses, \
                   monthly_cap, spending_key "
                + $after
            $(, $argument)*
        )
    };
}

/// Returns when the key expires: at the latest after the longest lifetime that its organization
/// allows.
pub async fn create(
    control: &Control,
    key: &ApiKeyRow,
    digest: SecretDigest,
    by: &Actor,
) -> Result<Option<Timestamp>, Error> {
    let mut tx = control.pool.begin().await?;
    let expires_at = insert(&mut tx, key, digest).await?;
    record_change(&mut tx, key, "key.created", by, key.created_at).await?;
    tx.commit().await?;
    Ok(expires_at)
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
    let row = key_rows!(
        "update control.api_key
         set successor = $3, expires_at = least(expires_at, $4)
         where id = $1 and project_id = $2 and is_active and successor is null
         returning",
        "",
        old.uuid(),
        new.project.uuid(),
        new.id.uuid(),
        ends_at
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let old = ApiKeyRow::try_from(row)?;
    record_change(&mut tx, &old, "key.rotated", by, new.created_at).await?;
    record_change(&mut tx, new, "key.created", by, new.created_at).await?;
    tx.commit().await?;
    Ok(Some(old))
}

async fn insert(
    tx: &mut DatabaseSession,
    key: &ApiKeyRow,
    digest: SecretDigest,
) -> Result<Option<Timestamp>, Error> {
    let scope = KeyScopeRow::from(&key.scope);
    let expires_at = sqlx::query_scalar!(
        "insert into control.api_key
             (id, project_id, name, prefix, digest, is_active, expires_at, created_at,
              rights, models, addresses, monthly_cap, spending_key)
         select $1::uuid, p.id, $3::text, $4::text, $5::bytea, $6::boolean,
             least($7::timestamptz, $8::timestamptz + o.max_key_days * interval '1 day'), $8,
             $9::text[], $10::text[], $11::text[], $12::bigint, $13::uuid
         from control.project p join control.organization o on o.id = p.organization_id
         where p.id = $2
         -- A change of the organization's longest lifetime waits for this key, or comes first.
         for share of o
         returning expires_at",
        key.id.uuid(),
        key.project.uuid(),
        key.name,
        key.prefix,
        digest.0.as_slice(),
        key.is_active,
        key.expires_at,
        key.created_at,
        scope.rights.as_deref(),
        scope.models.as_deref(),
        scope.addresses.as_deref(),
        scope.monthly_cap,
        scope.spending_key
    )
    .fetch_one(tx)
    .await?;
    Ok(expires_at)
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
        detail: if key.scope.is_unrestricted() {
            String::new()
        } else {
            key.scope.to_string()
        },
    };
    audit_log::append(&mut *tx, by, act, now).await?;
    change_feed::append(tx, change_feed::ChangeKind::Key, Some(key.id.uuid()), now).await
}

pub async fn find(control: &Control, id: ApiKeyId) -> Result<Option<ApiKeyRow>, Error> {
    let row = key_rows!("select", "from control.api_key where id = $1", id.uuid())
        .fetch_optional(&control.pool)
        .await?;
    row.map(ApiKeyRow::try_from).transpose()
}

pub async fn find_by_digest(
    control: &Control,
    digest: SecretDigest,
) -> Result<Option<ApiKeyPrincipal>, Error> {
    let row = sqlx::query!(
        "select api_key.id, api_key.project_id, api_key.is_active, api_key.expires_at,
                api_key.rights, api_key.models, api_key.addresses, api_key.monthly_cap,
                api_key.spending_key,
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
    let scope = KeyScope::try_from(KeyScopeRow {
        rights: row.rights,
        models: row.models,
        addresses: row.addresses,
        monthly_cap: row.monthly_cap,
        spending_key: row.spending_key,
    })?;
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
        scope: (!scope.is_unrestricted()).then(|| Arc::new(scope)),
    }))
}

/// At most `limit` of a project's keys, oldest first, after the given one.
pub async fn list(
    control: &Control,
    project: ProjectId,
    after: Option<ApiKeyId>,
    limit: u32,
) -> Result<Vec<ApiKeyRow>, Error> {
    let rows = key_rows!(
        "select",
        "from control.api_key
         where project_id = $1 and id > $2
         order by id
         limit $3",
        project.uuid(),
        after.map_or(Uuid::nil(), ApiKeyId::uuid),
        i64::from(limit)
    )
    .fetch_all(&control.pool)
    .await?;
    rows.into_iter().map(ApiKeyRow::try_from).collect()
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
    let row = key_rows!(
        "update control.api_key set is_active = $2 where id = $1 returning",
        "",
        id.uuid(),
        is_active
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let key = ApiKeyRow::try_from(row)?;
    let action = if is_active {
        "key.activated"
    } else {
        "key.deactivated"
    };
    record_change(&mut tx, &key, action, by, now).await?;
    tx.commit().await?;
    Ok(Some(key))
}

/// A use of a key: when, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUseRow {
    pub key: ApiKeyId,
    pub at: Timestamp,
    /// None if it is not known.
    pub address: Option<IpAddr>,
}

/// Records when and from where keys were last used. A time never moves back. Nothing goes to the
/// change feed.
pub async fn record_last_used(control: &Control, used: &[KeyUseRow]) -> Result<(), Error> {
    let ids: Vec<Uuid> = used.iter().map(|row| row.key.uuid()).collect();
    let moments: Vec<Timestamp> = used.iter().map(|row| row.at).collect();
    let addresses = used.iter().map(|row| row.address.map(|it| it.to_string()));
    let addresses: Vec<Option<String>> = addresses.collect();
    sqlx::query!(
        r#"
        with used as (
            select distinct on (id) id, at, address
            from unnest($1::uuid[], $2::timestamptz[], $3::text[]) as told (id, at, address)
            order by id, at desc
        ),
        -- Nodes touch the same keys: taken in one order, they never wait in a ring.
        locked as (
            select api_key.id, used.at, used.address
            from control.api_key
            join used on used.id = api_key.id
            where api_key.last_used_at is null or api_key.last_used_at < used.at
            order by api_key.id
            for no key update of api_key
        )
        update control.api_key
        set last_used_at = locked.at, last_used_address = locked.address
        from locked
        where api_key.id = locked.id
            and (api_key.last_used_at is null or api_key.last_used_at < locked.at)
        "#,
        &ids,
        &moments,
        &addresses as &[Option<String>]
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
    last_used_address: Option<String>,
    created_at: Timestamp,
    successor: Option<Uuid>,
    rights: Option<Vec<String>>,
    models: Option<Vec<String>>,
    addresses: Option<Vec<String>>,
    monthly_cap: Option<i64>,
    spending_key: Option<Uuid>,
}

impl TryFrom<Row> for ApiKeyRow {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let scope = KeyScopeRow {
            rights: row.rights,
            models: row.models,
            addresses: row.addresses,
            monthly_cap: row.monthly_cap,
            spending_key: row.spending_key,
        };
        Ok(Self {
            id: row.id.into(),
            project: row.project_id.into(),
            name: row.name,
            prefix: row.prefix,
            is_active: row.is_active,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            last_used_address: row.last_used_address,
            created_at: row.created_at,
            successor: row.successor.map(ApiKeyId::from),
            scope: scope.try_into()?,
        })
    }
}
