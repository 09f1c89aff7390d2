//! Erases a person: everything that names them, and everything with which they sign in.

use domain::time::Timestamp;

use super::audit_names;
use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::person::{self, Person};
use crate::number::unsigned;

/// What control has of a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PersonRows {
    pub sessions: u64,
    pub identities: u64,
    pub memberships: u64,
    /// Invitations of the person's address, and password reset links.
    pub links: u64,
    pub audit_entries: u64,
}

pub async fn count_person(control: &Control, person: &Person) -> Result<PersonRows, Error> {
    let row = sqlx::query!(
        r#"select (select count(*) from control.session where person = $1) as "sessions!",
               (select count(*) from control.identity where person = $1) as "identities!",
               (select count(*) from control.member where person = $1) as "memberships!",
               (select count(*) from control.pass
                where person = $1 or lower(email) = lower($2)) as "links!",
               (select count(*) from control.audit
                where person = $1 or lower(who) = lower($2) or lower(subject) = lower($2))
                   as "audit_entries!""#,
        person.id.uuid(),
        person.email
    )
    .fetch_one(&control.pool)
    .await?;
    Ok(PersonRows {
        sessions: unsigned(row.sessions),
        identities: unsigned(row.identities),
        memberships: unsigned(row.memberships),
        links: unsigned(row.links),
        audit_entries: unsigned(row.audit_entries),
    })
}

/// Deletes a person. The row goes last, so that an interrupted erasure can be repeated.
pub async fn erase_person(
    control: &Control,
    person: &Person,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    // Ends the sessions, so that the person adds no entry meanwhile.
    person::set_active(control, person.id, false, by, now).await?;
    audit_names::erase_person(control, person.id, &person.email).await?;
    let id = person.id.uuid();
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "with sessions as (delete from control.session where person = $1),
             identities as (delete from control.identity where person = $1),
             codes as (delete from control.recovery_code where person = $1),
             secrets as (delete from control.totp where person = $1),
             challenges as (delete from control.factor_challenge where person = $1),
             members as (delete from control.member where person = $1),
             links as (
                 delete from control.pass where person = $1 or lower(email) = lower($2)
             )
         -- Invitations of others stay valid.
         update control.pass set made_by = null
         where made_by = $1 and person is distinct from $1
             and lower(email) is distinct from lower($2)",
        id,
        person.email
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!("delete from control.person where id = $1", id)
        .execute(&mut *tx)
        .await?;
    let act = AuditEvent {
        action: "person.erased",
        subject: person.id.to_string(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(())
}
