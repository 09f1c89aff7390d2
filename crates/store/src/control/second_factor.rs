//! Second factors: the TOTP secret of a person, recovery codes, and sign-ins that wait for a code.

use chrono::TimeDelta;
use domain::api_key::SecretDigest;
use domain::id::PersonId;
use domain::time::Timestamp;

use crate::Control;
use crate::DatabaseSession;
use crate::Error;
use crate::control::audit_log::{self, Actor, AuditEvent};
use crate::control::person::{self, Person};

/// How long a person may take to enter the code after the password.
pub const CHALLENGE_LIFETIME: TimeDelta = TimeDelta::minutes(10);

/// The TOTP secret of a person. No `Debug`, so that the secret is never logged.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct TotpEnrolment {
    /// As it is stored: encrypted, or the secret itself if the installation has no signing root.
    pub secret: Vec<u8>,
    /// Whether the person has entered a first code. Until then it protects nothing.
    pub is_confirmed: bool,
    /// The time step of the last code that was accepted.
    pub last_step: i64,
    pub recovery_codes: i64,
}

pub async fn find(control: &Control, person: PersonId) -> Result<Option<TotpEnrolment>, Error> {
    let row = sqlx::query!(
        r#"select secret, confirmed_at, last_step,
               (select count(*) from control.recovery_code where person = $1) as "codes!"
           from control.totp where person = $1"#,
        person.uuid()
    )
    .fetch_optional(&control.pool)
    .await?;
    Ok(row.map(|row| TotpEnrolment {
        secret: row.secret,
        is_confirmed: row.confirmed_at.is_some(),
        last_step: row.last_step,
        recovery_codes: row.codes,
    }))
}

/// Stores a secret that the person has not confirmed. A confirmed one is never replaced.
pub async fn start_enrolment(
    control: &Control,
    person: PersonId,
    secret: &[u8],
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into control.totp as t (person, secret, created_at) values ($1, $2, $3)
         on conflict (person) do update set secret = $2, created_at = $3
         where t.confirmed_at is null",
        person.uuid(),
        secret,
        now
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}

/// The secret of every person, as it is stored.
pub async fn list_secrets(control: &Control) -> Result<Vec<(PersonId, Vec<u8>)>, Error> {
    let rows = sqlx::query!("select person, secret from control.totp")
        .fetch_all(&control.pool)
        .await?;
    let secrets = rows.into_iter().map(|row| (row.person.into(), row.secret));
    Ok(secrets.collect())
}

/// Replaces a secret that is encrypted in another way, unless it has changed meanwhile.
pub async fn replace_secret(
    control: &Control,
    person: PersonId,
    old: &[u8],
    new: &[u8],
) -> Result<(), Error> {
    sqlx::query!(
        "update control.totp set secret = $3 where person = $1 and secret = $2",
        person.uuid(),
        old,
        new
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}

/// Turns the second factor on, with new recovery codes. False if it is on already.
pub async fn confirm(
    control: &Control,
    person: PersonId,
    step: i64,
    recovery_codes: &[SecretDigest],
    by: &Actor,
    now: Timestamp,
) -> Result<bool, Error> {
    let mut tx = control.pool.begin().await?;
    let confirmed = sqlx::query!(
        "update control.totp set confirmed_at = $2, last_step = $3
         where person = $1 and confirmed_at is null",
        person.uuid(),
        now,
        step
    )
    .execute(&mut *tx)
    .await?;
    if confirmed.rows_affected() == 0 {
        return Ok(false);
    }
    let digests: Vec<Vec<u8>> = recovery_codes.iter().map(|code| code.0.to_vec()).collect();
    sqlx::query!(
        "insert into control.recovery_code (person, digest) select $1, unnest($2::bytea[])",
        person.uuid(),
        &digests
    )
    .execute(&mut *tx)
    .await?;
    append(&mut tx, "person.second_factor_added", by, now).await?;
    tx.commit().await?;
    Ok(true)
}

/// Marks the code of a time step as used. False if it, or a later one, was used before.
pub async fn use_step(control: &Control, person: PersonId, step: i64) -> Result<bool, Error> {
    let used = sqlx::query!(
        "update control.totp set last_step = $2
         where person = $1 and confirmed_at is not null and last_step < $2",
        person.uuid(),
        step
    )
    .execute(&control.pool)
    .await?;
    Ok(used.rows_affected() == 1)
}

/// Deletes a recovery code. False if the person has no such code.
pub async fn use_recovery_code(
    control: &Control,
    person: PersonId,
    code: SecretDigest,
    by: &Actor,
    now: Timestamp,
) -> Result<bool, Error> {
    let mut tx = control.pool.begin().await?;
    let used = sqlx::query!(
        "delete from control.recovery_code where person = $1 and digest = $2",
        person.uuid(),
        code.0.as_slice()
    )
    .execute(&mut *tx)
    .await?;
    if used.rows_affected() == 0 {
        return Ok(false);
    }
    append(&mut tx, "person.recovery_code_used", by, now).await?;
    tx.commit().await?;
    Ok(true)
}

/// Turns the second factor of a person off. False if it was not on.
pub async fn remove(
    control: &Control,
    person: PersonId,
    by: &Actor,
    now: Timestamp,
) -> Result<bool, Error> {
    let mut tx = control.pool.begin().await?;
    let removed = delete(&mut tx, person).await?;
    if removed {
        append(&mut tx, "person.second_factor_removed", by, now).await?;
    }
    tx.commit().await?;
    Ok(removed)
}

pub(super) async fn delete(tx: &mut DatabaseSession, person: PersonId) -> Result<bool, Error> {
    let deleted = sqlx::query!(
        "with codes as (delete from control.recovery_code where person = $1)
         delete from control.totp where person = $1",
        person.uuid()
    )
    .execute(tx)
    .await?;
    Ok(deleted.rows_affected() == 1)
}

async fn append(
    tx: &mut DatabaseSession,
    action: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<(), Error> {
    let act = AuditEvent {
        action,
        subject: by.name.clone(),
        ..AuditEvent::default()
    };
    audit_log::append(tx, by, act, now).await
}

/// Remembers that the password of this person was correct, and deletes expired challenges.
pub async fn begin_challenge(
    control: &Control,
    digest: SecretDigest,
    person: PersonId,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "with expired as (delete from control.factor_challenge where expires_at < $4)
         insert into control.factor_challenge (digest, person, expires_at) values ($1, $2, $3)",
        digest.0.as_slice(),
        person.uuid(),
        now + CHALLENGE_LIFETIME,
        now
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}

pub async fn find_challenge(
    control: &Control,
    digest: SecretDigest,
    now: Timestamp,
) -> Result<Option<Person>, Error> {
    let row = sqlx::query_as!(
        person::Row,
        "select p.id, p.name, p.email, p.is_operator, p.is_active, p.created_at
         from control.factor_challenge c join control.person p on p.id = c.person
         where c.digest = $1 and c.expires_at > $2 and p.is_active",
        digest.0.as_slice(),
        now
    )
    .fetch_optional(&control.pool)
    .await?;
    Ok(row.map(Person::from))
}

pub async fn end_challenge(control: &Control, digest: SecretDigest) -> Result<(), Error> {
    sqlx::query!(
        "delete from control.factor_challenge where digest = $1",
        digest.0.as_slice()
    )
    .execute(&control.pool)
    .await?;
    Ok(())
}
