//! The real thing: serve processes, the store and PostgreSQL, and who cuts its connections.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use chrono::TimeDelta;
use domain::id::{BatchId, CargoId};
use domain::lane::{Lane, LaneId};
use domain::time::Timestamp;
use futures::future::join_all;
use sqlx::ConnectOptions as _;
use store::body;
use store::shard::credit::{self, Payment};
use store::shard::outcome::{self, NewOutcome, Standing};
use store::shard::waiting::{self, Taking};
use store::shard::{audit, batch, lane};
use store::{Error, PoolOptions, Shard};

use super::history::{Crash, Fate};
use super::operation::{Fact, Given, Load, Loaded, OURS, Operation, Record, SOLD};
use crate::support::claims::claim_gathered;
use crate::support::credit::priced;
use crate::support::http::{Answer, send};
use crate::support::{Customer, Service};

/// A connection that was cut is gone long before that.
const LONGEST_END: Duration = Duration::from_secs(20);

pub(super) struct World {
    pub(super) service: Service,
    routers: [axum::Router; 2],
    pub(super) customers: Vec<Customer>,
    lanes: Vec<LaneId>,
    /// Connections that nobody cuts.
    pub(super) steady: Shard,
}

/// What is known of an operation when its round is over.
pub(super) enum Known {
    Fact(Fact),
    /// One for each load; none where the process could not say.
    Loads(Vec<Option<Loaded>>),
    Nothing,
}

