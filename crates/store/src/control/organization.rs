//! Organizations: their plan, and the berth of their rows.

use domain::id::{Berth, OrganizationId};
use domain::organization::Plan;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::berth;
use crate::control::change_feed;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organization {
    pub id: OrganizationId,
    pub name: String,
    pub plan: Plan,
    pub berth: Berth,
    pub created_at: Timestamp,
}

/// Writes the control row, which proves that the account on the shard exists.
///
/// The caller opens the account first: that can be repeated, this cannot.
pub async fn create(
    control: &Control,
    organization: &Organization,
    by: &Actor,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "insert into control.organization (id, name, plan, berth, created_at)
         values ($1, $2, $3, $4, $5)",
        organization.id.uuid(),
        organization.name,
        organization.plan.as_str(),
        berth::to_row(organization.berth),
        organization.created_at
    )
    .execute(&mut *tx)
    .await?;
    let act = AuditEvent {
        organization: Some(organization.id),
        action: "organization.created",
        subject: organization.name.clone(),
        detail: organization.plan.as_str().to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, organization.created_at).await?;
    let subject = Some(organization.id.uuid());
    change_feed::append(
        &mut tx,
        change_feed::ChangeKind::Organization,
        subject,
        organization.created_at,
    )
    .await?;
    tx.commit().await?;
    Ok(())
}

pub async fn find(control: &Control, id: OrganizationId) -> Result<Option<Organization>, Error> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, plan, berth, created_at from control.organization where id = $1",
        id.uuid()
    )
    .fetch_optional(&control.pool)
    .await?;
    row.map(Organization::try_from).transpose()
}

/// At most `limit` organizations, oldest first, after the given one.
pub async fn list(
    control: &Control,
    after: Option<OrganizationId>,
    limit: u32,
) -> Result<Vec<Organization>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select id, name, plan, berth, created_at
         from control.organization
         where id > $1
         order by id
         limit $2",
        after.map_or(Uuid::nil(), OrganizationId::uuid),
        i64::from(limit)
    )
    .fetch_all(&control.pool)
    .await?;
    rows.into_iter().map(Organization::try_from).collect()
}

/// Changes an organization's plan; None when there is no such organization.
pub async fn set_plan(
    control: &Control,
    id: OrganizationId,
    plan: Plan,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Organization>, Error> {
    let mut tx = control.pool.begin().await?;
    let row = sqlx::query_as!(
        Row,
        "update control.organization
         set plan = $2
         where id = $1
         returning id, name, plan, berth, created_at",
        id.uuid(),
        plan.as_str()
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let act = AuditEvent {
        organization: Some(id),
        action: "organization.plan_changed",
        subject: row.name.clone(),
        detail: plan.as_str().to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    change_feed::append(
        &mut tx,
        change_feed::ChangeKind::Organization,
        Some(id.uuid()),
        now,
    )
    .await?;
    tx.commit().await?;
    Organization::try_from(row).map(Some)
}

/// Sets whether the organization opens only in sessions with a second factor. Returns whether there
/// is such an organization.
pub async fn require_second_factor(
    control: &Control,
    id: OrganizationId,
    is_required: bool,
    by: &Actor,
    now: Timestamp,
) -> Result<bool, Error> {
    let mut tx = control.pool.begin().await?;
    let name = sqlx::query_scalar!(
        "update control.organization set requires_second_factor = $2 where id = $1 returning name",
        id.uuid(),
        is_required
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(name) = name else { return Ok(false) };
    let act = AuditEvent {
        organization: Some(id),
        action: "organization.second_factor_changed",
        subject: name,
        detail: if is_required { "required" } else { "optional" }.to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(true)
}

struct Row {
    id: Uuid,
    name: String,
    plan: String,
    berth: i16,
    created_at: Timestamp,
}

impl TryFrom<Row> for Organization {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.id.into(),
            name: row.name,
            plan: plan_from_row(&row.plan)?,
            berth: berth::from_row(row.berth, "control.organization")?,
            created_at: row.created_at,
        })
    }
}

pub(super) fn plan_from_row(plan: &str) -> Result<Plan, Error> {
    plan.parse().map_err(|_| Error::Corrupt {
        table: "control.organization",
        column: "plan",
    })
}
