//! One-time links: for the setup of an installation, an invitation, or a password reset.

use crate::DatabaseSession;
use domain::api_key::SecretDigest;
use domain::id::{OneTimeLinkId, OrganizationId, PersonId};
use domain::person::Role;
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::member::{self, role_from_row};
use crate::control::person::{self, NewPerson};

/// What a link is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkPurpose {
    /// The person who redeems it becomes the first operator.
    Setup,
    Invitation {
        organization: OrganizationId,
        role: Role,
        email: String,
    },
    /// A new password for an existing person.
    PasswordReset { person: PersonId },
}

#[derive(Debug, Clone)]
pub struct OneTimeLink {
    pub id: OneTimeLinkId,
    pub purpose: LinkPurpose,
    pub created_by: Option<PersonId>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

pub async fn create(
    control: &Control,
    digest: SecretDigest,
    pass: &OneTimeLink,
    by: &Actor,
) -> Result<(), Error> {
    let (kind, organization, role, email, person) = match &pass.purpose {
        LinkPurpose::Setup => ("setup", None, None, None, None),
        LinkPurpose::Invitation {
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
        LinkPurpose::PasswordReset { person } => ("reset", None, None, None, Some(*person)),
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
        pass.created_by.map(PersonId::uuid),
        pass.created_at,
        pass.expires_at
    )
    .execute(&mut *tx)
    .await?;
    // No other job deletes expired links.
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
    let act = AuditEvent {
        organization,
        action: match pass.purpose {
            LinkPurpose::Setup => "setup.offered",
            LinkPurpose::Invitation { .. } => "member.invited",
            LinkPurpose::PasswordReset { .. } => "person.reset_offered",
        },
        subject: email.map(str::to_owned).or(whose).unwrap_or_default(),
        detail: role.unwrap_or_default().to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, pass.created_at).await?;
    tx.commit().await?;
    Ok(())
}

/// A link that is neither used nor expired.
pub async fn find(
    control: &Control,
    digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<OneTimeLink>, Error> {
    let mut connection = control.pool.acquire().await?;
    lock_unused(&mut connection, digest, now).await
}

async fn lock_unused(
    connection: &mut DatabaseSession,
    digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<OneTimeLink>, Error> {
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
        ("setup", _, _, _) => LinkPurpose::Setup,
        ("invitation", Some(organization), Some(role), _) => LinkPurpose::Invitation {
            organization: organization.into(),
            role: role_from_row(&role)?,
            email: row.email.unwrap_or_default(),
        },
        ("reset", _, _, Some(person)) => LinkPurpose::PasswordReset {
            person: person.into(),
        },
        _ => return Err(corrupt),
    };
    Ok(Some(OneTimeLink {
        id: row.id.into(),
        purpose,
        created_by: row.made_by.map(PersonId::from),
        created_at: row.created_at,
        expires_at: row.expires_at,
    }))
}

/// The result of redeeming a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkRedemption {
    Redeemed(LinkPurpose),
    Invalid,
}

/// Creates the first operator. Invalid as soon as any person exists.
pub async fn redeem_setup(
    control: &Control,
    digest: SecretDigest,
    first: &NewPerson,
    by: &Actor,
    now: Timestamp,
) -> Result<LinkRedemption, Error> {
    let mut tx = control.pool.begin().await?;
    // Each node that started may have issued a link. Only one of them may succeed.
    sqlx::query!("lock table control.person in share row exclusive mode")
        .execute(&mut *tx)
        .await?;
    let is_setup = mark_used(&mut tx, digest, now).await? == Some(LinkPurpose::Setup);
    let any = sqlx::query_scalar!(r#"select exists (select from control.person) as "any!""#)
        .fetch_one(&mut *tx)
        .await?;
    if !is_setup || any {
        return Ok(LinkRedemption::Invalid);
    }
    person::insert(&mut tx, first, by, now).await?;
    tx.commit().await?;
    Ok(LinkRedemption::Redeemed(LinkPurpose::Setup))
}

/// Redeems an invitation: adds a new or an existing person to the organization.
pub async fn redeem_invitation(
    control: &Control,
    digest: SecretDigest,
    who: Invitee<'_>,
    by: &Actor,
    now: Timestamp,
) -> Result<LinkRedemption, Error> {
    let mut tx = control.pool.begin().await?;
    let Some(purpose) = mark_used(&mut tx, digest, now).await? else {
        return Ok(LinkRedemption::Invalid);
    };
    let LinkPurpose::Invitation {
        organization, role, ..
    } = &purpose
    else {
        return Ok(LinkRedemption::Invalid);
    };
    let id = match who {
        Invitee::New(person) => {
            person::insert(&mut tx, person, by, now).await?;
            person.id
        }
        Invitee::Existing(person) => person,
    };
    member::insert(&mut tx, *organization, id, *role, by, now).await?;
    tx.commit().await?;
    Ok(LinkRedemption::Redeemed(purpose))
}

/// The person who redeems an invitation.
#[derive(Debug, Clone, Copy)]
pub enum Invitee<'a> {
    New(&'a NewPerson),
    Existing(PersonId),
}

/// Marks a link as used. The caller then does what it was for.
pub async fn redeem(
    control: &Control,
    digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<LinkPurpose>, Error> {
    let mut tx = control.pool.begin().await?;
    let purpose = mark_used(&mut tx, digest, now).await?;
    tx.commit().await?;
    Ok(purpose)
}

async fn mark_used(
    tx: &mut DatabaseSession,
    digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<LinkPurpose>, Error> {
    let found = lock_unused(tx, digest, now).await?;
    sqlx::query!(
        "update control.pass set used_at = $2 where digest = $1",
        digest.0.as_slice(),
        now
    )
    .execute(tx)
    .await?;
    Ok(found.map(|pass| pass.purpose))
}

/// Invitations of an organization that are neither used nor expired, newest first.
pub async fn list_invitations(
    control: &Control,
    organization: OrganizationId,
    now: Timestamp,
) -> Result<Vec<(OneTimeLinkId, String, Role, Timestamp)>, Error> {
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

/// Deletes an invitation that was not redeemed. Returns whether there was one.
pub async fn withdraw_invitation(
    control: &Control,
    organization: OrganizationId,
    id: OneTimeLinkId,
    by: &Actor,
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
    let act = AuditEvent {
        organization: Some(organization),
        action: "member.invitation_withdrawn",
        subject: email.unwrap_or_default(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(true)
}
