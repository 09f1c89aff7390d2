//! Outcomes: stored once per cargo and attempt, together with the delivery that they
//! cause and the end of the hold and of the references.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::hold::Hold;
use domain::id::{BatchId, CargoId, KeyId, ProjectId};
use domain::model::Price;
use domain::money::Money;
use domain::outcome::Usage;
use domain::saving::Saving;
use domain::time::Timestamp;
use domain::trouble;
use domain::usage::{Counted, Event, Tally, Work};
use sqlx::types::Uuid;

use crate::Class;
use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::body;
use crate::body::Packed;
use crate::shard::file::reference::Ended;
use crate::shard::hold::HoldRow;
use crate::shard::node::Claim;
use crate::shard::outcome::rows::{Columns, insert};
use crate::shard::settlement::Books;
use crate::shard::trouble::{Kind, Troubles};
use crate::shard::usage;
use crate::shard::waiting::bounds;

mod rows;

/// A large group of outcomes may take so long to arrive at the server.
const LARGE_GROUP_IDLE: Duration = Duration::from_secs(4);

/// What came back for one cargo, as it lies in its rows.
#[derive(Debug, Clone)]
pub struct NewOutcome {
    pub cargo: CargoId,
    pub attempt: u32,
    pub success: bool,
    pub body: Packed,
    pub usage: Usage,
    /// What the model costs in realtime, if that is known.
    pub realtime: Option<Price>,
    /// Whether this node makes the first delivery attempt itself.
    pub claim_delivery: bool,
}

impl NewOutcome {
    /// The group of its error.
    fn group(&self) -> Result<String, Error> {
        let text = body::unpack(self.body.codec, self.body.bytes.clone(), "outcome")?;
        Ok(trouble::group(&String::from_utf8_lossy(&text)))
    }
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
    // Taken before the transaction: nobody waits for a turn with locks in hand.
    let _turn = shard.outcome_groups.take().await;
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
        let done = done.into_iter();
        completed.extend(done.map(|row| ((row.cargo, attempt, success), row)));
    }
    let mut tally = Tally::default();
    let mut books = Books::default();
    let mut references = Ended::default();
    let mut columns = Columns::default();
    let mut troubles = Troubles::default();
    let mut stored = Vec::with_capacity(completed.len());
    for outcome in outcomes {
        // Who has an outcome already keeps it, also against another one of this very group.
        let which = (outcome.cargo, outcome.attempt, outcome.success);
        let Some(row) = completed.remove(&which) else {
            continue;
        };
        stored.push(outcome.cargo);
        references.add(&row.files);
        let settlement = if outcome.success {
            row.hold.settle(outcome.usage)
        } else {
            row.hold.release()
        };
        let charged = (!row.hold.is_nothing()).then_some(settlement.charged);
        let saving = row.saving(&outcome, settlement.charged);
        let work = Work {
            usage: outcome.usage,
            charged: settlement.charged,
            saving: saving.unwrap_or_default(),
        };
        tally.count(row.counted(outcome.success), work);
        if charged.is_some() {
            let placed = (row.hold, row.loaded_at);
            books.end(row.organization, outcome.cargo, placed, settlement);
        }
        if !outcome.success {
            let (project, label) = (row.project.uuid(), outcome.group()?);
            troubles.add(project, outcome.cargo.uuid(), label);
        }
        let realtime = saving.map(|saving| saving.realtime);
        columns.push(outcome, (charged, realtime), row);
    }
    let is_large = tx.expect_bytes(columns.bytes(), LARGE_GROUP_IDLE).await?;
    insert(&mut tx, &columns, batch, claim, now).await?;
    if is_large {
        // Accounts are locked next: whoever freezes then must not hold them for long.
        tx.allow_idle(Class::Stage.idle_limit()).await?;
    }
    troubles.note(&mut tx, Kind::Failed).await?;
    usage::append(&mut tx, &tally, now).await?;
    books.post(&mut tx, now).await?;
    references.give_back(&mut tx).await?;
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

/// Holds the batch and, by key share, our node: the first callbacks are claimed for it too.
async fn guard(tx: &mut Transaction, batch: BatchId, claim: Claim) -> Result<(), Error> {
    sqlx::query_scalar!(
        "select b.id from shard.batch b join shard.node n on n.node = b.node and n.epoch = b.epoch
         where b.id = $1 and b.node = $2 and b.epoch = $3 and n.dead_at is null
         for no key update of b for key share of n",
        batch.uuid(),
        claim.node,
        claim.epoch
    )
    .fetch_optional(&mut **tx)
    .await?
    .map(|_| ())
    .ok_or(Error::Moved)
}

/// Only in the attempt that is meant: what waits in another one goes on waiting.
async fn leave_queue(tx: &mut Transaction, outcomes: &[NewOutcome]) -> Result<(), Error> {
    let (cargo, attempt): (Vec<Uuid>, Vec<i32>) = outcomes
        .iter()
        .map(|outcome| (outcome.cargo.uuid(), signed_attempt(outcome.attempt)))
        .unzip();
    let (first, last) = bounds(&cargo);
    sqlx::query!(
        "delete from shard.waiting w
         using unnest($1::uuid[], $2::int[]) as meant (cargo, attempt)
             join shard.cargo c on c.id = meant.cargo and c.attempt = meant.attempt
         where c.id >= $3 and c.id <= $4
             and w.lane = c.lane and w.organization = c.organization and w.cargo = c.id",
        &cargo,
        &attempt,
        first,
        last
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
    loaded_at: Timestamp,
    hold: Hold,
    /// Those that it names.
    files: Vec<Uuid>,
}

impl Completed {
    fn counted(&self, success: bool) -> Counted {
        Counted {
            project: self.project,
            key: self.key,
            model: self.model.clone(),
            event: if success {
                Event::Succeeded
            } else {
                Event::Failed
            },
        }
    }

    /// Only what was priced and succeeded can have saved anything.
    fn saving(&self, outcome: &NewOutcome, charged: Money) -> Option<Saving> {
        let compared = outcome.success && self.hold.price.is_some();
        let realtime = outcome.realtime.filter(|_| compared)?;
        Some(Saving::of(realtime, outcome.usage, charged))
    }
}

fn signed_attempt(attempt: u32) -> i32 {
    i32::try_from(attempt).unwrap_or(i32::MAX)
}

/// Once per cargo and attempt: a second answer finds nothing to change.
async fn complete(
    tx: &mut Transaction,
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
         returning id, organization, project, api_key, model, callback_host, created_at,
             held, price_input, price_output, reserved_tokens, files",
        now,
        success,
        cargo,
        first,
        last,
        batch,
        signed_attempt(attempt)
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
        loaded_at: row.created_at,
        hold: Hold::from(HoldRow {
            held: row.held,
            price_input: row.price_input,
            price_output: row.price_output,
            reserved_tokens: row.reserved_tokens,
        }),
        files: row.files.unwrap_or_default(),
    });
    Ok(completed.collect())
}
