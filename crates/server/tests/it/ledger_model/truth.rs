//! What really happened where it was cut off: asked, or tried again.

use std::time::{Duration, Instant};

use domain::id::CargoId;
use domain::outcome::Usage;
use rand::RngExt as _;
use rand::rngs::StdRng;
use store::shard::credit::{self, Payment};
use store::{Error, Shard};
use uuid::Uuid;

use super::operation::{Fact, Given, Load, Loaded, Operation, Record};
use super::world::{Known, World};

/// A load is repeated at most so often.
const TRIES: u32 = 20;
const PATIENCE: Duration = Duration::from_secs(20);

impl World {
    /// Everything that is known, and the truth about the rest.
    pub(super) async fn truth(
        &self,
        round: Vec<Operation>,
        known: Vec<Known>,
        random: &mut StdRng,
    ) -> Result<Vec<(Operation, Fact)>, String> {
        let mut facts = Vec::with_capacity(round.len());
        for (operation, known) in round.into_iter().zip(known) {
            let fact = match (&operation, known) {
                (_, Known::Fact(fact)) => fact,
                (Operation::Load(loads), Known::Loads(loaded)) => {
                    Fact::Loaded(self.loads(loads, loaded).await?)
                }
                (
                    Operation::Pay {
                        organization,
                        payment,
                    },
                    _,
                ) => self.payment(*organization, payment, random).await?,
                (Operation::Record(record), _) => self.recorded(record, random).await?,
                (other, _) => return Err(format!("nothing is known of {other:?}")),
            };
            facts.push((operation, fact));
        }
        Ok(facts)
    }

    /// Whoever was not told repeats the load under its key.
    async fn loads(
        &self,
        loads: &[Load],
        loaded: Vec<Option<Loaded>>,
    ) -> Result<Vec<Loaded>, String> {
        let mut all = Vec::with_capacity(loads.len());
        for (load, mut answer) in loads.iter().zip(loaded) {
            for _ in 0..TRIES {
                if answer.is_some() {
                    break;
                }
                if load.key.is_none() {
                    return Err(format!("nobody can say what became of {load:?}"));
                }
                answer = self.load(std::slice::from_ref(load)).await?[0];
                if let Some(Loaded::Replay(id)) = answer {
                    answer = Some(Loaded::Found(id));
                }
            }
            all.push(answer.ok_or_else(|| format!("{load:?} is answered by nobody"))?);
        }
        Ok(all)
    }

    async fn payment(
        &self,
        organization: usize,
        payment: &Payment,
        random: &mut StdRng,
    ) -> Result<Fact, String> {
        self.await_end(Some(organization), &[]).await;
        let id = self.customers[organization].organization;
        let statement = "select number from shard.posting where organization = $1 and note = $2";
        let posted: Vec<i64> = sqlx::query_scalar(statement)
            .bind(id.uuid())
            .bind(&payment.note)
            .fetch_all(&self.steady.pool)
            .await
            .unwrap();
        let number = |number: &i64| u64::try_from(*number).unwrap();
        let happened = posted.first().map(number);
        // Without a reference it would be another payment.
        if payment.reference.is_some() && random.random() {
            let again = credit::pay(&self.steady, id, payment, self.now()).await;
            let again = again.map_err(|failure| format!("{payment:?} failed: {failure:?}"))?;
            return match (happened, again) {
                (Some(first), credit::Paid::Before { number, balance }) if first == number => {
                    Ok(Fact::Paid(credit::Paid::Posted { number, balance }))
                }
                (None, again) => Ok(Fact::Paid(again)),
                (first, again) => Err(format!("{payment:?}: {first:?}, and again {again:?}")),
            };
        }
        Ok(happened.map_or(Fact::NotPaid, |number| {
            let balance = domain::money::Money::ZERO;
            Fact::Paid(credit::Paid::Posted { number, balance })
        }))
    }

    async fn recorded(&self, record: &Record, random: &mut StdRng) -> Result<Fact, String> {
        let ids: Vec<CargoId> = record.given.iter().map(|it| it.cargo).collect();
        self.await_end(None, &ids).await;
        let first = self.stored_by(record, &ids).await;
        if random.random() {
            return Ok(Fact::StoredOrNot(first));
        }
        let steady: &Shard = &self.steady;
        match self.record(steady, record).await {
            Ok(second) if first.is_empty() => Ok(Fact::Stored(second)),
            Ok(second) if second.is_empty() => Ok(Fact::Stored(first)),
            Err(Error::Moved) if first.is_empty() => Ok(Fact::Moved),
            Err(Error::Moved) => Ok(Fact::StoredOrNot(first)),
            other => Err(format!("{record:?} stored {first:?}, then {other:?}")),
        }
    }

    /// What a record has stored, as it stands in the rows.
    #[expect(
        clippy::disallowed_methods,
        reason = "nobody but this test asks for it"
    )]
    pub(super) async fn stored_by(&self, record: &Record, cargo: &[CargoId]) -> Vec<Given> {
        let statement =
            "select c.id, c.attempt, c.success, o.success, o.input_tokens, o.output_tokens
             from shard.outcome o join shard.cargo c on c.id = o.cargo
             where o.cargo = any($1) and o.body = $2";
        let ids: Vec<_> = cargo.iter().map(|id| id.uuid()).collect();
        let rows: Vec<(Uuid, i32, bool, bool, i64, i64)> = sqlx::query_as(statement)
            .bind(ids)
            .bind(record.tag.as_bytes())
            .fetch_all(&self.steady.pool)
            .await
            .unwrap();
        let given = rows
            .into_iter()
            .map(|(id, attempt, success, stored, input, output)| {
                assert_eq!(
                    success, stored,
                    "{id} succeeded in one row and failed in another"
                );
                Given {
                    cargo: id.into(),
                    attempt: u32::try_from(attempt).unwrap(),
                    success,
                    usage: Usage {
                        input_tokens: u64::try_from(input).unwrap(),
                        output_tokens: u64::try_from(output).unwrap(),
                    },
                }
            });
        given.collect()
    }

    /// Waits until whoever writes to these rows has ended, one way or the other.
    async fn await_end(&self, organization: Option<usize>, cargo: &[CargoId]) {
        let organization = organization.map(|it| self.customers[it].organization.uuid());
        let cargo: Vec<_> = cargo.iter().map(|id| id.uuid()).collect();
        // Passes over what is locked: to wait for it would be to stand in the way.
        let statement = "select (select count(*) from shard.account where organization = $1)
                 + (select count(*) from shard.cargo where id = any($2))
                 - (select count(*) from (select from shard.account where organization = $1
                        for no key update skip locked) as free)
                 - (select count(*) from (select from shard.cargo where id = any($2)
                        for no key update skip locked) as free)";
        let begun = Instant::now();
        let mut locked = 1;
        while locked > 0 {
            assert!(begun.elapsed() < PATIENCE, "a transaction does not end");
            locked = sqlx::query_scalar::<_, i64>(statement)
                .bind(organization)
                .bind(&cargo)
                .fetch_one(&self.steady.pool)
                .await
                .unwrap();
        }
    }
}
