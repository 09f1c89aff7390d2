//! Cargo that a transaction completes: its hold is settled and its usage counted.

use domain::hold::{Hold, Settlement};
use domain::id::{ApiKeyId, CargoId, ProjectId};
use domain::money::Money;
use domain::saving::Saving;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use domain::usage::{UsageAmounts, UsageEvent, UsageKey};
use sqlx::types::Uuid;

use super::NewOutcome;
use crate::Error;
use crate::Transaction;
use crate::shard::group::progress::{GroupPlace, MemberAmounts};
use crate::shard::hold::HoldRow;
use crate::shard::settlement::EndedHold;
use crate::shard::waiting::id_bounds;

/// A cargo that this transaction has completed.
pub(super) struct CompletedCargo {
    pub(super) cargo: CargoId,
    pub(super) organization: Uuid,
    pub(super) project: ProjectId,
    pub(super) key: ApiKeyId,
    pub(super) model: String,
    pub(super) host: Option<String>,
    pub(super) loaded_at: Timestamp,
    pub(super) hold: Hold,
    pub(super) spending_key: Option<ApiKeyId>,
    /// What providers billed us for earlier attempts.
    pub(super) earlier_cost: Option<Money>,
    /// The files that it references.
    pub(super) files: Vec<Uuid>,
    /// Its place in its group.
    pub(super) place: Option<GroupPlace>,
}

impl CompletedCargo {
    pub(super) fn usage_key(&self, event: UsageEvent) -> UsageKey {
        UsageKey {
            project: self.project,
            key: self.key,
            model: self.model.clone(),
            event,
        }
    }

    pub(super) fn ended_hold(&self, settlement: Settlement) -> EndedHold {
        EndedHold {
            cargo: self.cargo,
            hold: self.hold,
            settlement,
            placed_at: self.loaded_at,
            spending_key: self.spending_key,
        }
    }

    /// Ends the hold: what the caller pays, and what the outcome cost us.
    pub(super) fn settle(&self, outcome: &NewOutcome) -> (Settlement, OutcomePrice) {
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

#[derive(Debug, Clone, Copy)]
pub(super) struct OutcomePrice {
    pub(super) charged: Option<Money>,
    /// What the same request would have cost in realtime.
    pub(super) realtime: Option<Money>,
    /// What providers billed us for it, earlier attempts included.
    pub(super) cost: Option<Money>,
}

pub(super) fn usage_amounts(usage: TokenBuckets, price: OutcomePrice) -> UsageAmounts {
    let charged = price.charged.unwrap_or_default();
    let saving = price.realtime.map(|it| Saving::between(it, charged));
    UsageAmounts {
        usage,
        charged,
        cost: price.cost.unwrap_or_default(),
        saving: saving.unwrap_or_default(),
    }
}

pub(super) fn member_amounts(hold: &Hold, work: &UsageAmounts) -> MemberAmounts {
    MemberAmounts {
        usage: work.usage,
        held: hold.amount,
        charged: work.charged,
        saving: work.saving,
    }
}

pub(super) fn signed_attempt(attempt: u32) -> i32 {
    i32::try_from(attempt).unwrap_or(i32::MAX)
}

/// Completes cargo once per attempt: a second outcome changes nothing.
pub(super) async fn complete(
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
             earlier_cost, files, group_id, group_position",
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
            place: row.group_id.zip(row.group_position).map(GroupPlace::from),
        })
    });
    completed.collect()
}
