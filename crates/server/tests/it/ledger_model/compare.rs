//! Compares every row about money with the oracle.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::NaiveDate;
use domain::id::CargoId;
use domain::time::Timestamp;
use store::shard::{ledger_audit, usage};
use uuid::Uuid;

use super::fixture::LedgerModelFixture;
use super::oracle::{
    ExpectedAccount, ExpectedMonthlyTokens, ExpectedPosting, LedgerOracle, OracleCheckResult,
};
use super::reconcile::to_buckets;

type PostingRow = (
    Uuid,
    i64,
    String,
    Timestamp,
    [i64; 5],
    Option<Vec<Uuid>>,
    Option<String>,
    Option<String>,
);

/// Cargo, success, tokens, charge and cost.
type OutcomeRow = (Uuid, bool, [i64; 6], Option<i64>, Option<i64>);

impl LedgerModelFixture {
    /// Compares the rows since the last comparison, and every account.
    pub(super) async fn compare(&self, oracle: &mut LedgerOracle) -> OracleCheckResult {
        self.compare_accounts(oracle).await?;
        self.compare_postings(oracle).await?;
        let ended = std::mem::take(&mut oracle.newly_ended);
        self.compare_outcomes(oracle, &ended).await?;
        self.compare_queue(oracle).await
    }

    /// Compares all rows.
    pub(super) async fn compare_all(&self, oracle: &mut LedgerOracle) -> OracleCheckResult {
        oracle.newly_ended.clear();
        let ended = oracle.cargo.iter().filter(|(_, it)| it.outcome.is_some());
        oracle.newly_ended = ended.map(|(id, _)| *id).collect();
        let counted = i64::try_from(oracle.newly_ended.len()).unwrap();
        let count = "select count(*) from shard.outcome";
        let stored: i64 = sqlx::query_scalar(count)
            .fetch_one(&self.stable_shard.pool)
            .await
            .unwrap();
        check_equal("outcomes", &stored, &counted)?;
        self.compare(oracle).await?;
        self.compare_usage(oracle).await?;
        self.audit().await?;
        // The audit never had to read open cargo again: its sums were exact all the time.
        let gaps: i64 = sqlx::query_scalar("select count(*) from shard.ledger_gap")
            .fetch_one(&self.stable_shard.pool)
            .await
            .unwrap();
        check_equal("gaps in the sums of the audit", &gaps, &0)?;
        let report = ledger_audit::check_all(&self.operator_shard).await.unwrap();
        check_equal("faults", &report.faults, &Vec::new())?;
        let postings: u64 = oracle.accounts.iter().map(|it| it.postings).sum();
        check_equal("postings", &report.counts.postings, &postings)
    }

    fn customer_indexes(&self) -> HashMap<Uuid, usize> {
        let numbers = self.customers.iter().enumerate();
        numbers
            .map(|(number, customer)| (customer.organization.uuid(), number))
            .collect()
    }

