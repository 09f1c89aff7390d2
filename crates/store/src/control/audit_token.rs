//! Tokens that read the audit log over HTTP: of one organization, or of the whole service.

use chrono::TimeDelta;
use domain::api_key::SecretDigest;
use domain::id::{AuditTokenId, OrganizationId};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};

/// The use of a token is written at most this often.
const TOUCH_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// How many tokens a list shows.
const MAX_LISTED_TOKENS: i64 = 1000;

/// A token as stored: never the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditTokenRow {
    pub id: AuditTokenId,
    /// None: it reads the log of the whole service.
    pub organization: Option<OrganizationId>,
    pub name: String,
    /// The first characters, for identification.
    pub prefix: String,
    pub last_used_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

pub async fn create(
    control: &Control,
    token: &AuditTokenRow,
    digest: SecretDigest,
    by: &Actor,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "insert into control.audit_token (id, organization, name, prefix, digest, created_at)
         values ($1, $2, $3, $4, $5, $6)",
        token.id.uuid(),
        token.organization.map(OrganizationId::uuid),
        token.name,
        token.prefix,
        digest.0.as_slice(),
        token.created_at
    )
    .execute(&mut *tx)
    .await?;
    let act = token.audit_event("audit_token.created");
    audit_log::append(&mut tx, by, act, token.created_at).await?;
    tx.commit().await?;
    Ok(())
}

/// The token with this digest. Records its use.
pub async fn authenticate(
    control: &Control,
    digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<AuditTokenRow>, Error> {
    let row = sqlx::query_as!(
        Row,
        "select id, organization, name, prefix, last_used_at, created_at
         from control.audit_token where digest = $1",
        digest.0.as_slice()
    );
    let row = row.fetch_optional(&control.pool).await?;
    let Some(token) = row.map(AuditTokenRow::from) else {
        return Ok(None);
    };
    if token
        .last_used_at
        .is_none_or(|used| used + TOUCH_INTERVAL <= now)
    {
        sqlx::query!(
            "update control.audit_token set last_used_at = $2
             where id = $1 and (last_used_at is null or last_used_at < $2)",
            token.id.uuid(),
            now
        )
        .execute(&control.pool)
        .await?;
    }
    Ok(Some(token))
}

/// The tokens of an organization, or without one all tokens: oldest first.
pub async fn list(
    control: &Control,
    organization: Option<OrganizationId>,
) -> Result<Vec<AuditTokenRow>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select id, organization, name, prefix, last_used_at, created_at
         from control.audit_token where $1::uuid is null or organization = $1
         order by id limit $2",
        organization.map(OrganizationId::uuid),
        MAX_LISTED_TOKENS
    );
    let rows = rows.fetch_all(&control.pool).await?;
    Ok(rows.into_iter().map(AuditTokenRow::from).collect())
}

/// Deletes a token of an organization, or without one any token. It stops working at once.
///
/// Returns None when there is no such token.
pub async fn revoke(
    control: &Control,
    organization: Option<OrganizationId>,
    id: AuditTokenId,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<AuditTokenRow>, Error> {
    let mut tx = control.pool.begin().await?;
    let row = sqlx::query_as!(
        Row,
        "delete from control.audit_token
         where id = $1 and ($2::uuid is null or organization = $2)
         returning id, organization, name, prefix, last_used_at, created_at",
        id.uuid(),
        organization.map(OrganizationId::uuid)
    );
    let row = row.fetch_optional(&mut *tx).await?;
    let Some(token) = row.map(AuditTokenRow::from) else {
        return Ok(None);
    };
    let act = token.audit_event("audit_token.revoked");
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(Some(token))
}

impl AuditTokenRow {
    fn audit_event<'a>(&self, action: &'a str) -> AuditEvent<'a> {
        let of_service = self.organization.is_none();
        AuditEvent {
            organization: self.organization,
            action,
            subject: format!("{} ({}…)", self.name, self.prefix),
            detail: if of_service { "whole service" } else { "" }.to_owned(),
            ..AuditEvent::default()
        }
    }
}

struct Row {
    id: Uuid,
    organization: Option<Uuid>,
    name: String,
    prefix: String,
    last_used_at: Option<Timestamp>,
    created_at: Timestamp,
}

impl From<Row> for AuditTokenRow {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            organization: row.organization.map(OrganizationId::from),
            name: row.name,
            prefix: row.prefix,
            last_used_at: row.last_used_at,
            created_at: row.created_at,
        }
    }
}
