//! OIDC identities: under which issuer and subject a person signs in with single sign-on.

use domain::id::PersonId;
use domain::time::Timestamp;

use crate::Control;
use crate::DatabaseSession;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::person::{self, Person};
use crate::control::second_factor;

/// The person with this identity.
pub async fn find_person(
    control: &Control,
    issuer: &str,
    subject: &str,
) -> Result<Option<Person>, Error> {
    let row = sqlx::query_as!(
        person::Row,
        "select p.id, p.name, p.email, p.is_operator, p.is_active, p.created_at
         from control.identity i join control.person p on p.id = i.person
         where i.issuer = $1 and i.subject = $2",
        issuer,
        subject
    )
    .fetch_optional(&control.pool)
    .await?;
    Ok(row.map(Person::from))
}

/// Links an identity: the person can then also sign in with it.
///
/// The first identity proves who owns the address. Until then an inviter may have chosen the
/// password, so it is removed, with the second factor, and all sessions end.
pub async fn link(
    control: &Control,
    person: PersonId,
    issuer: &str,
    subject: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    let is_first = sqlx::query_scalar!(
        r#"select not exists (select from control.identity where person = $1) as "is_first!""#,
        person.uuid()
    )
    .fetch_one(&mut *tx)
    .await?;
    sqlx::query!(
        "insert into control.identity (issuer, subject, person, created_at)
         values ($1, $2, $3, $4)",
        issuer,
        subject,
        person.uuid(),
        now
    )
    .execute(&mut *tx)
    .await?;
    let has_removed = is_first && remove_unproven_credentials(&mut tx, person).await?;
    let act = AuditEvent {
        action: "person.identified",
        subject: by.name.clone(),
        detail: issuer.to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    if has_removed {
        let act = AuditEvent {
            action: "person.password_removed",
            subject: by.name.clone(),
            detail: "first single sign-on; all sessions ended".to_owned(),
            ..AuditEvent::default()
        };
        audit_log::append(&mut tx, by, act, now).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Removes the password and the second factor, and ends all sessions. False if there was neither.
async fn remove_unproven_credentials(
    tx: &mut DatabaseSession,
    person: PersonId,
) -> Result<bool, Error> {
    let removed = sqlx::query!(
        "with ended as (delete from control.session where person = $1)
         update control.person set password = null where id = $1 and password is not null",
        person.uuid()
    )
    .execute(&mut *tx)
    .await?;
    let has_removed_factor = second_factor::delete(tx, person).await?;
    Ok(removed.rows_affected() > 0 || has_removed_factor)
}
