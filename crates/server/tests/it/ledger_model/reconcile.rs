//! Finds the results of operations whose answers were lost: by reading the rows, or by a retry.

use std::time::{Duration, Instant};

use domain::id::CargoId;
use domain::token_buckets::TokenBuckets;
use rand::RngExt as _;
use rand::rngs::StdRng;
use store::shard::credit::{self, Payment};
use store::{Error, Shard};
use uuid::Uuid;

use super::client::ObservedResult;
use super::fixture::LedgerModelFixture;
use super::operation::{
    GeneratedOutcome, LedgerLoadResult, LedgerOperation, LoadOperation, OperationResult,
    RecordOperation, TestModel,
};
use super::rollback::repeat_rolled_back;

const MAX_LOAD_ATTEMPTS: u32 = 20;
const TRANSACTION_TIMEOUT: Duration = Duration::from_mins(1);

impl LedgerModelFixture {
    /// Returns the known results, and finds the others.
    pub(super) async fn reconcile(
        &self,
        round: Vec<LedgerOperation>,
        observed: Vec<ObservedResult>,
        random: &mut StdRng,
    ) -> Result<Vec<(LedgerOperation, OperationResult)>, String> {
        let mut results = Vec::with_capacity(round.len());
        for (operation, observed) in round.into_iter().zip(observed) {
            let result = match (&operation, observed) {
                (_, ObservedResult::Complete(result)) => result,
                (LedgerOperation::Load(loads), ObservedResult::Loads(loaded)) => {
                    OperationResult::Loaded(self.reconcile_loads(loads, loaded).await?)
                }
                (
                    LedgerOperation::Pay {
                        organization,
                        payment,
                    },
                    _,
                ) => {
                    self.reconcile_payment(*organization, payment, random)
                        .await?
                }
                (LedgerOperation::Record(record), _) => {
                    self.reconcile_record(record, random).await?
                }
                (other, _) => return Err(format!("no result of {other:?}")),
            };
            results.push((operation, result));
        }
        Ok(results)
    }

    /// Repeats loads without an answer. A load has no key only in a round without a fault: there
    /// its process answered 503, so it is not stored.
    async fn reconcile_loads(
        &self,
        loads: &[LoadOperation],
        loaded: Vec<Option<LedgerLoadResult>>,
    ) -> Result<Vec<LedgerLoadResult>, String> {
        let mut all = Vec::with_capacity(loads.len());
        for (load, mut answer) in loads.iter().zip(loaded) {
            for _ in 0..MAX_LOAD_ATTEMPTS {
                if answer.is_some() {
                    break;
                }
                answer = self.post_loads(std::slice::from_ref(load)).await?[0];
                if let Some(LedgerLoadResult::Replay(id)) = answer {
                    answer = Some(LedgerLoadResult::FoundOnRetry(id));
                }
            }
            all.push(answer.ok_or_else(|| format!("{load:?} was never answered"))?);
        }
        Ok(all)
    }

    async fn reconcile_payment(
        &self,
        organization: usize,
        payment: &Payment,
        random: &mut StdRng,
    ) -> Result<OperationResult, String> {
        self.wait_for_transactions(Some(organization), &[]).await;
        let id = self.customers[organization].organization;
        let statement = "select number from shard.posting where organization = $1 and note = $2";
        let numbers: Vec<i64> = sqlx::query_scalar(statement)
            .bind(id.uuid())
            .bind(&payment.note)
            .fetch_all(&self.stable_shard.pool)
            .await
            .unwrap();
        let number = |number: &i64| u64::try_from(*number).unwrap();
        let posted = numbers.first().map(number);
        // Without a reference, a retry would be another payment.
        if payment.reference.is_some() && random.random() {
            let retry = async || credit::pay(&self.stable_shard, id, payment, self.now()).await;
            let retried = repeat_rolled_back(retry).await;
            let retried = retried.map_err(|failure| format!("{payment:?} failed: {failure:?}"))?;
            return match (posted, retried) {
                (Some(first), credit::PaymentResult::AlreadyPosted { number, balance })
                    if first == number =>
                {
                    Ok(OperationResult::Paid(credit::PaymentResult::Posted {
                        number,
                        balance,
                    }))
                }
                (None, retried) => Ok(OperationResult::Paid(retried)),
                (first, retried) => Err(format!("{payment:?}: {first:?}, retried {retried:?}")),
            };
        }
        Ok(posted.map_or(OperationResult::NotPaid, |number| {
            let balance = domain::money::Money::ZERO;
            OperationResult::Paid(credit::PaymentResult::Posted { number, balance })
        }))
    }

