//! Outcomes as arrays of columns: stored in one statement with their deliveries and with the
//! counts of the batch shares.

use std::collections::BTreeMap;

use domain::money::Money;
use domain::reason_code::FailureCode;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use sqlx::types::Uuid;

use super::NewOutcome;
use super::completed::{CompletedCargo, OutcomePrice};
use crate::Error;
use crate::Transaction;
use crate::number::signed;
use crate::shard::node::Claim;

pub(super) async fn insert(
    tx: &mut Transaction,
    columns: &OutcomeColumns,
    batch: Option<Uuid>,
    claim: Option<Claim>,
    now: Timestamp,
) -> Result<(), Error> {
    let shares = ShareColumns::of(&columns.ended);
    sqlx::query!(
        r#"with stored as (
               insert into shard.outcome
                   (cargo, success, codec, body, input_tokens, output_tokens, charged, realtime,
                    failure_code, cached_tokens, cache_write_tokens, cache_write_1h_tokens,
                    thinking_tokens, cost, served)
               select * from unnest($1::uuid[], $2::bool[], $3::int2[], $4::bytea[],
                   $5::bigint[], $6::bigint[], $7::bigint[], $15::bigint[], $20::text[],
                   $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[], $25::bigint[],
                   $26::text[])
           ), shared as (
               update shard.share s set succeeded = s.succeeded + ended.succeeded,
                   failed = s.failed + ended.failed
               from unnest($17::uuid[], $18::int[], $19::int[])
                   as ended (project, succeeded, failed)
               where s.project = ended.project and s.batch = $16
           )
           insert into shard.delivery (cargo, organization, host, due_at, node, epoch)
           select cargo, organization, host, $12,
               case when claimed then $13::uuid end, case when claimed then $14::int end
           from unnest($8::uuid[], $9::uuid[], $10::text[], $11::bool[])
               as due (cargo, organization, host, claimed)"#,
        &columns.cargo,
        &columns.success,
        &columns.codec,
        &columns.body,
        &columns.tokens.input,
        &columns.tokens.output,
        &columns.charged as &[Option<i64>],
        &columns.due.cargo,
        &columns.due.organization,
        &columns.due.host,
        &columns.due.claimed,
        now,
        claim.map(|claim| claim.node),
        claim.map(|claim| claim.epoch),
        &columns.realtime as &[Option<i64>],
        batch,
        &shares.project,
        &shares.succeeded,
        &shares.failed,
        &columns.failure_code as &[Option<&str>],
        &columns.tokens.cached,
        &columns.tokens.cache_write,
        &columns.tokens.cache_write_1h,
        &columns.tokens.thinking,
        &columns.cost as &[Option<i64>],
        &columns.served as &[Option<&str>]
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Outcomes that are stored together.
#[derive(Default)]
pub(super) struct OutcomeColumns {
    cargo: Vec<Uuid>,
    success: Vec<bool>,
    codec: Vec<i16>,
    body: Vec<Vec<u8>>,
    tokens: TokenColumns,
    charged: Vec<Option<i64>>,
    realtime: Vec<Option<i64>>,
    cost: Vec<Option<i64>>,
    served: Vec<Option<&'static str>>,
    failure_code: Vec<Option<&'static str>>,
    due: DeliveryColumns,
    /// How many of each project succeeded and failed.
    ended: BTreeMap<Uuid, (i32, i32)>,
}

/// Input and output are totals; the others are parts of them.
#[derive(Default)]
struct TokenColumns {
    input: Vec<i64>,
    cached: Vec<i64>,
    cache_write: Vec<i64>,
    cache_write_1h: Vec<i64>,
    output: Vec<i64>,
    thinking: Vec<i64>,
}

impl TokenColumns {
    fn push(&mut self, usage: TokenBuckets) {
        self.input.push(signed(usage.input_total()));
        self.cached.push(signed(usage.cached));
        self.cache_write.push(signed(usage.cache_write));
        self.cache_write_1h.push(signed(usage.cache_write_1h));
        self.output.push(signed(usage.output));
        self.thinking.push(signed(usage.thinking));
    }
}

/// The deliveries that they cause.
#[derive(Default)]
struct DeliveryColumns {
    cargo: Vec<Uuid>,
    organization: Vec<Uuid>,
    host: Vec<String>,
    claimed: Vec<bool>,
}

impl OutcomeColumns {
    pub(super) fn bytes(&self) -> usize {
        self.body.iter().map(Vec::len).sum()
    }

    pub(super) fn push(&mut self, outcome: NewOutcome, price: OutcomePrice, row: CompletedCargo) {
        let (succeeded, failed) = self.ended.entry(row.project.uuid()).or_default();
        *(if outcome.success { succeeded } else { failed }) += 1;
        self.cargo.push(outcome.cargo.uuid());
        self.success.push(outcome.success);
        self.codec.push(outcome.body.codec);
        self.body.push(outcome.body.bytes);
        self.tokens.push(outcome.usage);
        self.charged.push(price.charged.map(Money::nanos));
        self.realtime.push(price.realtime.map(Money::nanos));
        self.cost.push(price.cost.map(Money::nanos));
        self.served.push(outcome.served.map(InferenceMode::as_str));
        let code = outcome.failure_code.map(FailureCode::as_str);
        self.failure_code.push(code);
        if let Some(host) = row.host {
            self.due.cargo.push(outcome.cargo.uuid());
            self.due.organization.push(row.organization);
            self.due.host.push(host);
            self.due.claimed.push(outcome.claim_delivery);
        }
    }
}

/// What is added to each project's share of a batch.
#[derive(Default)]
struct ShareColumns {
    project: Vec<Uuid>,
    succeeded: Vec<i32>,
    failed: Vec<i32>,
}

impl ShareColumns {
    fn of(ended: &BTreeMap<Uuid, (i32, i32)>) -> Self {
        let mut shares = Self::default();
        for (project, (succeeded, failed)) in ended {
            shares.project.push(*project);
            shares.succeeded.push(*succeeded);
            shares.failed.push(*failed);
        }
        shares
    }
}
