//! The page of one cargo: what tracking does not contain. The request, its key, its batch, and
//! every callback attempt.

use domain::id::{ApiKeyId, BatchId, CargoId, ProjectId};
use domain::money::Money;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, KeyRequest, ValueIdentity};
use crate::shard::project_keys::read_keys;

#[derive(Debug)]
pub struct CargoDetail {
    pub key: ApiKeyId,
    pub batch: Option<BatchId>,
    pub provider: String,
    pub callback_host: Option<String>,
    /// Per million tokens, when it was loaded.
    pub price_input: Option<Money>,
    pub price_output: Option<Money>,
    pub batch_ended_at: Option<Timestamp>,
    pub returned_at: Option<Timestamp>,
    pub callback_ended_at: Option<Timestamp>,
    /// The number of the next callback attempt.
    pub next_attempt_number: Option<u32>,
    /// A person requested the next attempt.
    pub is_resend: bool,
    pub input: Vec<u8>,
}

/// A callback attempt in the log.
#[derive(Debug)]
pub struct LoggedAttempt {
    pub number: u32,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub status: Option<u16>,
    pub error: Option<String>,
    /// The beginning of the receiver's answer. Empty if there was none, or if it was erased.
    pub answer: Vec<u8>,
    /// A person or a caller requested it.
    pub is_resend: bool,
}

pub async fn find_detail(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
) -> Result<Option<CargoDetail>, Error> {
    let row = sqlx::query!(
        r#"select c.api_key, c.batch, l.provider, c.callback_host, c.price_input, c.price_output,
               b.ended_at as "batch_ended_at?", c.returned_at, c.callback_ended_at,
               d.number as "number?", d.resend as "resend?", r.codec, r.body
           from shard.cargo c
           join shard.lane l on l.id = c.lane
           join shard.request r on r.cargo = $1
           left join shard.batch b on b.id = c.batch
           left join shard.delivery d on d.cargo = $1
           where c.id = $1 and c.project = $2"#,
        cargo.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let mut request = KeyRequest::default();
    let body = PackedBody {
        codec: row.codec,
        bytes: row.body,
    };
    body.add_key(project, &mut request);
    let keys = read_keys(shard, &request).await?;
    let identity = ValueIdentity {
        project,
        row: cargo.uuid(),
        kind: ContentKind::Request,
    };
    Ok(Some(CargoDetail {
        key: row.api_key.into(),
        batch: row.batch.map(BatchId::from),
        provider: row.provider,
        callback_host: row.callback_host,
        price_input: row.price_input.map(Money),
        price_output: row.price_output.map(Money),
        batch_ended_at: row.batch_ended_at,
        returned_at: row.returned_at,
        callback_ended_at: row.callback_ended_at,
        next_attempt_number: row.number.and_then(|number| u32::try_from(number).ok()),
        is_resend: row.resend.unwrap_or_default(),
        input: body.decrypt(&keys, identity)?.unpack("request")?,
    }))
}

/// The next attempt of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextAttempt {
    /// None if no attempt is due.
    pub due_at: Option<Timestamp>,
}

/// The next attempt for a cargo, if it belongs to the project.
pub async fn find_next_attempt(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
) -> Result<Option<NextAttempt>, Error> {
    let row = sqlx::query!(
        r#"select d.due_at as "due_at?"
           from shard.cargo c left join shard.delivery d on d.cargo = $1
           where c.id = $1 and c.project = $2"#,
        cargo.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    Ok(row.map(|row| NextAttempt { due_at: row.due_at }))
}

/// The last `most` attempts, oldest first. The caller has checked that the cargo belongs to the
/// project.
pub async fn list_attempts(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
    most: u32,
) -> Result<Vec<LoggedAttempt>, Error> {
    let rows = sqlx::query!(
        "select number, started_at, ended_at, status, error, answer, encrypted, resend
         from shard.attempt where cargo = $1 order by number desc limit $2",
        cargo.uuid(),
        i64::from(most)
    )
    .fetch_all(&shard.reads)
    .await?;
    let mut request = KeyRequest::default();
    for row in rows.iter().filter(|row| row.encrypted) {
        request.add(project, row.answer.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    let identity = ValueIdentity {
        project,
        row: cargo.uuid(),
        kind: ContentKind::CallbackAnswer,
    };
    let attempts = rows.into_iter().rev().map(|row| {
        let answer = match row.answer {
            Some(answer) if row.encrypted => keys.decrypt(identity, answer)?,
            plain => plain.unwrap_or_default(),
        };
        Ok(LoggedAttempt {
            number: u32::try_from(row.number).unwrap_or_default(),
            started_at: row.started_at,
            ended_at: row.ended_at,
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            error: row.error,
            answer,
            is_resend: row.resend,
        })
    });
    attempts.collect()
}
