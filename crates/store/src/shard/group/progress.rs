//! The progress of groups, as outcomes are stored: numbers, counts, sums and failures.

use std::collections::{BTreeMap, HashMap};

use domain::id::CargoId;
use domain::money::Money;
use domain::saving::Saving;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::number::signed;

/// The place of a cargo in its group, from its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupPlace {
    pub(crate) group: Uuid,
    pub(crate) position: i64,
}

impl From<(Uuid, i64)> for GroupPlace {
    fn from((group, position): (Uuid, i64)) -> Self {
        Self { group, position }
    }
}

/// How a cargo of a group ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberEnd<'a> {
    Succeeded,
    Failed { label: &'a str },
    Cancelled,
}

/// What an outcome adds to the sums of its group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemberAmounts {
    pub(crate) usage: TokenBuckets,
    /// What was held until now.
    pub(crate) held: Money,
    pub(crate) charged: Money,
    pub(crate) saving: Saving,
}

/// The outcomes of one group in one transaction.
#[derive(Debug, Default)]
struct EndedMembers {
    /// In the order of their numbers.
    members: Vec<(CargoId, i64)>,
    succeeded: i64,
    failed: i64,
    cancelled: i64,
    input_tokens: i64,
    output_tokens: i64,
    held: i64,
    charged: i64,
    realtime: i64,
    saved: i64,
    /// How often each failure occurred, with an example.
    failures: BTreeMap<String, (i64, CargoId)>,
}

/// The progress of all groups of one transaction.
#[derive(Debug, Default)]
pub(crate) struct GroupProgress {
    ended: BTreeMap<Uuid, EndedMembers>,
}

impl GroupProgress {
    pub(crate) fn add(
        &mut self,
        place: GroupPlace,
        cargo: CargoId,
        end: MemberEnd<'_>,
        amounts: MemberAmounts,
    ) {
        let group = self.ended.entry(place.group).or_default();
        group.members.push((cargo, place.position));
        match end {
            MemberEnd::Succeeded => group.succeeded += 1,
            MemberEnd::Failed { label } => {
                group.failed += 1;
                let failure = group.failures.entry(label.to_owned());
                failure.or_insert((0, cargo)).0 += 1;
            }
            MemberEnd::Cancelled => group.cancelled += 1,
        }
        group.input_tokens += signed(amounts.usage.input_total());
        group.output_tokens += signed(amounts.usage.output);
        group.held += amounts.held.nanos();
        group.charged += amounts.charged.nanos();
        group.realtime += amounts.saving.realtime.nanos();
        group.saved += amounts.saving.saved.nanos();
    }

    /// Runs after the settlement and the release of references: a transaction that has locked a
    /// group locks nothing else. The lock gives the results their numbers without a gap.
    /// A group that was deleted meanwhile is skipped.
    pub(crate) async fn write(self, tx: &mut Transaction, now: Timestamp) -> Result<(), Error> {
        if self.ended.is_empty() {
            return Ok(());
        }
        let groups: Vec<Uuid> = self.ended.keys().copied().collect();
        let rows = sqlx::query!(
            "select id, next_number from shard.cargo_group where id = any($1)
             order by id for no key update",
            &groups
        )
        .fetch_all(&mut **tx)
        .await?;
        let next: HashMap<Uuid, i64> = rows.iter().map(|row| (row.id, row.next_number)).collect();
        let mut columns = ProgressColumns::default();
        for (group, ended) in self.ended {
            if let Some(next) = next.get(&group) {
                columns.push(group, *next, ended);
            }
        }
        insert_results(tx, &columns).await?;
        update_groups(tx, &columns, now).await
    }
}

/// Results, failures and groups by column.
#[derive(Debug, Default)]
struct ProgressColumns {
    result_group: Vec<Uuid>,
    number: Vec<i64>,
    position: Vec<i64>,
    cargo: Vec<Uuid>,
    failure_group: Vec<Uuid>,
    label: Vec<String>,
    failure_count: Vec<i64>,
    example: Vec<Uuid>,
    group: Vec<Uuid>,
    next_number: Vec<i64>,
    succeeded: Vec<i64>,
    failed: Vec<i64>,
    cancelled: Vec<i64>,
    input_tokens: Vec<i64>,
    output_tokens: Vec<i64>,
    held: Vec<i64>,
    charged: Vec<i64>,
    realtime: Vec<i64>,
    saved: Vec<i64>,
}

impl ProgressColumns {
    fn push(&mut self, group: Uuid, first_number: i64, ended: EndedMembers) {
        let mut number = first_number;
        for (cargo, position) in ended.members {
            self.result_group.push(group);
            self.number.push(number);
            self.position.push(position);
            self.cargo.push(cargo.uuid());
            number += 1;
        }
        for (label, (count, example)) in ended.failures {
            self.failure_group.push(group);
            self.label.push(label);
            self.failure_count.push(count);
            self.example.push(example.uuid());
        }
        self.group.push(group);
        self.next_number.push(number);
        self.succeeded.push(ended.succeeded);
        self.failed.push(ended.failed);
        self.cancelled.push(ended.cancelled);
        self.input_tokens.push(ended.input_tokens);
        self.output_tokens.push(ended.output_tokens);
        self.held.push(ended.held);
        self.charged.push(ended.charged);
        self.realtime.push(ended.realtime);
        self.saved.push(ended.saved);
    }
}

async fn insert_results(tx: &mut Transaction, columns: &ProgressColumns) -> Result<(), Error> {
    sqlx::query!(
        "with numbered as (
             insert into shard.group_result (group_id, number, position, cargo)
             select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::uuid[])
         )
         insert into shard.group_failure as f (group_id, label, count, cargo)
         select * from unnest($5::uuid[], $6::text[], $7::bigint[], $8::uuid[])
         on conflict (group_id, label) do update
             set count = f.count + excluded.count",
        &columns.result_group,
        &columns.number,
        &columns.position,
        &columns.cargo,
        &columns.failure_group,
        &columns.label,
        &columns.failure_count,
        &columns.example
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A sealed group whose last cargo ended is completed, unless a batch was cancelled that has more
/// items for it. That is looked up only for a group that would be completed.
async fn update_groups(
    tx: &mut Transaction,
    columns: &ProgressColumns,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "update shard.cargo_group g set next_number = ended.next_number,
             succeeded = g.succeeded + ended.succeeded, failed = g.failed + ended.failed,
             cancelled = g.cancelled + ended.cancelled,
             input_tokens = g.input_tokens + ended.input_tokens,
             output_tokens = g.output_tokens + ended.output_tokens,
             held = g.held - ended.held, charged = g.charged + ended.charged,
             realtime = g.realtime + ended.realtime, saved = g.saved + ended.saved,
             completed_at = case
                 when g.sealed_at is not null and g.total = ended.succeeded + ended.failed
                     + ended.cancelled + g.succeeded + g.failed + g.cancelled
                     and not exists (select from shard.dropin_batch b
                         where b.group_id = g.id and b.unpacked_at is null)
                 then coalesce(g.completed_at, $12) else g.completed_at end
         from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
                 $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
                 $11::bigint[])
             as ended (id, next_number, succeeded, failed, cancelled, input_tokens,
                 output_tokens, held, charged, realtime, saved)
         where g.id = ended.id",
        &columns.group,
        &columns.next_number,
        &columns.succeeded,
        &columns.failed,
        &columns.cancelled,
        &columns.input_tokens,
        &columns.output_tokens,
        &columns.held,
        &columns.charged,
        &columns.realtime,
        &columns.saved,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
