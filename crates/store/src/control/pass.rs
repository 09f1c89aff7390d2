//! Links that are good once: the first start, an invitation, a new password.

use crate::Session;
use domain::api_key::Digest;
use domain::id::{OrganizationId, PassId, PersonId};
use domain::person::Role;
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::audit::{self, Act, Author};
use crate::control::member::{self, role_from_row};
use crate::control::person::{self, NewPerson};

/// What a link is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// Whoever holds it becomes the first operator.
    Setup,
    Invitation {
        organization: OrganizationId,
        role: Role,
        email: String,
    },
    /// A new password for somebody who is there.
    Reset { person: PersonId },
}

#[derive(Debug, Clone)]
pub struct Pass {
    pub id: PassId,
    pub purpose: Purpose,
    pub made_by: Option<PersonId>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

pub async fn create(
    control: &Control,
    digest: Digest,
    pass: &Pass,
    by: &Author,
) -> Result<(), Error> {
    let (kind, organization, role, email, person) = match &pass.purpose {
        Purpose::Setup => ("setup", None, None, None, None),
        Purpose::Invitation {
            organization,
            role,
            email,
        } => (
            "invitation",
            Some(*organization),
            Some(role.as_str()),
            Some(email.as_str()),
            None,
        ),
        Purpose::Reset { person } => ("reset", None, None, None, Some(*person)),
    };
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "insert into control.pass
             (digest, id, kind, organization, role, email, person, made_by, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        digest.0.as_slice(),
        pass.id.uuid(),
        kind,
        organization.map(OrganizationId::uuid),
        role,
        email,
        person.map(PersonId::uuid),
        pass.made_by.map(PersonId::uuid),
        pass.created_at,
        pass.expires_at
    )
    .execute(&mut *tx)
    .await?;
    // Nobody else looks for what has run out.
    sqlx::query!(
        "delete from control.pass where expires_at < $1",
        pass.created_at - chrono::TimeDelta::days(30)
    )
    .execute(&mut *tx)
    .await?;
    let whose = sqlx::query_scalar!(
        "select email from control.person where id = $1",
        person.map(PersonId::uuid)
    )
    .fetch_optional(&mut *tx)
    .await?;
    let act = Act {
        organization,
        action: match pass.purpose {
            Purpose::Setup => "setup.offered",
            Purpose::Invitation { .. } => "member.invited",
            Purpose::Reset { .. } => "person.reset_offered",
        },
        subject: email.map(str::to_owned).or(whose).unwrap_or_default(),
        detail: role.unwrap_or_default().to_owned(),
        ..Act::default()
    };
    audit::note(&mut tx, by, act, pass.created_at).await?;
    tx.commit().await?;
    Ok(())
}

/// A link that is still good.
pub async fn find(
    control: &Control,
    digest: Digest,
    now: Timestamp,
) -> Result<Option<Pass>, Error> {
    let mut connection = control.pool.acquire().await?;
    read(&mut connection, digest, now).await
}

async fn read(
    connection: &mut Session,
    digest: Digest,
    now: Timestamp,
) -> Result<Option<Pass>, Error> {
    let row = sqlx::query!(
        "select id, kind, organization, role, email, person, made_by, created_at, expires_at
         from control.pass where digest = $1 and used_at is null and expires_at > $2
         for update",
        digest.0.as_slice(),
        now
    )
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let corrupt = Error::Corrupt {
        table: "control.pass",
        column: "kind",
    };
    let purpose = match (row.kind.as_str(), row.organization, row.role, row.person) {
        ("setup", _, _, _) => Purpose::Setup,
        ("invitation", Some(organization), Some(role), _) => Purpose::Invitation {
            organization: organization.into(),
            role: role_from_row(&role)?,
            email: row.email.unwrap_or_default(),
        },
        ("reset", _, _, Some(person)) => Purpose::Reset {
            person: person.into(),
        },
        _ => return Err(corrupt),
    };
    Ok(Some(Pass {
        id: row.id.into(),
        purpose,
        made_by: row.made_by.map(PersonId::from),
        created_at: row.created_at,
        expires_at: row.expires_at,
    }))
}

/// What became of a link that somebody tried to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Used {
    For(Purpose),
    NoLonger,
}

