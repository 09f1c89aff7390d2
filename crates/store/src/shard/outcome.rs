//! Outcomes: stored once per cargo and attempt, together with the delivery that they cause.

use domain::id::{BatchId, CargoId, KeyId, ProjectId};
use domain::outcome::Usage;
use domain::time::Timestamp;
use domain::usage::{Counted, Event, Tally};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::body::Packed;
use crate::shard::node::Claim;
use crate::shard::usage;
use crate::shard::waiting::bounds;

/// What came back for one cargo, as it lies in its rows.
#[derive(Debug, Clone)]
pub struct NewOutcome {
    pub cargo: CargoId,
    pub attempt: u32,
    pub success: bool,
    pub body: Packed,
    pub usage: Usage,
    /// Whether this node makes the first delivery attempt itself.
    pub claim_delivery: bool,
}

/// Where the cargo must stand for an outcome to be taken.
#[derive(Debug, Clone, Copy)]
pub enum Standing {
    /// In a batch that this claim holds.
    InBatch(BatchId),
    /// Waiting: nobody has gathered it.
    Waiting,
}

/// Stores outcomes; what has one already, or stands elsewhere, is passed over.
///
/// Returns the cargo whose outcome was stored.
pub async fn record(
    shard: &Shard,
    standing: Standing,
    claim: Claim,
    outcomes: Vec<NewOutcome>,
    now: Timestamp,
) -> Result<Vec<CargoId>, Error> {
    let mut tx = shard.begin().await?;
    let batch = match standing {
        Standing::InBatch(batch) => {
            guard(&mut tx, batch, claim).await?;
            Some(batch.uuid())
        }
        Standing::Waiting => {
            leave_queue(&mut tx, &outcomes).await?;
            None
        }
    };
    let stored = write(&mut tx, batch, claim, outcomes, now).await?;
    let mut tally = Tally::default();
    for row in &stored {
        tally.count(row.counted(), row.usage);
    }
    usage::append(&mut tx, &tally, now).await?;
    tx.commit().await?;
    Ok(stored.into_iter().map(|row| row.cargo).collect())
}

async fn guard(tx: &mut Transaction<'_>, batch: BatchId, claim: Claim) -> Result<(), Error> {
    sqlx::query_scalar!(
        "select id from shard.batch where id = $1 and node = $2 and epoch = $3 for no key update",
        batch.uuid(),
        claim.node,
        claim.epoch
    )
    .fetch_optional(&mut **tx)
    .await?
    .map(|_| ())
    .ok_or(Error::Moved)
}

async fn leave_queue(tx: &mut Transaction<'_>, outcomes: &[NewOutcome]) -> Result<(), Error> {
    let cargo: Vec<Uuid> = outcomes
        .iter()
        .map(|outcome| outcome.cargo.uuid())
        .collect();
    sqlx::query!(
        "delete from shard.waiting w using shard.cargo c
         where c.id = any($1) and w.lane = c.lane and w.organization = c.organization
             and w.cargo = c.id",
        &cargo
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

struct Stored {
    cargo: CargoId,
    project: ProjectId,
    key: KeyId,
    model: String,
    success: bool,
    usage: Usage,
}

impl Stored {
    fn counted(&self) -> Counted {
        let event = if self.success {
            Event::Succeeded
        } else {
            Event::Failed
        };
        Counted {
            project: self.project,
            key: self.key,
            model: self.model.clone(),
            event,
        }
    }
}

async fn write(
    tx: &mut Transaction<'_>,
    batch: Option<Uuid>,
    claim: Claim,
    outcomes: Vec<NewOutcome>,
    now: Timestamp,
) -> Result<Vec<Stored>, Error> {
    let columns = Columns::of(outcomes);
    let (first, last) = bounds(&columns.cargo);
    let rows = sqlx::query!(
        r#"with came as materialized (
               select * from unnest($1::uuid[], $2::int[], $3::bool[], $4::int2[], $5::bytea[],
                   $6::bigint[], $7::bigint[], $8::bool[])
               as came (cargo, attempt, success, codec, body, input_tokens, output_tokens, claimed)
           ), done as (
               update shard.cargo c set completed_at = $9, success = came.success
               from came
               -- Once per cargo and attempt: a second answer finds nothing to change.
               where c.id = came.cargo and c.attempt = came.attempt and c.completed_at is null
                   and c.batch is not distinct from $10
                   and c.id >= $11 and c.id <= $12
               returning c.id, c.organization, c.project, c.api_key, c.model, c.callback_host,
                   c.success, came.codec, came.body, came.input_tokens, came.output_tokens, came.claimed
           ), stored as (
               insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens)
               select id, success, codec, body, input_tokens, output_tokens from done
           ), due as (
               insert into shard.delivery (cargo, organization, host, due_at, node, epoch)
               select id, organization, callback_host, $9,
                   case when claimed then $13::uuid end, case when claimed then $14::int end
               from done where callback_host is not null
           )
           select id as "id!", project as "project!",
               api_key as "api_key!", model as "model!", success as "success!",
               input_tokens as "input_tokens!", output_tokens as "output_tokens!"
           from done"#,
        &columns.cargo,
        &columns.attempt,
        &columns.success,
        &columns.codec,
        &columns.body,
        &columns.input_tokens,
        &columns.output_tokens,
        &columns.claimed,
        now,
        batch,
        first,
        last,
        claim.node,
        claim.epoch
    )
    .fetch_all(&mut **tx)
    .await?;
    let unsigned = |count: i64| u64::try_from(count).unwrap_or_default();
    let stored = rows.into_iter().map(|row| Stored {
        cargo: row.id.into(),
        project: row.project.into(),
        key: row.api_key.into(),
        model: row.model,
        success: row.success,
        usage: Usage {
            input_tokens: unsigned(row.input_tokens),
            output_tokens: unsigned(row.output_tokens),
        },
    });
    Ok(stored.collect())
}

#[derive(Default)]
struct Columns {
    cargo: Vec<Uuid>,
    attempt: Vec<i32>,
    success: Vec<bool>,
    codec: Vec<i16>,
    body: Vec<Vec<u8>>,
    input_tokens: Vec<i64>,
    output_tokens: Vec<i64>,
    claimed: Vec<bool>,
}

impl Columns {
    fn of(outcomes: Vec<NewOutcome>) -> Self {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut columns = Self::default();
        for outcome in outcomes {
            columns.cargo.push(outcome.cargo.uuid());
            columns
                .attempt
                .push(i32::try_from(outcome.attempt).unwrap_or(i32::MAX));
            columns.success.push(outcome.success);
            columns.codec.push(outcome.body.codec);
            columns.body.push(outcome.body.bytes);
            columns
                .input_tokens
                .push(signed(outcome.usage.input_tokens));
            columns
                .output_tokens
                .push(signed(outcome.usage.output_tokens));
            columns.claimed.push(outcome.claim_delivery);
        }
        columns
    }
}
