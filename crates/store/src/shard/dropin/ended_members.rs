//! Items of a batch that end without a provider: those with a fault, and those that were cancelled
//! before they were loaded.
//!
//! Such an item becomes a cargo with a hold of zero and its outcome, in one transaction, so every
//! view shows it: its group, tracking, lists and the ledger. It is never in the queue for others.

use std::collections::HashSet;

use domain::group_digest::{custom_id_digest, load_digest};
use domain::hold::Hold;
use domain::id::{ApiKeyId, CargoId, GroupId};
use domain::lane::LaneId;
use domain::reason_code::CargoFailure;
use domain::response_shape::ResponseShape;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use serde_json::Value;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::body;
use crate::encryption::WriteKey;
use crate::number::signed;
use crate::shard::account;
use crate::shard::dropin::row::DropinBatch;
use crate::shard::group::member::{self, NewMember};
use crate::shard::load::{self, NewCargo};
use crate::shard::outcome::{NewOutcome, record_in};
use crate::shard::project_keys::write_keys;

/// Instead of an item that the database refuses.
const EMPTY_REQUEST: &[u8] = b"{}";

/// An item that has an outcome and no request to a provider.
#[derive(Debug, Clone)]
pub struct EndedMember {
    pub cargo: CargoId,
    pub position: u64,
    pub custom_id: String,
    /// Any lane: the cargo is never in its queue.
    pub lane: LaneId,
    /// Of the catalogue, or a fixed text: never one of the item, which PostgreSQL may refuse.
    pub model: String,
    /// The item as it came.
    pub request: Vec<u8>,
    /// The URL and its host.
    pub callback: Option<(String, String)>,
    pub failure: CargoFailure,
}

/// Stores these items of a batch. An item whose position or custom id is taken was stored before and
/// is skipped. The group may be sealed: items of a cancelled batch are stored as cancelled.
///
/// If the database refuses a row, its neighbours are stored without it, and it is stored without the
/// item as it came. So no item keeps its batch from its end.
pub async fn insert_ended(
    shard: &Shard,
    batch: &DropinBatch,
    members: Vec<EndedMember>,
    now: Timestamp,
) -> Result<(), Error> {
    let mut parts = vec![members];
    while let Some(mut part) = parts.pop() {
        match insert_part(shard, batch, &part, now).await {
            Ok(()) => {}
            Err(error) if !error.is_data_error() || error.is_missing_partition() => {
                return Err(error);
            }
            Err(_) if part.len() > 1 => {
                let rest = part.split_off(part.len() / 2);
                parts.push(rest);
                parts.push(part);
            }
            Err(_) => {
                for member in &mut part {
                    member.request = EMPTY_REQUEST.to_vec();
                }
                insert_part(shard, batch, &part, now).await?;
            }
        }
    }
    Ok(())
}

/// One transaction.
async fn insert_part(
    shard: &Shard,
    batch: &DropinBatch,
    members: &[EndedMember],
    now: Timestamp,
) -> Result<(), Error> {
    let (project, group) = (batch.project, batch.group);
    let values = (load::ENCRYPTED_VALUES + 1) * members.len() as u64;
    let keys = write_keys(shard, [(project, values)]).await?;
    let key = keys.find(project)?;
    // Acquired before the transaction, so that no task waits for a slot while it holds locks.
    let _turn = shard.outcome_group_slots.acquire().await;
    let mut tx = shard.begin().await?;
    // The order of locks is that of a load: account, then group.
    account::lock_all(&mut tx, &[batch.organization]).await?;
    if member::lock(&mut tx, &[(group, project)]).await?.is_empty() {
        // The retention or an erasure has deleted the group: no caller can read a result.
        return Ok(tx.rollback().await?);
    }
    let mut taken = find_taken(&mut tx, key, group, members).await?;
    let (mut loads, mut outcomes) = (Vec::new(), Vec::new());
    for item in members {
        let digest = key.stored_digest(&custom_id_digest(&item.custom_id));
        if taken.positions.contains(&item.position) || !taken.digests.insert(digest.clone()) {
            continue;
        }
        let member = NewMember {
            group,
            position: item.position,
            custom_id_digest: digest,
            // No load has this digest, so none is taken for a repeat of it.
            load_digest: key.stored_digest(&load_digest(Value::Null, None, None)),
        };
        outcomes.push(item.outcome(batch));
        loads.push(item.to_cargo(batch, member));
    }
    if loads.is_empty() {
        return Ok(tx.rollback().await?);
    }
    let queued: Vec<(i32, Uuid)> = loads.iter().map(|it| (it.lane.0, it.id.uuid())).collect();
    let count = loads.len();
    load::insert(&mut tx, loads, &keys, now).await?;
    remove_from_queue(&mut tx, batch, &queued).await?;
    let stored = record_in(&mut tx, &keys, None, None, outcomes, now).await?;
    if stored.len() != count {
        tx.rollback().await?;
        return Err(Error::Fenced);
    }
    Ok(tx.commit().await?)
}

