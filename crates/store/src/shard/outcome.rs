//! Outcomes: stored once per cargo and attempt. The same transaction queues the delivery, settles
//! the hold, releases the file references, counts the progress of groups and wakes waiting requests.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::failure_label;
use domain::id::{BatchId, CargoId, ProjectId};
use domain::money::Money;
use domain::price::Price;
use domain::reason_code::FailureCode;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use domain::usage::{UsageEvent, UsageTally};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::WorkloadClass;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, ValueIdentity, WriteKey, WriteKeys};
use crate::shard::failure_index::{FailureKind, NewFailures};
use crate::shard::feed::NewFeedEntry;
use crate::shard::file::reference::EndedReferences;
use crate::shard::group::progress::{GroupProgress, MemberEnd};
use crate::shard::node::Claim;
use crate::shard::outcome::completed::{complete, member_amounts, signed_attempt, usage_amounts};
use crate::shard::outcome::rows::{OutcomeColumns, insert};
use crate::shard::project_keys::write_keys;
use crate::shard::settlement::SettlementGroup;
use crate::shard::usage;
use crate::shard::waiting::id_bounds;

mod completed;

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

    fn member_end<'a>(&self, label: Option<&'a str>) -> MemberEnd<'a> {
        match label {
            None => MemberEnd::Succeeded,
            Some(_) if self.failure_code == Some(FailureCode::Cancelled) => MemberEnd::Cancelled,
            Some(label) => MemberEnd::Failed { label },
        }
    }

    fn usage_event(&self) -> UsageEvent {
        if self.success {
            UsageEvent::Succeeded
        } else if self.failure_code == Some(FailureCode::Cancelled) {
            UsageEvent::Cancelled
        } else {
            UsageEvent::Failed
        }
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
pub(crate) async fn prepare_keys(
    shard: &Shard,
    outcomes: &[NewOutcome],
) -> Result<WriteKeys, Error> {
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
    let stored = record_in(&mut tx, &keys, batch, Some(claim), outcomes, now).await?;
    tx.commit().await?;
    Ok(stored)
}

/// Stores outcomes in a transaction that has locked the batch of the cargo, or has removed the
/// cargo from the queue. It locks cargo before accounts, so a transaction calls it once, last.
///
/// Without a claim, deliver finds the callbacks.
pub(crate) async fn record_in(
    tx: &mut Transaction,
    keys: &WriteKeys,
    batch: Option<Uuid>,
    claim: Option<Claim>,
    outcomes: Vec<NewOutcome>,
    now: Timestamp,
) -> Result<Vec<CargoId>, Error> {
    let mut completed = HashMap::with_capacity(outcomes.len());
    for ((attempt, success), cargo) in group_by_attempt(&outcomes) {
        let done = complete(tx, batch, attempt, success, &cargo, now).await?;
        let done = done.into_iter();
        completed.extend(done.map(|row| ((row.cargo, attempt, success), row)));
    }
    let mut tally = UsageTally::default();
    let mut books = SettlementGroup::default();
    let mut references = EndedReferences::default();
    let mut columns = OutcomeColumns::default();
    let mut failures = NewFailures::default();
    let mut feed = NewFeedEntry::default();
    let mut groups = GroupProgress::default();
    let mut stored = Vec::with_capacity(completed.len());
    for outcome in outcomes {
        // The first outcome of a cargo counts, also within this group.
        let which = (outcome.cargo, outcome.attempt, outcome.success);
        let Some(row) = completed.remove(&which) else {
            continue;
        };
        stored.push(outcome.cargo);
        feed.add(outcome.cargo.uuid(), row.place.map(|place| place.group));
        references.add(&row.files);
        let (settlement, price) = row.settle(&outcome);
        let work = usage_amounts(outcome.usage, price);
        tally.count(row.usage_key(outcome.usage_event()), work);
        if price.charged.is_some() {
            books.add(row.organization, row.ended_hold(settlement));
        }
        let key = keys.find(outcome.project)?;
        let label = (!outcome.success).then(|| outcome.error_group(key));
        let label = label.transpose()?;
        if let Some(place) = row.place {
            let end = outcome.member_end(label.as_deref());
            groups.add(place, outcome.cargo, end, member_amounts(&row.hold, &work));
        }
        if let Some(label) = label {
            failures.add(row.project.uuid(), outcome.cargo.uuid(), label);
        }
        columns.push(outcome.encrypt(key)?, price, row);
    }
    let is_large = tx
        .expect_statement_bytes(columns.bytes(), LARGE_GROUP_IDLE_TIMEOUT)
        .await?;
    insert(tx, &columns, batch, claim, now).await?;
    if is_large {
        // Accounts are locked next: a process that freezes then must not hold them for long.
        tx.allow_idle(WorkloadClass::Stage.idle_limit()).await?;
    }
    failures.insert(tx, FailureKind::Failed).await?;
    usage::append(tx, &tally, &stored, now).await?;
    books.post(tx, now).await?;
    references.release(tx).await?;
    // The last locks: the order is account, files, group.
    groups.write(tx, now).await?;
    // After all waits for locks: readers find an entry for two seconds after its time.
    feed.append(tx).await?;
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
