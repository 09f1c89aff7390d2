//! Lanes: made when first needed, gathered by one worker at a time.

use domain::lane::{Lane, LaneId};
use domain::model::Kind;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::node::Claim;

/// The row of a lane, made if need be.
pub async fn ensure(shard: &Shard, lane: &Lane) -> Result<LaneId, Error> {
    sqlx::query!(
        "insert into shard.lane (provider, model, kind) values ($1, $2, $3)
         on conflict do nothing",
        lane.provider,
        lane.model,
        lane.kind.as_str()
    )
    .execute(&shard.pool)
    .await?;
    let id = sqlx::query_scalar!(
        "select id from shard.lane where provider = $1 and model = $2 and kind = $3",
        lane.provider,
        lane.model,
        lane.kind.as_str()
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(LaneId(id))
}

pub async fn find(shard: &Shard, id: LaneId) -> Result<Lane, Error> {
    let row = sqlx::query!(
        "select provider, model, kind from shard.lane where id = $1",
        id.0
    )
    .fetch_one(&shard.pool)
    .await?;
    let kind = Kind::parse(&row.kind).ok_or(Error::Corrupt {
        table: "lane",
        column: "kind",
    })?;
    Ok(Lane {
        provider: row.provider,
        model: row.model,
        kind,
    })
}

/// Takes every lane that nobody gathers; returns all that this claim holds.
pub async fn claim_free(shard: &Shard, claim: Claim) -> Result<Vec<LaneId>, Error> {
    let free = sqlx::query_scalar!("select count(*) from shard.lane where node is null");
    // Looking costs nothing; an update would take a transaction each time.
    if free.fetch_one(&shard.pool).await? != Some(0) {
        sqlx::query!(
            "update shard.lane set node = $1, epoch = $2
             where id in (select id from shard.lane where node is null for update skip locked)",
            claim.node,
            claim.epoch
        )
        .execute(&shard.pool)
        .await?;
    }
    let held = sqlx::query_scalar!(
        "select id from shard.lane where node = $1 and epoch = $2",
        claim.node,
        claim.epoch
    );
    Ok(held
        .fetch_all(&shard.pool)
        .await?
        .into_iter()
        .map(LaneId)
        .collect())
}

/// Holds the lane to the end of the transaction, if it is still ours.
pub async fn guard(tx: &mut Transaction<'_>, lane: LaneId, claim: Claim) -> Result<(), Error> {
    sqlx::query_scalar!(
        "select id from shard.lane where id = $1 and node = $2 and epoch = $3 for update",
        lane.0,
        claim.node,
        claim.epoch
    )
    .fetch_optional(&mut **tx)
    .await?
    .map(|_| ())
    .ok_or(Error::Moved)
}