    async fn reconcile_record(
        &self,
        record: &RecordOperation,
        random: &mut StdRng,
    ) -> Result<OperationResult, String> {
        let ids: Vec<CargoId> = record.outcomes.iter().map(|it| it.cargo).collect();
        self.wait_for_transactions(None, &ids).await;
        let first = self.read_stored(record, &ids).await;
        if random.random() {
            return Ok(OperationResult::StoredWithoutAnswer(first));
        }
        let steady: &Shard = &self.stable_shard;
        match repeat_rolled_back(async || self.record_outcomes(steady, record).await).await {
            Ok(second) if first.is_empty() => Ok(OperationResult::Stored(second)),
            Ok(second) if second.is_empty() => Ok(OperationResult::Stored(first)),
            Err(Error::Fenced) if first.is_empty() => Ok(OperationResult::Fenced),
            Err(Error::Fenced) => Ok(OperationResult::StoredWithoutAnswer(first)),
            other => Err(format!("{record:?} stored {first:?}, then {other:?}")),
        }
    }

    /// Reads the outcomes that an operation stored.
    #[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
    pub(super) async fn read_stored(
        &self,
        record: &RecordOperation,
        cargo: &[CargoId],
    ) -> Vec<GeneratedOutcome> {
        let statement =
            "select c.id, c.attempt, c.success, o.success, c.model, array[o.input_tokens,
                 o.cached_tokens, o.cache_write_tokens, o.cache_write_1h_tokens, o.output_tokens,
                 o.thinking_tokens]
             from shard.outcome o join shard.cargo c on c.id = o.cargo
             where o.cargo = any($1) and o.body = $2";
        let ids: Vec<_> = cargo.iter().map(|id| id.uuid()).collect();
        let rows: Vec<(Uuid, i32, bool, bool, String, [i64; 6])> = sqlx::query_as(statement)
            .bind(ids)
            .bind(record.tag.as_bytes())
            .fetch_all(&self.stable_shard.pool)
            .await
            .unwrap();
        let outcomes = rows
            .into_iter()
            .map(|(id, attempt, success, stored, model, tokens)| {
                assert_eq!(
                    success, stored,
                    "{id} succeeded in one row and failed in another"
                );
                GeneratedOutcome {
                    cargo: id.into(),
                    attempt: u32::try_from(attempt).unwrap(),
                    success,
                    usage: to_buckets(tokens),
                    model: TestModel::number(&model),
                }
            });
        outcomes.collect()
    }

    /// Waits until no transaction holds a lock on these rows.
    async fn wait_for_transactions(&self, organization: Option<usize>, cargo: &[CargoId]) {
        let organization = organization.map(|it| self.customers[it].organization.uuid());
        let cargo: Vec<_> = cargo.iter().map(|id| id.uuid()).collect();
        // Skips locked rows: a query that waits for locks would block other transactions.
        let statement = "select (select count(*) from shard.account where organization = $1)
                 + (select count(*) from shard.cargo where id = any($2))
                 - (select count(*) from (select from shard.account where organization = $1
                        for no key update skip locked) as free)
                 - (select count(*) from (select from shard.cargo where id = any($2)
                        for no key update skip locked) as free)";
        let started_at = Instant::now();
        let mut locked = 1;
        while locked > 0 {
            assert!(
                started_at.elapsed() < TRANSACTION_TIMEOUT,
                "a transaction does not end"
            );
            locked = sqlx::query_scalar::<_, i64>(statement)
                .bind(organization)
                .bind(&cargo)
                .fetch_one(&self.stable_shard.pool)
                .await
                .unwrap();
        }
    }
}

/// The buckets of a row: input, cached, written for minutes and for an hour, output, thoughts.
pub(super) fn to_buckets(row: [i64; 6]) -> TokenBuckets {
    let [input, cached, cache_write, cache_write_1h, output, thinking] =
        row.map(|tokens| u64::try_from(tokens).unwrap());
    TokenBuckets {
        fresh: input - cached - cache_write - cache_write_1h,
        cached,
        cache_write,
        cache_write_1h,
        output,
        thinking,
    }
}