/// What members of the group have already.
struct TakenPlaces {
    positions: HashSet<u64>,
    /// Of custom ids, as they are stored.
    digests: HashSet<Vec<u8>>,
}

async fn find_taken(
    tx: &mut Transaction,
    key: &WriteKey,
    group: GroupId,
    members: &[EndedMember],
) -> Result<TakenPlaces, Error> {
    let positions: Vec<i64> = members.iter().map(|it| signed(it.position)).collect();
    let digests = members.iter().map(|it| custom_id_digest(&it.custom_id));
    let digests: Vec<Vec<u8>> = digests.map(|it| key.stored_digest(&it)).collect();
    let groups = vec![group.uuid(); members.len()];
    let taken = member::find_taken_positions(tx, &groups, &positions).await?;
    let named = member::find_by_digests(tx, &groups, &digests).await?;
    Ok(TakenPlaces {
        positions: taken.into_iter().map(|(_, position)| position).collect(),
        digests: named.into_iter().map(|it| it.custom_id_digest).collect(),
    })
}

/// The rows are of this transaction, so no worker has seen them.
async fn remove_from_queue(
    tx: &mut Transaction,
    batch: &DropinBatch,
    queued: &[(i32, Uuid)],
) -> Result<(), Error> {
    let (lanes, cargo): (Vec<i32>, Vec<Uuid>) = queued.iter().copied().unzip();
    sqlx::query!(
        "delete from shard.waiting w
         using unnest($1::int[], $2::uuid[]) as meant (lane, cargo)
         where w.lane = meant.lane and w.organization = $3 and w.cargo = meant.cargo",
        &lanes,
        &cargo,
        batch.organization.uuid()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

impl EndedMember {
    fn outcome(&self, batch: &DropinBatch) -> NewOutcome {
        NewOutcome {
            cargo: self.cargo,
            project: batch.project,
            attempt: 1,
            success: false,
            failure_code: Some(self.failure.code),
            body: body::pack(self.failure.message.as_bytes()),
            usage: TokenBuckets::default(),
            cost: None,
            served: None,
            realtime: None,
            claim_delivery: false,
        }
    }

    fn to_cargo(&self, batch: &DropinBatch, member: NewMember) -> NewCargo {
        let key: ApiKeyId = batch.key;
        NewCargo {
            id: self.cargo,
            organization: batch.organization,
            project: batch.project,
            key,
            lane: self.lane,
            model: self.model.clone(),
            callback: self.callback.clone(),
            request: body::pack(&self.request),
            metadata: None,
            idempotency: None,
            hold: Hold::default(),
            spending_key: None,
            files: Vec::new(),
            response_shape: ResponseShape::default(),
            warnings: None,
            deadline_at: None,
            route_reason: None,
            trace: None,
            custom_id: Some(self.custom_id.clone()),
            member: Some(member),
        }
    }
}
