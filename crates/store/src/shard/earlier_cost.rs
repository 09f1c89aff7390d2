//! What providers bill us for attempts that gave no outcome. The cargo keeps the sum until its
//! outcome includes it.

use domain::id::{BatchId, CargoId};
use domain::money::Money;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::node::Claim;
use crate::shard::waiting::id_bounds;

/// An attempt without an outcome, and what it cost us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BilledAttempt {
    pub cargo: CargoId,
    pub cost: Money,
}

/// Records attempts whose answers cannot be read again, such as those of realtime requests.
pub async fn add(
    shard: &Shard,
    batch: BatchId,
    claim: Claim,
    billed: &[BilledAttempt],
) -> Result<(), Error> {
    if billed.is_empty() {
        return Ok(());
    }
    let mut tx = shard.begin().await?;
    sqlx::query_scalar!(
        "select id from shard.batch where id = $1 and node = $2 and epoch = $3 for no key update",
        batch.uuid(),
        claim.node,
        claim.epoch
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or(Error::Fenced)?;
    add_to_open(&mut tx, batch, billed).await?;
    tx.commit().await?;
    Ok(())
}

/// Cargo that has an outcome or left the batch is unchanged.
pub(crate) async fn add_to_open(
    tx: &mut Transaction,
    batch: BatchId,
    billed: &[BilledAttempt],
) -> Result<(), Error> {
    if billed.is_empty() {
        return Ok(());
    }
    let (cargo, cost): (Vec<Uuid>, Vec<i64>) = billed
        .iter()
        .map(|attempt| (attempt.cargo.uuid(), attempt.cost.nanos()))
        .unzip();
    let (first, last) = id_bounds(&cargo);
    sqlx::query!(
        "update shard.cargo c set earlier_cost = coalesce(c.earlier_cost, 0) + billed.cost
         from unnest($1::uuid[], $2::bigint[]) as billed (cargo, cost)
         where c.id = billed.cargo and c.id >= $3 and c.id <= $4
             and c.batch = $5 and c.completed_at is null",
        &cargo,
        &cost,
        first,
        last,
        batch.uuid()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