impl World {
    pub(super) async fn new() -> Self {
        let service = Service::new().await;
        let mut lanes = Vec::new();
        for sold in &SOLD {
            let model = match sold.price() {
                Some(price) => priced(sold.id, sold.kind, price),
                None => domain::model::Model::plain(sold.id, "mock", sold.kind),
            };
            let wanted = Lane::entered(&model, &service.north.name);
            lanes.push(lane::ensure(&service.north, &wanted).await.unwrap());
            service.sell(model);
        }
        let url = service.north.pool.connect_options().to_url_lossy();
        let options = PoolOptions {
            connections: 8,
            application: "steady".to_owned(),
            interceptor: None,
        };
        let clock = service.clock.clone();
        let steady = Shard::new("steady", url.as_str(), &options, clock).unwrap();
        let other = service.another_app().await;
        Self {
            routers: [service.router.clone(), api::router(other)],
            customers: Vec::new(),
            lanes,
            steady,
            service,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.service.now()
    }

    /// Everything at once.
    pub(super) async fn perform(
        &self,
        round: &[Operation],
        fates: &[Fate],
        crash: Crash,
    ) -> Result<Vec<Known>, String> {
        let clients = round.iter().zip(fates).map(|(operation, fate)| async move {
            match operation {
                Operation::Pay {
                    organization,
                    payment,
                } => heard(*fate, self.pay(*organization, payment, crash)).await,
                Operation::Record(record) => {
                    heard(*fate, Box::pin(self.store(record, crash))).await
                }
                Operation::Load(loads) => {
                    let mut loaded = self.load(loads).await?;
                    if *fate == Fate::Unheard {
                        loaded.iter_mut().step_by(2).for_each(|it| *it = None);
                    }
                    Ok(Known::Loads(loaded))
                }
                Operation::Gather { model, most, batch } => {
                    self.gather(*model, *most, *batch).await.map(Known::Fact)
                }
                Operation::End(batch) => {
                    let ended = batch::end(
                        &self.steady,
                        *batch,
                        OURS,
                        batch::Onward::default(),
                        self.now(),
                    )
                    .await;
                    moved(ended.map(|_| Fact::Ended)).map(Known::Fact)
                }
                Operation::Halve {
                    batch,
                    cargo,
                    halves,
                } => moved(self.halve(*batch, cargo, *halves).await).map(Known::Fact),
                Operation::Audit => self.audit().await.map(Known::Fact),
            }
        });
        let cutting = async {
            if crash == Crash::Cut {
                self.cut().await;
            }
        };
        let (known, ()) = tokio::join!(join_all(clients), cutting);
        known.into_iter().collect()
    }

    async fn pay(
        &self,
        organization: usize,
        payment: &Payment,
        crash: Crash,
    ) -> Result<Known, String> {
        let organization = self.customers[organization].organization;
        match credit::pay(&self.service.north, organization, payment, self.now()).await {
            Ok(paid) => Ok(Known::Fact(Fact::Paid(paid))),
            Err(failure) => lost(&failure, crash),
        }
    }

    async fn store(&self, record: &Record, crash: Crash) -> Result<Known, String> {
        match self.record(&self.service.north, record).await {
            Ok(stored) => Ok(Known::Fact(Fact::Stored(stored))),
            Err(Error::Moved) => Ok(Known::Fact(Fact::Moved)),
            Err(failure) => lost(&failure, crash),
        }
    }

    pub(super) async fn record(&self, shard: &Shard, record: &Record) -> Result<Vec<Given>, Error> {
        let outcomes = record.given.iter().map(|given| NewOutcome {
            cargo: given.cargo,
            attempt: given.attempt,
            success: given.success,
            body: body::pack(record.tag.as_bytes()),
            usage: given.usage,
            realtime: None,
            claim_delivery: false,
        });
        let standing = record.batch.map_or(Standing::Waiting, Standing::InBatch);
        let now = self.now();
        let stored =
            outcome::record(shard, standing, record.claim, outcomes.collect(), now).await?;
        let mut which = Vec::with_capacity(stored.len());
        for cargo in stored {
            let mut given = record.given.iter().filter(|it| it.cargo == cargo);
            match (given.next(), given.next()) {
                (Some(only), None) => which.push(*only),
                // Which of them it was stands in the row.
                _ => which.extend(self.stored_by(record, &[cargo]).await),
            }
        }
        Ok(which)
    }

    pub(super) async fn load(&self, loads: &[Load]) -> Result<Vec<Option<Loaded>>, String> {
        let answers = loads.iter().map(|load| async {
            let key = &self.customers[load.organization].key;
            let mut request = Request::post("/cargo/load").header("X-API-Key", key);
            if let Some(name) = &load.key {
                request = request.header("Idempotency-Key", name);
            }
            let request = request.body(Body::from(load.body.clone())).unwrap();
            let answer = send(self.routers[load.process].clone(), request).await;
            loaded(&answer)
        });
        join_all(answers).await.into_iter().collect()
    }

    async fn gather(&self, model: usize, most: usize, id: BatchId) -> Result<Fact, String> {
        let (lane, now) = (self.lanes[model], self.now());
        let gathered = async {
            let limit = std::time::Duration::from_mins(1);
            let turns = waiting::organizations(&self.steady, lane, limit).await?;
            let turns = turns.unwrap_or_default();
            let turns: Vec<_> = turns
                .into_iter()
                .map(|turn| Taking {
                    organization: turn.organization,
                    after: uuid::Uuid::nil(),
                    most,
                })
                .collect();
            let mut tx = self.steady.begin().await?;
            let picked = waiting::pick(&mut tx, lane, &turns, now).await?;
            if !picked.is_empty() {
                waiting::gather(&mut tx, lane, id, &picked, now).await?;
                tx.commit().await?;
                claim_gathered(&self.steady, OURS, 100, now).await?;
            }
            Ok(picked.into_iter().map(|(_, cargo)| cargo).collect())
        };
        moved(gathered.await.map(Fact::Gathered))
    }

    async fn halve(
        &self,
        batch: BatchId,
        cargo: &[CargoId],
        halves: [BatchId; 2],
    ) -> Result<Fact, Error> {
        let claimed = batch::Claimed {
            id: batch,
            // Nobody gathers a batch again, so that any lane will do.
            lane: self.lanes[0],
            cargo: cargo.to_vec(),
            job: None,
            takeovers: 0,
        };
        let now = self.now();
        batch::halve(&self.steady, &claimed, OURS, halves, now).await?;
        claim_gathered(&self.steady, OURS, 100, now).await?;
        Ok(Fact::Ended)
    }

    async fn audit(&self) -> Result<Fact, String> {
        let since = self.now() - TimeDelta::minutes(1);
        match audit::recent(&self.steady, since).await {
            Ok(faults) if faults.is_empty() => Ok(Fact::Sound),
            other => Err(format!("the audit found {other:?}")),
        }
    }

    /// Cuts connections of the service, at random moments of the round.
    async fn cut(&self) {
        // Told apart by when they began, too: a process number may be given again at once.
        let cut = "select pid || ' ' || extract(epoch from backend_start) from (
                 select pid, backend_start from pg_stat_activity
                 where datname = current_database() and application_name = 'longshored'
                     and state <> 'idle'
                 order by random() limit 2
             ) as unlucky where pg_terminate_backend(pid)";
        for _ in 0..rand::random_range(1..4) {
            let moment = Duration::from_micros(rand::random_range(0..12_000));
            tokio::time::sleep(moment).await;
            let unlucky: Vec<String> = sqlx::query_scalar(cut)
                .fetch_all(&self.steady.pool)
                .await
                .unwrap();
            // None of them may reach into the next round.
            let ended = tokio::time::timeout(LONGEST_END, self.until_cut_off(&unlucky)).await;
            assert!(
                ended.is_ok(),
                "connections that were cut live on: {unlucky:?}"
            );
        }
    }

