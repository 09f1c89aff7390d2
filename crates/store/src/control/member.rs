//! Members: who belongs to an organization, and as what.

use crate::Session;
use domain::id::{OrganizationId, PersonId};
use domain::person::Role;
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::audit::{self, Act, Author};

#[derive(Debug, Clone)]
pub struct Member {
    pub person: PersonId,
    pub name: String,
    pub email: String,
    pub role: Role,
    pub created_at: Timestamp,
}

/// Why a member stays as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Made,
    NoSuchMember,
    /// An organization without an owner could not be changed by anybody.
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

/// Makes somebody a member, or gives them this role.
pub async fn add(
    control: &Control,
    organization: OrganizationId,
    person: PersonId,
    role: Role,
    by: &Author,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    insert(&mut tx, organization, person, role, by, now).await?;
    tx.commit().await?;
    Ok(())
}

pub(super) async fn insert(
    tx: &mut Session,
    organization: OrganizationId,
    person: PersonId,
    role: Role,
    by: &Author,
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
    let act = Act {
        organization: Some(organization),
        action: "member.added",
        subject: email,
        detail: role.as_str().to_owned(),
        ..Act::default()
    };
    audit::note(tx, by, act, now).await
}

/// Gives a member another role; with none, they are one no longer.
pub async fn change(
    control: &Control,
    organization: OrganizationId,
    person: PersonId,
    role: Option<Role>,
    by: &Author,
    now: Timestamp,
) -> Result<Change, Error> {
    let mut tx = control.pool.begin().await?;
    // Two owners who remove each other take turns.
    let owners = sqlx::query_scalar!(
        "select person from control.member where organization = $1 and role = 'owner'
         order by person for update",
        organization.uuid()
    )
    .fetch_all(&mut *tx)
    .await?;
    if owners == [person.uuid()] && role != Some(Role::Owner) {
        return Ok(Change::LastOwner);
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
        return Ok(Change::NoSuchMember);
    }
    let email = sqlx::query_scalar!(
        "select email from control.person where id = $1",
        person.uuid()
    )
    .fetch_one(&mut *tx)
    .await?;
    let act = Act {
        organization: Some(organization),
        action: role.map_or("member.removed", |_| "member.changed"),
        subject: email,
        detail: role.map_or("", Role::as_str).to_owned(),
        ..Act::default()
    };
    audit::note(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(Change::Made)
}

pub(super) fn role_from_row(role: &str) -> Result<Role, Error> {
    role.parse().map_err(|_| Error::Corrupt {
        table: "control.member",
        column: "role",
    })
}
