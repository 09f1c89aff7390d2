//! Outcomes: stored once per cargo and attempt. The same transaction queues the delivery, settles
//! the hold and releases the file references.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::failure_label;
use domain::hold::{Hold, Settlement};
use domain::id::{ApiKeyId, BatchId, CargoId, ProjectId};
use domain::money::Money;
use domain::price::Price;
use domain::reason_code::FailureCode;
use domain::route::InferenceMode;
use domain::saving::Saving;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use domain::usage::{UsageAmounts, UsageEvent, UsageKey, UsageTally};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::WorkloadClass;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, ValueIdentity, WriteKey, WriteKeys};
use crate::shard::failure_index::{FailureKind, NewFailures};
use crate::shard::file::reference::EndedReferences;
use crate::shard::hold::HoldRow;
use crate::shard::node::Claim;
use crate::shard::outcome::rows::{OutcomeColumns, OutcomePrice, insert};
use crate::shard::project_keys::write_keys;
use crate::shard::settlement::{EndedHold, SettlementGroup};
use crate::shard::usage;
use crate::shard::waiting::id_bounds;

mod rows;

/// How long a large group of outcomes may take to arrive at the server.
const LARGE_GROUP_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// The label of a failure without a code.
const NO_CODE_LABEL: &str = "failed";

/// The outcome of one cargo, before it is encrypted.
#[derive(Debug, Clone)]
pub struct NewOutcome {
    pub cargo: CargoId,
    pub project: ProjectId,
    pub attempt: u32,
    pub success: bool,
    /// Of a failure.
    pub failure_code: Option<FailureCode>,
    pub body: PackedBody,
    pub usage: TokenBuckets,
    /// What the provider bills us for this attempt, if the price is known.
    pub cost: Option<Money>,
    /// The way by which the provider served the request.
    pub served: Option<InferenceMode>,
    /// The model's realtime price, if it is known.
    pub realtime: Option<Price>,
    /// Whether this node makes the first delivery attempt itself.
    pub claim_delivery: bool,
}

impl NewOutcome {
    /// The label under which its error is grouped. With encryption it is the code: a text may
    /// repeat the request, and labels are not encrypted.
    fn error_group(&self, key: &WriteKey) -> Result<String, Error> {
        if !key.is_plain() {
            let code = self.failure_code.map_or(NO_CODE_LABEL, FailureCode::as_str);
            return Ok(code.to_owned());
        }
        let text = self.body.clone().unpack("outcome")?;
        Ok(failure_label::failure_label(&String::from_utf8_lossy(
            &text,
        )))
    }

    fn encrypt(mut self, key: &WriteKey) -> Result<Self, Error> {
        let identity = ValueIdentity {
            project: self.project,
            row: self.cargo.uuid(),
            kind: ContentKind::Outcome,
        };
        self.body = self.body.encrypt(key, identity)?;
        Ok(self)
    }
}

/// The keys of all projects of a group, before its transaction begins.
async fn prepare_keys(shard: &Shard, outcomes: &[NewOutcome]) -> Result<WriteKeys, Error> {
    let keys = write_keys(shard, outcomes.iter().map(|it| (it.project, 1))).await?;
    for outcome in outcomes {
        keys.find(outcome.project)?;
    }
    Ok(keys)
}

/// The state that cargo must be in for its outcome to be stored.
#[derive(Debug, Clone, Copy)]
pub enum ExpectedCargoState {
    /// In a batch that this claim holds.
    InBatch(BatchId),
    /// Waiting to be gathered.
    Waiting,
}

