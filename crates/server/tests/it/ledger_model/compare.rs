//! Every row that has to do with money, against the oracle.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::NaiveDate;
use domain::id::CargoId;
use domain::time::Timestamp;
use store::shard::{audit, usage};
use uuid::Uuid;

use super::oracle::{Account, Checked, Line, Month, Oracle};
use super::world::World;

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

impl World {
    /// What was written since the last time, and every account as it stands.
    pub(super) async fn compare(&self, oracle: &mut Oracle) -> Checked {
        self.accounts(oracle).await?;
        self.postings(oracle).await?;
        let ended = std::mem::take(&mut oracle.ended);
        self.outcomes(oracle, &ended).await?;
        self.queue(oracle).await
    }

    /// All that was ever written.
    pub(super) async fn compare_all(&self, oracle: &mut Oracle) -> Checked {
        oracle.ended.clear();
        let ended = oracle.cargo.iter().filter(|(_, it)| it.ended.is_some());
        oracle.ended = ended.map(|(id, _)| *id).collect();
        let counted = i64::try_from(oracle.ended.len()).unwrap();
        let count = "select count(*) from shard.outcome";
        let stored: i64 = sqlx::query_scalar(count)
            .fetch_one(&self.steady.pool)
            .await
            .unwrap();
        same("outcomes", &stored, &counted)?;
        self.compare(oracle).await?;
        self.usage(oracle).await?;
        let proof = audit::whole(&self.steady).await.unwrap();
        same("faults", &proof.faults, &Vec::new())?;
        let postings: u64 = oracle.accounts.iter().map(|it| it.postings).sum();
        same("postings", &proof.examined.postings, &postings)
    }

