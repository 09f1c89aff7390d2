//! Sessions: a cookie's digest, whose it is, and until when. A row that is gone has ended.

use chrono::TimeDelta;
use domain::api_key::Digest;
use domain::id::{PersonId, SessionId};
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::audit::{self, Act, Author};
use crate::control::person::Person;

/// Without a request for so long, a session ends.
pub const IDLE: TimeDelta = TimeDelta::days(7);
/// Seldom enough that reading a page writes nothing.
const TOUCH: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug, Clone)]
pub struct Session {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    pub address: String,
    pub agent: String,
}

/// A session about to begin.
#[derive(Debug)]
pub struct NewSession<'a> {
    pub digest: Digest,
    pub id: SessionId,
    pub person: PersonId,
    pub address: &'a str,
    pub agent: &'a str,
}

pub async fn begin(
    control: &Control,
    new: &NewSession<'_>,
    by: &Author,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "insert into control.session
             (digest, id, person, created_at, seen_at, expires_at, address, agent)
         values ($1, $2, $3, $4, $4, $5, $6, $7)",
        new.digest.0.as_slice(),
        new.id.uuid(),
        new.person.uuid(),
        now,
        now + IDLE,
        new.address,
        new.agent
    )
    .execute(&mut *tx)
    .await?;
    // Nobody else looks for what has run out.
    sqlx::query!("delete from control.session where expires_at < $1", now)
        .execute(&mut *tx)
        .await?;
    let act = Act {
        action: "session.begun",
        subject: by.who.clone(),
        ..Act::default()
    };
    audit::note(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(())
}

/// Whose session this is, unless it has ended or they were shut out.
pub async fn find(
    control: &Control,
    digest: Digest,
    now: Timestamp,
) -> Result<Option<(SessionId, Person)>, Error> {
    let row = sqlx::query!(
        "select s.id as session, s.seen_at, p.id, p.name, p.email, p.is_operator, p.is_active,
             p.created_at
         from control.session s join control.person p on p.id = s.person
         where s.digest = $1 and s.expires_at > $2 and p.is_active",
        digest.0.as_slice(),
        now
    )
    .fetch_optional(&control.pool)
    .await?;
    let Some(row) = row else { return Ok(None) };
    if row.seen_at + TOUCH <= now {
        sqlx::query!(
            "update control.session set seen_at = $2, expires_at = $3
             where digest = $1 and seen_at < $2",
            digest.0.as_slice(),
            now,
            now + IDLE
        )
        .execute(&control.pool)
        .await?;
    }
    let person = Person {
        id: row.id.into(),
        name: row.name,
        email: row.email,
        is_operator: row.is_operator,
        is_active: row.is_active,
        created_at: row.created_at,
    };
    Ok(Some((row.session.into(), person)))
}

/// A person's sessions, newest first.
pub async fn list(
    control: &Control,
    person: PersonId,
    now: Timestamp,
) -> Result<Vec<Session>, Error> {
    let rows = sqlx::query!(
        "select id, created_at, seen_at, address, agent from control.session
         where person = $1 and expires_at > $2 order by created_at desc limit 100",
        person.uuid(),
        now
    )
    .fetch_all(&control.pool)
    .await?;
    let found = rows.into_iter().map(|row| Session {
        id: row.id.into(),
        created_at: row.created_at,
        seen_at: row.seen_at,
        address: row.address,
        agent: row.agent,
    });
    Ok(found.collect())
}

/// Ends one of a person's sessions, or all of them.
pub async fn end(
    control: &Control,
    person: PersonId,
    which: Option<SessionId>,
    by: &Author,
    now: Timestamp,
) -> Result<u64, Error> {
    let mut tx = control.pool.begin().await?;
    let ended = sqlx::query!(
        "delete from control.session where person = $1 and ($2::uuid is null or id = $2)",
        person.uuid(),
        which.map(SessionId::uuid)
    )
    .execute(&mut *tx)
    .await?
    .rows_affected();
    let act = Act {
        action: "session.ended",
        subject: by.who.clone(),
        detail: if which.is_none() { "all" } else { "" }.to_owned(),
        ..Act::default()
    };
    audit::note(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(ended)
}
