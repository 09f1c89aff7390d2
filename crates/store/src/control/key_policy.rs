//! The policy of an organization for its API keys: the longest lifetime.

use domain::id::OrganizationId;
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::change_feed;

/// The longest lifetime of a key in days; None if keys may have no expiry.
pub async fn find_max_key_days(
    control: &Control,
    organization: OrganizationId,
) -> Result<Option<i32>, Error> {
    let days = sqlx::query_scalar!(
        "select max_key_days from control.organization where id = $1",
        organization.uuid()
    )
    .fetch_optional(&control.pool)
    .await?;
    Ok(days.flatten())
}

/// Sets the longest lifetime. Existing keys get an earlier expiry, counted from their creation, so
/// older ones expire at once. Without a limit, their expiry stays.
///
/// Returns how many keys got an earlier expiry; None when there is no such organization.
pub async fn set_max_key_days(
    control: &Control,
    organization: OrganizationId,
    days: Option<i32>,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<u64>, Error> {
    let mut tx = control.pool.begin().await?;
    let name = sqlx::query_scalar!(
        "update control.organization set max_key_days = $2 where id = $1 returning name",
        organization.uuid(),
        days
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(name) = name else { return Ok(None) };
    let shortened = sqlx::query!(
        "with longer as (
             select k.id, k.created_at + $2::integer * interval '1 day' as expires_at
             from control.api_key k join control.project p on p.id = k.project_id
             where p.organization_id = $1
                 and (k.expires_at is null
                     or k.expires_at > k.created_at + $2::integer * interval '1 day')
             -- In the order in which uses are recorded, so that neither waits in a ring.
             order by k.id
             for no key update of k
         )
         update control.api_key k set expires_at = longer.expires_at
         from longer where k.id = longer.id and longer.expires_at is not null",
        organization.uuid(),
        days
    )
    .execute(&mut *tx)
    .await?
    .rows_affected();
    let detail = days.map_or_else(
        || "no limit".to_owned(),
        |days| format!("{days} days; {shortened} keys expire earlier"),
    );
    let act = AuditEvent {
        organization: Some(organization),
        action: "organization.key_lifetime_changed",
        subject: name,
        detail,
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    let (kind, subject) = (change_feed::ChangeKind::Organization, organization.uuid());
    change_feed::append(&mut tx, kind, Some(subject), now).await?;
    tx.commit().await?;
    Ok(Some(shortened))
}