    #[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
    async fn compare_accounts(&self, oracle: &LedgerOracle) -> OracleCheckResult {
        let statement = "select organization, array[posted, held, postings, tokens_used,
                 tokens_reserved], monthly_tokens, period from shard.account";
        let rows: Vec<(Uuid, [i64; 5], Option<i64>, NaiveDate)> = sqlx::query_as(statement)
            .fetch_all(&self.stable_shard.pool)
            .await
            .unwrap();
        check_equal("accounts", &rows.len(), &oracle.accounts.len())?;
        let numbers = self.customer_indexes();
        for (organization, [posted, held, postings, used, reserved], quota, period) in rows {
            let account = &oracle.accounts[numbers[&organization]];
            let count = account.postings + u64::try_from(account.expected_postings.len()).unwrap();
            let row = (posted, held, to_unsigned(postings), quota.map(to_unsigned));
            let expected = (account.posted, account.held, count, account.quota);
            check_equal(&format!("account {organization}"), &row, &expected)?;
            let tokens = ExpectedMonthlyTokens {
                used: to_unsigned(used),
                reserved: to_unsigned(reserved),
            };
            check_equal("tokens", &tokens, &account.tokens_in_month(period))?;
            let later = account
                .tokens_by_month
                .range(period..)
                .skip_while(|it| *it.0 == period);
            let later: Vec<_> = later
                .filter(|it| *it.1 != ExpectedMonthlyTokens::default())
                .collect();
            check_equal("tokens of later months", &later, &Vec::new())?;
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
    async fn compare_postings(&self, oracle: &mut LedgerOracle) -> OracleCheckResult {
        let statement = "select p.organization, p.number, p.kind, p.at,
                 array[p.credit, p.revenue, p.loss, p.funding, p.balance], p.cargo, p.reference, p.note
             from unnest($1::uuid[], $2::bigint[]) as seen (organization, number)
             join shard.posting p on p.organization = seen.organization and p.number > seen.number
             order by p.organization, p.number";
        let ids: Vec<_> = self
            .customers
            .iter()
            .map(|it| it.organization.uuid())
            .collect();
        let seen = oracle.accounts.iter();
        let seen: Vec<_> = seen.map(|it| i64::try_from(it.postings).unwrap()).collect();
        let rows: Vec<PostingRow> = sqlx::query_as(statement)
            .bind(ids)
            .bind(seen)
            .fetch_all(&self.stable_shard.pool)
            .await
            .unwrap();
        let numbers = self.customer_indexes();
        for row in rows {
            let account = &mut oracle.accounts[numbers[&row.0]];
            check_posting(account, row)?;
        }
        let missing = oracle.accounts.iter().flat_map(|it| &it.expected_postings);
        check_equal("missing postings", &missing.collect(), &Vec::new())
    }

    #[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
    async fn compare_outcomes(
        &self,
        oracle: &LedgerOracle,
        ended: &[CargoId],
    ) -> OracleCheckResult {
        let statement = "select cargo, success, array[input_tokens, cached_tokens,
                 cache_write_tokens, cache_write_1h_tokens, output_tokens, thinking_tokens],
                 charged, cost
             from shard.outcome where cargo = any($1)";
        for ended in ended.chunks(10_000) {
            let ids: Vec<_> = ended.iter().map(|id| id.uuid()).collect();
            let rows: Vec<OutcomeRow> = sqlx::query_as(statement)
                .bind(ids)
                .fetch_all(&self.stable_shard.pool)
                .await
                .unwrap();
            check_equal("outcomes", &rows.len(), &ended.len())?;
            for (id, success, tokens, charged, cost) in rows {
                let expected = oracle.cargo[&id.into()].outcome.unwrap();
                let generated = expected.generated;
                let row = (success, to_buckets(tokens), charged, cost);
                let expected = (
                    generated.success,
                    generated.usage,
                    expected.charged,
                    expected.cost,
                );
                check_equal(&format!("outcome {id}"), &row, &expected)?;
            }
        }
        Ok(())
    }

    /// Compares the open cargo, their holds, and the cargo that wait to be gathered.
    #[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
    async fn compare_queue(&self, oracle: &LedgerOracle) -> OracleCheckResult {
        let statement = "select cargo from shard.waiting";
        let waiting: Vec<Uuid> = sqlx::query_scalar(statement)
            .fetch_all(&self.stable_shard.pool)
            .await
            .unwrap();
        let waiting: BTreeSet<CargoId> = waiting.into_iter().map(CargoId::from).collect();
        let different: Vec<_> = waiting.symmetric_difference(&oracle.waiting).collect();
        check_equal("waiting cargo", &different, &Vec::new())?;
        let statement = "select organization, count(*), coalesce(sum(held), 0)::bigint
             from shard.cargo where completed_at is null group by 1";
        let rows: Vec<(Uuid, i64, i64)> = sqlx::query_as(statement)
            .fetch_all(&self.stable_shard.pool)
            .await
            .unwrap();
        let numbers = self.customer_indexes();
        let rows: BTreeMap<usize, (i64, i64)> = rows
            .into_iter()
            .map(|(id, count, held)| (numbers[&id], (count, held)))
            .collect();
        let mut open: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
        for id in oracle
            .waiting
            .iter()
            .chain(oracle.batches.values().flatten())
        {
            let cargo = &oracle.cargo[id];
            if cargo.outcome.is_none() {
                let (count, held) = open.entry(cargo.organization).or_default();
                *count += 1;
                *held += cargo.hold.map_or(0, |hold| hold.amount);
            }
        }
        check_equal("open cargo and its holds", &rows, &open)
    }