    fn numbers(&self) -> HashMap<Uuid, usize> {
        let numbers = self.customers.iter().enumerate();
        numbers
            .map(|(number, customer)| (customer.organization.uuid(), number))
            .collect()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "nobody but this test asks for it"
    )]
    async fn accounts(&self, oracle: &Oracle) -> Checked {
        let statement = "select organization, array[posted, held, postings, tokens_used,
                 tokens_reserved], monthly_tokens, period from shard.account";
        let rows: Vec<(Uuid, [i64; 5], Option<i64>, NaiveDate)> = sqlx::query_as(statement)
            .fetch_all(&self.steady.pool)
            .await
            .unwrap();
        same("accounts", &rows.len(), &oracle.accounts.len())?;
        let numbers = self.numbers();
        for (organization, [posted, held, postings, used, reserved], quota, period) in rows {
            let account = &oracle.accounts[numbers[&organization]];
            let expected = account.postings + u64::try_from(account.expected.len()).unwrap();
            let row = (posted, held, unsigned(postings), quota.map(unsigned));
            let right = (account.posted, account.held, expected, account.quota);
            same(&format!("account {organization}"), &row, &right)?;
            let tokens = Month {
                used: unsigned(used),
                reserved: unsigned(reserved),
            };
            same("tokens", &tokens, &account.month(period))?;
            let later = account
                .months
                .range(period..)
                .skip_while(|it| *it.0 == period);
            let later: Vec<_> = later.filter(|it| *it.1 != Month::default()).collect();
            same("tokens of later months", &later, &Vec::new())?;
        }
        Ok(())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "nobody but this test asks for it"
    )]
    async fn postings(&self, oracle: &mut Oracle) -> Checked {
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
            .fetch_all(&self.steady.pool)
            .await
            .unwrap();
        let numbers = self.numbers();
        for row in rows {
            let account = &mut oracle.accounts[numbers[&row.0]];
            found(account, row)?;
        }
        let missing = oracle.accounts.iter().flat_map(|it| &it.expected);
        same("postings that are missing", &missing.collect(), &Vec::new())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "nobody but this test asks for it"
    )]
    async fn outcomes(&self, oracle: &Oracle, ended: &[CargoId]) -> Checked {
        let statement = "select cargo, success, input_tokens, output_tokens, charged
             from shard.outcome where cargo = any($1)";
        for ended in ended.chunks(10_000) {
            let ids: Vec<_> = ended.iter().map(|id| id.uuid()).collect();
            let rows: Vec<(Uuid, bool, i64, i64, Option<i64>)> = sqlx::query_as(statement)
                .bind(ids)
                .fetch_all(&self.steady.pool)
                .await
                .unwrap();
            same("outcomes", &rows.len(), &ended.len())?;
            for (id, success, input, output, charged) in rows {
                let right = oracle.cargo[&id.into()].ended.unwrap();
                let usage = right.given.usage;
                let row = (success, unsigned(input), unsigned(output), charged);
                let right = (
                    right.given.success,
                    usage.input_tokens,
                    usage.output_tokens,
                    right.charged,
                );
                same(&format!("outcome {id}"), &row, &right)?;
            }
        }
        Ok(())
    }

    /// What is open, what it holds, and what of it waits to be gathered.
    #[expect(
        clippy::disallowed_methods,
        reason = "nobody but this test asks for it"
    )]
    async fn queue(&self, oracle: &Oracle) -> Checked {
        let statement = "select cargo from shard.waiting";
        let waiting: Vec<Uuid> = sqlx::query_scalar(statement)
            .fetch_all(&self.steady.pool)
            .await
            .unwrap();
        let waiting: BTreeSet<CargoId> = waiting.into_iter().map(CargoId::from).collect();
        let apart: Vec<_> = waiting.symmetric_difference(&oracle.waiting).collect();
        same("what waits or should", &apart, &Vec::new())?;
        let statement = "select organization, count(*), coalesce(sum(held), 0)::bigint
             from shard.cargo where completed_at is null group by 1";
        let rows: Vec<(Uuid, i64, i64)> = sqlx::query_as(statement)
            .fetch_all(&self.steady.pool)
            .await
            .unwrap();
        let numbers = self.numbers();
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
            if cargo.ended.is_none() {
                let (count, held) = open.entry(cargo.organization).or_default();
                *count += 1;
                *held += cargo.hold.map_or(0, |hold| hold.amount);
            }
        }
        same("open cargo and its holds", &rows, &open)
    }

    /// What was charged, counted once more on its way to people.
    #[expect(
        clippy::disallowed_methods,
        reason = "nobody but this test asks for it"
    )]
    async fn usage(&self, oracle: &Oracle) -> Checked {
        while usage::fold(&self.steady, 0, 10_000).await.unwrap() > 0 {}
        let statement = "select project, sum(money)::bigint from shard.usage group by 1";
        let rows: Vec<(Uuid, i64)> = sqlx::query_as(statement)
            .fetch_all(&self.steady.pool)
            .await
            .unwrap();
        let rows: HashMap<Uuid, i64> = rows.into_iter().collect();
        let mut charged = vec![0; self.customers.len()];
        for cargo in oracle.cargo.values() {
            let ended = cargo.ended.and_then(|ended| ended.charged);
            charged[cargo.organization] += ended.unwrap_or_default();
        }
        for (customer, charged) in self.customers.iter().zip(charged) {
            let counted = rows.get(&customer.project.uuid()).copied();
            same("usage", &counted.unwrap_or_default(), &charged)?;
        }
        Ok(())
    }
}

/// The next posting of an account must be one that is expected.
fn found(account: &mut Account, row: PostingRow) -> Checked {
    let (_, number, kind, at, [credit, revenue, loss, funding, balance], cargo, reference, note) =
        row;
    account.postings += 1;
    account.balance += credit;
    same("number of a posting", &unsigned(number), &account.postings)?;
    same("balance of a posting", &balance, &account.balance)?;
    let cargo = cargo.unwrap_or_default().into_iter();
    let cargo: BTreeSet<CargoId> = cargo.map(CargoId::from).collect();
    let entries = [credit, revenue, loss, funding];
    let is_it = |line: &Line| {
        (line.kind, line.at, line.entries) == (kind.as_str(), at, entries)
            && line.cargo == cargo
            && line.reference == reference
            && line.note == note
    };
    match account.expected.iter().position(is_it) {
        Some(place) => {
            account.expected.swap_remove(place);
            Ok(())
        }
        None => Err(format!(
            "posting {number} {kind} {entries:?} {reference:?} {note:?} is none of {:?}",
            account.expected
        )),
    }
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, row: &T, right: &T) -> Checked {
    if row == right {
        Ok(())
    } else {
        Err(format!(
            "{what}: the rows say {row:?}, and right is {right:?}"
        ))
    }
}
