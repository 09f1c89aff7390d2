//! People who can sign in: their e-mail address and password.

use crate::DatabaseSession;
use domain::id::PersonId;
use domain::person::Email;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::Control;
use crate::Error;
use crate::Transaction;
use crate::control::audit_log::{self, Actor, AuditEvent};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub id: PersonId,
    pub name: String,
    pub email: String,
    pub is_operator: bool,
    pub is_active: bool,
    pub created_at: Timestamp,
}

/// A person to create.
#[derive(Debug, Clone)]
pub struct NewPerson {
    pub id: PersonId,
    pub name: String,
    pub email: Email,
    /// argon2id in its text form.
    pub password: Option<String>,
    pub is_operator: bool,
}

/// A person with the password hash. No `Debug`, so that the hash is never logged.
#[expect(missing_debug_implementations, reason = "it holds a password hash")]
pub struct PersonCredentials {
    pub person: Person,
    pub password: Option<String>,
}

/// Whether any person exists. On the first start there is none.
pub async fn any_exists(control: &Control) -> Result<bool, Error> {
    let any = sqlx::query_scalar!(r#"select exists (select from control.person) as "any!""#);
    Ok(any.fetch_one(&control.pool).await?)
}

/// Fails with a unique violation when the e-mail address is taken.
pub async fn create(
    control: &Control,
    person: &NewPerson,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    insert(&mut tx, person, by, now).await?;
    tx.commit().await?;
    Ok(())
}

pub(super) async fn insert(
    tx: &mut DatabaseSession,
    person: &NewPerson,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into control.person (id, name, email, folded, password, is_operator, created_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        person.id.uuid(),
        person.name,
        person.email.as_str(),
        person.email.normalized(),
        person.password,
        person.is_operator,
        now
    )
    .execute(&mut *tx)
    .await?;
    let act = AuditEvent {
        action: "person.created",
        subject: person.email.as_str().to_owned(),
        detail: if person.is_operator { "operator" } else { "" }.to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(tx, by, act, now).await
}

pub async fn find_credentials(
    control: &Control,
    email: &Email,
) -> Result<Option<PersonCredentials>, Error> {
    let row = sqlx::query!(
        "select id, name, email, is_operator, is_active, created_at, password
         from control.person where folded = $1",
        email.normalized()
    )
    .fetch_optional(&control.pool)
    .await?;
    Ok(row.map(|row| PersonCredentials {
        person: Person {
            id: row.id.into(),
            name: row.name,
            email: row.email,
            is_operator: row.is_operator,
            is_active: row.is_active,
            created_at: row.created_at,
        },
        password: row.password,
    }))
}

pub async fn find(control: &Control, id: PersonId) -> Result<Option<Person>, Error> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, email, is_operator, is_active, created_at
         from control.person where id = $1",
        id.uuid()
    )
    .fetch_optional(&control.pool)
    .await?;
    Ok(row.map(Person::from))
}

/// At most `limit` people, oldest first, after the given one.
pub async fn list(
    control: &Control,
    after: Option<PersonId>,
    limit: u32,
) -> Result<Vec<Person>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select id, name, email, is_operator, is_active, created_at
         from control.person where $1::uuid is null or id > $1 order by id limit $2",
        after.map(PersonId::uuid),
        i64::from(limit)
    );
    let rows = rows.fetch_all(&control.pool).await?;
    Ok(rows.into_iter().map(Person::from).collect())
}

/// Activates or deactivates a person. Deactivating ends their sessions.
pub async fn set_active(
    control: &Control,
    person: PersonId,
    is_active: bool,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Person>, Error> {
    let mut tx = control.pool.begin().await?;
    let row = sqlx::query_as!(
        Row,
        "with ended as (delete from control.session where person = $1 and not $2)
         update control.person set is_active = $2 where id = $1
         returning id, name, email, is_operator, is_active, created_at",
        person.uuid(),
        is_active
    );
    let row = row.fetch_optional(&mut *tx).await?;
    let action = if is_active {
        "person.activated"
    } else {
        "person.deactivated"
    };
    commit_change(tx, row, action, by, now).await
}

/// Grants or removes the operator role.
pub async fn set_operator(
    control: &Control,
    person: PersonId,
    is_operator: bool,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Person>, Error> {
    let mut tx = control.pool.begin().await?;
    let row = sqlx::query_as!(
        Row,
        "update control.person set is_operator = $2 where id = $1
         returning id, name, email, is_operator, is_active, created_at",
        person.uuid(),
        is_operator
    );
    let row = row.fetch_optional(&mut *tx).await?;
    let action = if is_operator {
        "person.operator_made"
    } else {
        "person.operator_unmade"
    };
    commit_change(tx, row, action, by, now).await
}

/// Appends the change to the audit log and commits. Without a row nothing was changed.
async fn commit_change(
    mut tx: Transaction,
    row: Option<Row>,
    action: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Person>, Error> {
    let Some(row) = row else { return Ok(None) };
    let act = AuditEvent {
        action,
        subject: row.email.clone(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(Some(row.into()))
}

/// Ends every session except `keep`, so that sessions opened with the old password end.
pub async fn set_password(
    control: &Control,
    person: PersonId,
    password: &str,
    keep: Option<&[u8]>,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "with ended as (
             delete from control.session where person = $1 and digest is distinct from $3
         )
         update control.person set password = $2 where id = $1",
        person.uuid(),
        password,
        keep
    )
    .execute(&mut *tx)
    .await?;
    let act = AuditEvent {
        action: "person.password_changed",
        subject: by.name.clone(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(())
}

pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) name: String,
    pub(super) email: String,
    pub(super) is_operator: bool,
    pub(super) is_active: bool,
    pub(super) created_at: Timestamp,
}

impl From<Row> for Person {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            name: row.name,
            email: row.email,
            is_operator: row.is_operator,
            is_active: row.is_active,
            created_at: row.created_at,
        }
    }
}