    async fn until_cut_off(&self, unlucky: &[String]) {
        let cut_off = "select count(*) from pg_stat_activity
             where datname = current_database()
                 and pid || ' ' || extract(epoch from backend_start) = any($1)";
        let mut left = 1;
        while left > 0 {
            left = sqlx::query_scalar::<_, i64>(cut_off)
                .bind(unlucky)
                .fetch_one(&self.steady.pool)
                .await
                .unwrap();
        }
    }
}

/// What became of a load; nothing where the process could not say.
fn loaded(answer: &Answer) -> Result<Option<Loaded>, String> {
    let detail = &answer.body["detail"];
    let number = |name: &str| detail[name].as_u64().unwrap();
    let is_replay = answer.headers.contains_key("idempotent-replay");
    let cargo = || answer.cargo_id().parse().unwrap();
    Ok(Some(match (answer.status, detail["error"].as_str()) {
        (202, _) if is_replay => Loaded::Replay(cargo()),
        (202, _) => Loaded::New(cargo()),
        (409, _) => Loaded::KeyReused,
        (429, Some("insufficient_credits")) => Loaded::NoCredit {
            required: detail["required"].as_i64().unwrap(),
            available: detail["available"].as_i64().unwrap(),
        },
        (429, Some("quota_exceeded")) => Loaded::NoQuota {
            monthly: number("monthly_tokens"),
            spoken_for: number("used_tokens"),
            required: number("required_tokens"),
        },
        (503, _) => return Ok(None),
        _ => return Err(format!("a load was answered {answer}")),
    }))
}

/// Someone else was faster, which also shows as two who wait for each other.
fn moved(result: Result<Fact, Error>) -> Result<Fact, String> {
    match result {
        Ok(fact) => Ok(fact),
        Err(Error::Moved) => Ok(Fact::Moved),
        Err(failure) if is_deadlock(&failure) => Ok(Fact::Moved),
        Err(failure) => Err(format!("a batch could not be moved: {failure:?}")),
    }
}

/// Only where connections are cut may one be lost.
fn lost(failure: &Error, crash: Crash) -> Result<Known, String> {
    if is_deadlock(failure) || (crash == Crash::Cut && failure.is_away()) {
        Ok(Known::Nothing)
    } else {
        Err(format!("a write failed: {failure:?}"))
    }
}

/// What is heard of whoever writes, if it is heard of.
async fn heard(
    fate: Fate,
    work: impl Future<Output = Result<Known, String>>,
) -> Result<Known, String> {
    match (gone_after(fate.steps(), work).await, fate) {
        (Some(Ok(_)), Fate::Unheard) | (None, _) => Ok(Known::Nothing),
        (Some(known), _) => known,
    }
}

fn is_deadlock(failure: &Error) -> bool {
    let Error::Driver(sqlx::Error::Database(refused)) = failure else {
        return false;
    };
    refused.code().as_deref() == Some("40P01")
}

/// Whoever does this is gone after so many steps: what it holds is dropped where it stands.
async fn gone_after<T>(steps: Option<u32>, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = steps;
    std::future::poll_fn(|context| {
        match &mut left {
            Some(0) => return Poll::Ready(None),
            Some(left) => *left -= 1,
            None => {}
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}