/// Stores outcomes. Cargo that has one already, or is in another state, is skipped.
///
/// Returns the cargo whose outcome was stored.
pub async fn record(
    shard: &Shard,
    expected: ExpectedCargoState,
    claim: Claim,
    outcomes: Vec<NewOutcome>,
    now: Timestamp,
) -> Result<Vec<CargoId>, Error> {
    let keys = prepare_keys(shard, &outcomes).await?;
    // Acquired before the transaction, so that no task waits for a slot while it holds locks.
    let _turn = shard.outcome_group_slots.acquire().await;
    let mut tx = shard.begin().await?;
    let batch = match expected {
        ExpectedCargoState::InBatch(batch) => {
            lock_batch(&mut tx, batch, claim).await?;
            Some(batch.uuid())
        }
        ExpectedCargoState::Waiting => {
            remove_from_queue(&mut tx, &outcomes).await?;
            None
        }
    };
    let mut completed = HashMap::with_capacity(outcomes.len());
    for ((attempt, success), cargo) in group_by_attempt(&outcomes) {
        let done = complete(&mut tx, batch, attempt, success, &cargo, now).await?;
        let done = done.into_iter();
        completed.extend(done.map(|row| ((row.cargo, attempt, success), row)));
    }
    let mut tally = UsageTally::default();
    let mut books = SettlementGroup::default();
    let mut references = EndedReferences::default();
    let mut columns = OutcomeColumns::default();
    let mut failures = NewFailures::default();
    let mut stored = Vec::with_capacity(completed.len());
    for outcome in outcomes {
        // The first outcome of a cargo counts, also within this group.
        let which = (outcome.cargo, outcome.attempt, outcome.success);
        let Some(row) = completed.remove(&which) else {
            continue;
        };
        stored.push(outcome.cargo);
        references.add(&row.files);
        let (settlement, price) = row.settle(&outcome);
        let work = usage_amounts(outcome.usage, price);
        tally.count(row.usage_key(outcome.success), work);
        if price.charged.is_some() {
            books.add(row.organization, row.ended_hold(settlement));
        }
        let key = keys.find(outcome.project)?;
        if !outcome.success {
            let (project, label) = (row.project.uuid(), outcome.error_group(key)?);
            failures.add(project, outcome.cargo.uuid(), label);
        }
        columns.push(outcome.encrypt(key)?, price, row);
    }
    let is_large = tx
        .expect_statement_bytes(columns.bytes(), LARGE_GROUP_IDLE_TIMEOUT)
        .await?;
    insert(&mut tx, &columns, batch, claim, now).await?;
    if is_large {
        // Accounts are locked next: a process that freezes then must not hold them for long.
        tx.allow_idle(WorkloadClass::Stage.idle_limit()).await?;
    }
    failures.insert(&mut tx, FailureKind::Failed).await?;
    usage::append(&mut tx, &tally, now).await?;
    books.post(&mut tx, now).await?;
    references.release(&mut tx).await?;
    tx.commit().await?;
    Ok(stored)
}

/// Cargo with the same attempt and success is updated in one statement.
fn group_by_attempt(outcomes: &[NewOutcome]) -> BTreeMap<(u32, bool), Vec<Uuid>> {
    let mut alike: BTreeMap<_, Vec<Uuid>> = BTreeMap::new();
    for outcome in outcomes {
        let kind = (outcome.attempt, outcome.success);
        alike.entry(kind).or_default().push(outcome.cargo.uuid());
    }
    alike
}

/// Locks the batch and, `for key share`, this node, which also claims the first callbacks.
async fn lock_batch(tx: &mut Transaction, batch: BatchId, claim: Claim) -> Result<(), Error> {
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
    .ok_or(Error::Fenced)
}