/// The first operator, once: whoever comes second finds somebody there.
pub async fn set_up(
    control: &Control,
    digest: Digest,
    first: &NewPerson,
    by: &Author,
    now: Timestamp,
) -> Result<Used, Error> {
    let mut tx = control.pool.begin().await?;
    // Two links may be open, one for each node that started: one of them is good.
    sqlx::query!("lock table control.person in share row exclusive mode")
        .execute(&mut *tx)
        .await?;
    let is_setup = take(&mut tx, digest, now).await? == Some(Purpose::Setup);
    let any = sqlx::query_scalar!(r#"select exists (select from control.person) as "any!""#)
        .fetch_one(&mut *tx)
        .await?;
    if !is_setup || any {
        return Ok(Used::NoLonger);
    }
    person::insert(&mut tx, first, by, now).await?;
    tx.commit().await?;
    Ok(Used::For(Purpose::Setup))
}

/// Makes somebody a member by invitation: somebody new, or somebody who is there.
pub async fn join(
    control: &Control,
    digest: Digest,
    who: Joining<'_>,
    by: &Author,
    now: Timestamp,
) -> Result<Used, Error> {
    let mut tx = control.pool.begin().await?;
    let Some(purpose) = take(&mut tx, digest, now).await? else {
        return Ok(Used::NoLonger);
    };
    let Purpose::Invitation {
        organization, role, ..
    } = &purpose
    else {
        return Ok(Used::NoLonger);
    };
    let id = match who {
        Joining::New(person) => {
            person::insert(&mut tx, person, by, now).await?;
            person.id
        }
        Joining::Known(person) => person,
    };
    member::insert(&mut tx, *organization, id, *role, by, now).await?;
    tx.commit().await?;
    Ok(Used::For(purpose))
}

/// Who follows an invitation.
#[derive(Debug, Clone, Copy)]
pub enum Joining<'a> {
    New(&'a NewPerson),
    Known(PersonId),
}

/// Uses up a link; what it was good for is then for the caller to do.
pub async fn spend(
    control: &Control,
    digest: Digest,
    now: Timestamp,
) -> Result<Option<Purpose>, Error> {
    let mut tx = control.pool.begin().await?;
    let purpose = take(&mut tx, digest, now).await?;
    tx.commit().await?;
    Ok(purpose)
}

async fn take(tx: &mut Session, digest: Digest, now: Timestamp) -> Result<Option<Purpose>, Error> {
    let found = read(tx, digest, now).await?;
    sqlx::query!(
        "update control.pass set used_at = $2 where digest = $1",
        digest.0.as_slice(),
        now
    )
    .execute(tx)
    .await?;
    Ok(found.map(|pass| pass.purpose))
}

/// Invitations of an organization that are still good, newest first.
pub async fn invitations(
    control: &Control,
    organization: OrganizationId,
    now: Timestamp,
) -> Result<Vec<(PassId, String, Role, Timestamp)>, Error> {
    let rows = sqlx::query!(
        r#"select id, email as "email!", role as "role!", expires_at from control.pass
           where organization = $1 and used_at is null and expires_at > $2
           order by created_at desc limit 100"#,
        organization.uuid(),
        now
    )
    .fetch_all(&control.pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            let role = role_from_row(&row.role)?;
            Ok((row.id.into(), row.email, role, row.expires_at))
        })
        .collect()
}

/// Takes an invitation back.
pub async fn withdraw(
    control: &Control,
    organization: OrganizationId,
    id: PassId,
    by: &Author,
    now: Timestamp,
) -> Result<bool, Error> {
    let mut tx = control.pool.begin().await?;
    let email = sqlx::query_scalar!(
        "delete from control.pass where id = $1 and organization = $2 and used_at is null
         returning email",
        id.uuid(),
        organization.uuid()
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(email) = email else { return Ok(false) };
    let act = Act {
        organization: Some(organization),
        action: "member.invitation_withdrawn",
        subject: email.unwrap_or_default(),
        ..Act::default()
    };
    audit::note(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(true)
}