    /// Compares charges, costs and cached, written and thinking tokens in the usage counts.
    #[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
    async fn compare_usage(&self, oracle: &LedgerOracle) -> OracleCheckResult {
        while usage::fold(&self.stable_shard, 0, 10_000).await.unwrap() > 0 {}
        let statement = "select project, array[sum(money), sum(cost), sum(cached_tokens),
                 sum(cache_write_tokens), sum(thinking_tokens)]::bigint[]
             from shard.usage group by 1";
        let rows: Vec<(Uuid, [i64; 5])> = sqlx::query_as(statement)
            .fetch_all(&self.stable_shard.pool)
            .await
            .unwrap();
        let rows: HashMap<Uuid, [i64; 5]> = rows.into_iter().collect();
        let mut sums = vec![[0; 5]; self.customers.len()];
        for cargo in oracle.cargo.values() {
            let Some(ended) = cargo.outcome else {
                continue;
            };
            let used = ended.generated.usage;
            let tokens = [
                used.cached,
                used.cache_write + used.cache_write_1h,
                used.thinking,
            ];
            let [cached, written, thinking] = tokens.map(|it| i64::try_from(it).unwrap());
            let (charged, cost) = (ended.charged.unwrap_or(0), ended.cost.unwrap_or(0));
            let more = [charged, cost, cached, written, thinking];
            let sum = &mut sums[cargo.organization];
            sum.iter_mut().zip(more).for_each(|(sum, by)| *sum += by);
        }
        for (customer, expected) in self.customers.iter().zip(sums) {
            let counted = rows.get(&customer.project.uuid()).copied();
            check_equal("usage", &counted.unwrap_or_default(), &expected)?;
        }
        Ok(())
    }
}

/// The next posting of an account must be an expected one.
fn check_posting(account: &mut ExpectedAccount, row: PostingRow) -> OracleCheckResult {
    let (_, number, kind, at, [credit, revenue, loss, funding, balance], cargo, reference, note) =
        row;
    account.postings += 1;
    account.balance += credit;
    check_equal(
        "number of a posting",
        &to_unsigned(number),
        &account.postings,
    )?;
    check_equal("balance of a posting", &balance, &account.balance)?;
    let cargo = cargo.unwrap_or_default().into_iter();
    let cargo: BTreeSet<CargoId> = cargo.map(CargoId::from).collect();
    let entries = [credit, revenue, loss, funding];
    let is_same = |posting: &ExpectedPosting| {
        (posting.kind, posting.at, posting.entries) == (kind.as_str(), at, entries)
            && posting.cargo == cargo
            && posting.reference == reference
            && posting.note == note
    };
    match account.expected_postings.iter().position(is_same) {
        Some(index) => {
            account.expected_postings.swap_remove(index);
            Ok(())
        }
        None => Err(format!(
            "posting {number} {kind} {entries:?} {reference:?} {note:?} is not expected, only {:?}",
            account.expected_postings
        )),
    }
}

fn to_unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap()
}

fn check_equal<T: PartialEq + std::fmt::Debug>(
    what: &str,
    row: &T,
    expected: &T,
) -> OracleCheckResult {
    if row == expected {
        Ok(())
    } else {
        Err(format!(
            "{what}: the rows have {row:?}, expected {expected:?}"
        ))
    }
}
