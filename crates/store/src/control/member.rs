//! The members of an organization and their roles.

use crate::DatabaseSession;
use domain::id::{OrganizationId, PersonId};
use domain::person::Role;
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};

#[derive(Debug, Clone)]
pub struct Member {
    pub person: PersonId,
    pub name: String,
    pub email: String,
    pub role: Role,
    pub created_at: Timestamp,
}

/// The result of changing or removing a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChangeResult {
    Changed,
    NoSuchMember,
    /// Refused: without an owner, no member could change the organization.
    LastOwner,
}

pub async fn list(control: &Control, organization: OrganizationId) -> Result<Vec<Member>, Error> {
    let rows = sqlx::query!(
        "select p.id, p.name, p.email, m.role, m.created_at
         from control.member m join control.person p on p.id = m.person
         where m.organization = $1 order by m.created_at limit 500",
        organization.uuid()
    )
    .fetch_all(&control.pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Member {
                person: row.id.into(),
                name: row.name,
                email: row.email,
                role: role_from_row(&row.role)?,
                created_at: row.created_at,
            })
        })
        .collect()
}

/// Adds a member, or sets the role of an existing one.
pub async fn add(
    control: &Control,
    organization: OrganizationId,
    person: PersonId,
    role: Role,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    insert(&mut tx, organization, person, role, by, now).await?;
    tx.commit().await?;
    Ok(())
}

pub(super) async fn insert(
    tx: &mut DatabaseSession,
    organization: OrganizationId,
    person: PersonId,
    role: Role,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let email = sqlx::query_scalar!(
        r#"with made as (
               insert into control.member (organization, person, role, created_at)
               values ($1, $2, $3, $4)
               on conflict (organization, person) do update set role = excluded.role
           )
           select email from control.person where id = $2"#,
        organization.uuid(),
        person.uuid(),
        role.as_str(),
        now
    )
    .fetch_one(&mut *tx)
    .await?;
    let act = AuditEvent {
        organization: Some(organization),
        action: "member.added",
        subject: email,
        detail: role.as_str().to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(tx, by, act, now).await
}

/// Sets a member's role; without a role, removes the member.
pub async fn change(
    control: &Control,
    organization: OrganizationId,
    person: PersonId,
    role: Option<Role>,
    by: &Actor,
    now: Timestamp,
) -> Result<MemberChangeResult, Error> {
    let mut tx = control.pool.begin().await?;
    // The locks serialize two owners who remove each other.
    let owners = sqlx::query_scalar!(
        "select person from control.member where organization = $1 and role = 'owner'
         order by person for update",
        organization.uuid()
    )
    .fetch_all(&mut *tx)
    .await?;
    if owners == [person.uuid()] && role != Some(Role::Owner) {
        return Ok(MemberChangeResult::LastOwner);
    }
    let changed = match role {
        Some(role) => {
            sqlx::query!(
                "update control.member set role = $3 where organization = $1 and person = $2",
                organization.uuid(),
                person.uuid(),
                role.as_str()
            )
            .execute(&mut *tx)
            .await?
        }
        None => {
            sqlx::query!(
                "delete from control.member where organization = $1 and person = $2",
                organization.uuid(),
                person.uuid()
            )
            .execute(&mut *tx)
            .await?
        }
    };
    if changed.rows_affected() == 0 {
        return Ok(MemberChangeResult::NoSuchMember);
    }
    let email = sqlx::query_scalar!(
        "select email from control.person where id = $1",
        person.uuid()
    )
    .fetch_one(&mut *tx)
    .await?;
    let act = AuditEvent {
        organization: Some(organization),
        action: role.map_or("member.removed", |_| "member.changed"),
        subject: email,
        detail: role.map_or("", Role::as_str).to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(MemberChangeResult::Changed)
}

pub(super) fn role_from_row(role: &str) -> Result<Role, Error> {
    role.parse().map_err(|_| Error::Corrupt {
        table: "control.member",
        column: "role",
    })
}