/// Removes cargo from the queue. Cargo in another attempt than its outcome keeps waiting.
async fn remove_from_queue(tx: &mut Transaction, outcomes: &[NewOutcome]) -> Result<(), Error> {
    let (cargo, attempt): (Vec<Uuid>, Vec<i32>) = outcomes
        .iter()
        .map(|outcome| (outcome.cargo.uuid(), signed_attempt(outcome.attempt)))
        .unzip();
    let (first, last) = id_bounds(&cargo);
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

/// A cargo that this transaction has completed.
struct CompletedCargo {
    cargo: CargoId,
    organization: Uuid,
    project: ProjectId,
    key: ApiKeyId,
    model: String,
    host: Option<String>,
    loaded_at: Timestamp,
    hold: Hold,
    spending_key: Option<ApiKeyId>,
    /// What providers billed us for earlier attempts.
    earlier_cost: Option<Money>,
    /// The files that it references.
    files: Vec<Uuid>,
}

impl CompletedCargo {
    fn usage_key(&self, success: bool) -> UsageKey {
        UsageKey {
            project: self.project,
            key: self.key,
            model: self.model.clone(),
            event: if success {
                UsageEvent::Succeeded
            } else {
                UsageEvent::Failed
            },
        }
    }

    fn ended_hold(&self, settlement: Settlement) -> EndedHold {
        EndedHold {
            cargo: self.cargo,
            hold: self.hold,
            settlement,
            placed_at: self.loaded_at,
            spending_key: self.spending_key,
        }
    }

    /// Ends the hold: what the caller pays, and what the outcome cost us.
    fn settle(&self, outcome: &NewOutcome) -> (Settlement, OutcomePrice) {
        let settlement = if outcome.success {
            self.hold.settle(outcome.usage)
        } else {
            self.hold.release()
        };
        // Compared only if it succeeded and was priced.
        let is_compared = outcome.success && self.hold.price.is_some();
        let realtime = outcome.realtime.filter(|_| is_compared);
        // A provider may bill us for earlier attempts and for a failure, too.
        let costs = [outcome.cost, self.earlier_cost];
        let price = OutcomePrice {
            charged: (!self.hold.is_empty()).then_some(settlement.charged),
            realtime: realtime.map(|price| price.rounded_cost(outcome.usage)),
            cost: costs.into_iter().flatten().reduce(|sum, cost| sum + cost),
        };
        (settlement, price)
    }
}

fn usage_amounts(usage: TokenBuckets, price: OutcomePrice) -> UsageAmounts {
    let charged = price.charged.unwrap_or_default();
    let saving = price.realtime.map(|it| Saving::between(it, charged));
    UsageAmounts {
        usage,
        charged,
        cost: price.cost.unwrap_or_default(),
        saving: saving.unwrap_or_default(),
    }
}

fn signed_attempt(attempt: u32) -> i32 {
    i32::try_from(attempt).unwrap_or(i32::MAX)
}

/// Completes cargo once per attempt: a second outcome changes nothing.
async fn complete(
    tx: &mut Transaction,
    batch: Option<Uuid>,
    attempt: u32,
    success: bool,
    cargo: &[Uuid],
    now: Timestamp,
) -> Result<Vec<CompletedCargo>, Error> {
    let (first, last) = id_bounds(cargo);
    let rows = sqlx::query!(
        "update shard.cargo set completed_at = $1, success = $2
         where id = any($3) and id >= $4 and id <= $5
             and batch is not distinct from $6 and attempt = $7 and completed_at is null
         returning id, organization, project, api_key, model, callback_host, created_at,
             held, price_input, price_output, price_buckets, reserved_tokens, spending_key,
             earlier_cost, files",
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
    let completed = rows.into_iter().map(|row| {
        let hold = HoldRow {
            held: row.held,
            price_input: row.price_input,
            price_output: row.price_output,
            price_buckets: row.price_buckets,
            reserved_tokens: row.reserved_tokens,
        };
        Ok(CompletedCargo {
            cargo: row.id.into(),
            organization: row.organization,
            project: row.project.into(),
            key: row.api_key.into(),
            model: row.model,
            host: row.callback_host,
            loaded_at: row.created_at,
            hold: Hold::try_from(hold)?,
            spending_key: row.spending_key.map(Into::into),
            earlier_cost: row.earlier_cost.map(Money),
            files: row.files.unwrap_or_default(),
        })
    });
    completed.collect()
}
