//! Outcomes: stored once per cargo and attempt, together with the delivery that they cause.

use std::collections::{BTreeMap, HashMap};

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
    let mut completed = HashMap::with_capacity(outcomes.len());
    for ((attempt, success), cargo) in alike(&outcomes) {
        let done = complete(&mut tx, batch, attempt, success, &cargo, now).await?;
        completed.extend(done.into_iter().map(|row| (row.cargo, row)));
    }
    let mut tally = Tally::default();
    let mut columns = Columns::default();
    let mut stored = Vec::with_capacity(completed.len());
    for outcome in outcomes {
        // Who has an outcome already keeps it.
        let Some(row) = completed.remove(&outcome.cargo) else {
            continue;
        };
        let event = if outcome.success {
            Event::Succeeded
        } else {
            Event::Failed
        };
        let (project, key) = (row.project, row.key);
        tally.count(
            Counted {
                project,
                key,
                model: row.model,
                event,
            },
            outcome.usage,
        );
        stored.push(outcome.cargo);
        columns.push(outcome, row.organization, row.host);
    }
    insert(&mut tx, &columns, claim, now).await?;
    usage::append(&mut tx, &tally, now).await?;
    tx.commit().await?;
    Ok(stored)
}

/// Cargo of the same attempt and success change in one statement.
fn alike(outcomes: &[NewOutcome]) -> BTreeMap<(u32, bool), Vec<Uuid>> {
    let mut alike: BTreeMap<_, Vec<Uuid>> = BTreeMap::new();
    for outcome in outcomes {
        let kind = (outcome.attempt, outcome.success);
        alike.entry(kind).or_default().push(outcome.cargo.uuid());
    }
    alike
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

/// A cargo that has just got its outcome.
struct Completed {
    cargo: CargoId,
    organization: Uuid,
    project: ProjectId,
    key: KeyId,
    model: String,
    host: Option<String>,
}

/// Once per cargo and attempt: a second answer finds nothing to change.
async fn complete(
    tx: &mut Transaction<'_>,
    batch: Option<Uuid>,
    attempt: u32,
    success: bool,
    cargo: &[Uuid],
    now: Timestamp,
) -> Result<Vec<Completed>, Error> {
    let (first, last) = bounds(cargo);
    let rows = sqlx::query!(
        "update shard.cargo set completed_at = $1, success = $2
         where id = any($3) and id >= $4 and id <= $5
             and batch is not distinct from $6 and attempt = $7 and completed_at is null
         returning id, organization, project, api_key, model, callback_host",
        now,
        success,
        cargo,
        first,
        last,
        batch,
        i32::try_from(attempt).unwrap_or(i32::MAX)
    )
    .fetch_all(&mut **tx)
    .await?;
    let completed = rows.into_iter().map(|row| Completed {
        cargo: row.id.into(),
        organization: row.organization,
        project: row.project.into(),
        key: row.api_key.into(),
        model: row.model,
        host: row.callback_host,
    });
    Ok(completed.collect())
}

async fn insert(
    tx: &mut Transaction<'_>,
    columns: &Columns,
    claim: Claim,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        r#"with stored as (
               insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens)
               select * from unnest($1::uuid[], $2::bool[], $3::int2[], $4::bytea[],
                   $5::bigint[], $6::bigint[])
           )
           insert into shard.delivery (cargo, organization, host, due_at, node, epoch)
           select cargo, organization, host, $11,
               case when claimed then $12::uuid end, case when claimed then $13::int end
           from unnest($7::uuid[], $8::uuid[], $9::text[], $10::bool[])
               as due (cargo, organization, host, claimed)"#,
        &columns.cargo,
        &columns.success,
        &columns.codec,
        &columns.body,
        &columns.input_tokens,
        &columns.output_tokens,
        &columns.due.cargo,
        &columns.due.organization,
        &columns.due.host,
        &columns.due.claimed,
        now,
        claim.node,
        claim.epoch
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

#[derive(Default)]
struct Columns {
    cargo: Vec<Uuid>,
    success: Vec<bool>,
    codec: Vec<i16>,
    body: Vec<Vec<u8>>,
    input_tokens: Vec<i64>,
    output_tokens: Vec<i64>,
    due: Due,
}

/// The deliveries among them.
#[derive(Default)]
struct Due {
    cargo: Vec<Uuid>,
    organization: Vec<Uuid>,
    host: Vec<String>,
    claimed: Vec<bool>,
}

impl Columns {
    fn push(&mut self, outcome: NewOutcome, organization: Uuid, host: Option<String>) {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.cargo.push(outcome.cargo.uuid());
        self.success.push(outcome.success);
        self.codec.push(outcome.body.codec);
        self.body.push(outcome.body.bytes);
        self.input_tokens.push(signed(outcome.usage.input_tokens));
        self.output_tokens.push(signed(outcome.usage.output_tokens));
        if let Some(host) = host {
            self.due.cargo.push(outcome.cargo.uuid());
            self.due.organization.push(organization);
            self.due.host.push(host);
            self.due.claimed.push(outcome.claim_delivery);
        }
    }
}
