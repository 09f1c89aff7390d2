//! Login sessions: the digest of a cookie, its person and its expiry. Ending one deletes its row.

use chrono::TimeDelta;
use domain::api_key::SecretDigest;
use domain::id::{PersonId, SessionId};
use domain::time::Timestamp;

use crate::Control;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::person::Person;

/// A session without a request for this long ends.
pub const SESSION_IDLE_TIMEOUT: TimeDelta = TimeDelta::days(7);
/// At most one write per session in this time, so most page views write nothing.
const TOUCH_INTERVAL: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug, Clone)]
pub struct LoginSession {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    pub address: String,
    pub agent: String,
}

/// A session that has not ended.
#[derive(Debug, Clone)]
pub struct OpenSession {
    pub id: SessionId,
    pub person: Person,
    /// When the person last entered a password or a code.
    pub proved_at: Timestamp,
    pub has_second_factor: bool,
}

/// A session to create.
#[derive(Debug)]
pub struct NewLoginSession<'a> {
    pub digest: SecretDigest,
    pub id: SessionId,
    pub person: PersonId,
    pub address: &'a str,
    pub agent: &'a str,
    /// It ends this long after its start, however often it is used.
    pub lifetime: TimeDelta,
    pub has_second_factor: bool,
    /// When the person entered a password or a code, here or at the identity provider.
    pub proved_at: Timestamp,
}

pub async fn begin(
    control: &Control,
    new: &NewLoginSession<'_>,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "insert into control.session
             (digest, id, person, created_at, seen_at, proved_at, expires_at, address, agent,
              has_second_factor)
         values ($1, $2, $3, $4, $4, $9, $5, $6, $7, $8)",
        new.digest.0.as_slice(),
        new.id.uuid(),
        new.person.uuid(),
        now,
        now + SESSION_IDLE_TIMEOUT.min(new.lifetime),
        new.address,
        new.agent,
        new.has_second_factor,
        new.proved_at
    )
    .execute(&mut *tx)
    .await?;
    // No other job deletes expired sessions.
    sqlx::query!("delete from control.session where expires_at < $1", now)
        .execute(&mut *tx)
        .await?;
    let act = AuditEvent {
        action: "session.begun",
        subject: by.name.clone(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(())
}

/// The session and its person, unless the session has ended or the person is deactivated.
pub async fn find(
    control: &Control,
    digest: SecretDigest,
    lifetime: TimeDelta,
    now: Timestamp,
) -> Result<Option<OpenSession>, Error> {
    let row = sqlx::query!(
        r#"select s.id as session, s.seen_at, s.created_at as begun_at, s.has_second_factor,
               coalesce(s.proved_at, s.created_at) as "proved_at!",
               p.id, p.name, p.email, p.is_operator, p.is_active, p.created_at
           from control.session s join control.person p on p.id = s.person
           where s.digest = $1 and s.expires_at > $2 and s.created_at > $3 and p.is_active"#,
        digest.0.as_slice(),
        now,
        // A lifetime that was shortened since the start of the session holds for it too.
        now - lifetime
    )
    .fetch_optional(&control.pool)
    .await?;
    let Some(row) = row else { return Ok(None) };
    if row.seen_at + TOUCH_INTERVAL <= now {
        sqlx::query!(
            "update control.session set seen_at = $2, expires_at = $3
             where digest = $1 and seen_at < $2",
            digest.0.as_slice(),
            now,
            (now + SESSION_IDLE_TIMEOUT).min(row.begun_at + lifetime)
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
    Ok(Some(OpenSession {
        id: row.session.into(),
        person,
        proved_at: row.proved_at,
        has_second_factor: row.has_second_factor,
    }))
}

/// Records that the person of this session entered the password or a code again.
pub async fn prove(
    control: &Control,
    digest: SecretDigest,
    has_second_factor: bool,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tx = control.pool.begin().await?;
    sqlx::query!(
        "update control.session
         set proved_at = $2, has_second_factor = has_second_factor or $3
         where digest = $1",
        digest.0.as_slice(),
        now,
        has_second_factor
    )
    .execute(&mut *tx)
    .await?;
    let act = AuditEvent {
        action: "session.confirmed",
        subject: by.name.clone(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(())
}

/// A person's sessions, newest first.
pub async fn list(
    control: &Control,
    person: PersonId,
    now: Timestamp,
) -> Result<Vec<LoginSession>, Error> {
    let rows = sqlx::query!(
        "select id, created_at, seen_at, address, agent from control.session
         where person = $1 and expires_at > $2 order by created_at desc limit 100",
        person.uuid(),
        now
    )
    .fetch_all(&control.pool)
    .await?;
    let found = rows.into_iter().map(|row| LoginSession {
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
    by: &Actor,
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
    let act = AuditEvent {
        action: "session.ended",
        subject: by.name.clone(),
        detail: if which.is_none() { "all" } else { "" }.to_owned(),
        ..AuditEvent::default()
    };
    audit_log::append(&mut tx, by, act, now).await?;
    tx.commit().await?;
    Ok(ended)
}
