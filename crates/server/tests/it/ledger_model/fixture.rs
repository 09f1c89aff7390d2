//! The system under test: two serve processes, the store and PostgreSQL. It also cuts connections.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use domain::id::{BatchId, CargoId};
use domain::lane::{Lane, LaneId};
use domain::route::InferenceMode;
use domain::time::Timestamp;
use futures::future::join_all;
use sqlx::ConnectOptions as _;
use store::body;
use store::shard::credit::{self, Payment};
use store::shard::outcome::{self, ExpectedCargoState, NewOutcome};
use store::shard::waiting::{self, GatherQuota};
use store::shard::{batch, lane};
use store::{Error, PoolOptions, Shard};
use test_support::ledger_proof;

use super::client::{ObservedResult, run_client};
use super::history::{ClientFault, RoundFault};
use super::operation::{
    GeneratedOutcome, LIVE_CLAIM, LedgerLoadResult, LedgerOperation, LoadOperation,
    OperationResult, RecordOperation, TEST_MODELS,
};
use super::rollback::{fenced_or_error, repeat_idempotent, repeat_rolled_back, unknown_or_error};
use crate::support::claims::claim_gathered;
use crate::support::http::{AppResponse, send};
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, DatabaseLayout, TestService};

const DISCONNECT_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) struct LedgerModelFixture {
    pub(super) service: TestService,
    routers: [axum::Router; 2],
    pub(super) customers: Vec<Customer>,
    lanes: Vec<LaneId>,
    /// A shard whose connections are never cut.
    pub(super) stable_shard: Shard,
    /// As `longshored admin ledger check` opens it: to check a million operations takes long.
    pub(super) operator_shard: Shard,
}

impl LedgerModelFixture {
    pub(super) async fn new() -> Self {
        // The model reads outcomes as they are stored.
        let service = Box::pin(TestService::build(
            DatabaseLayout::ControlApart,
            TestLimits::default(),
            None,
            None,
        ))
        .await;
        let mut lanes = Vec::new();
        for test_model in &TEST_MODELS {
            let model = test_model.to_model();
            let lane = Lane::preferred(&model, &service.north.name);
            lanes.push(lane::ensure(&service.north, &lane).await.unwrap());
            service.add_model(model);
        }
        let url = service.north.pool.connect_options().to_url_lossy();
        let options = PoolOptions {
            connections: 8,
            application: "stable".to_owned(),
            interceptor: None,
        };
        let clock = service.clock.clone();
        let open = |name| Shard::new(name, url.as_str(), &options, clock.clone()).unwrap();
        let (stable_shard, operator_shard) = (open("stable"), open("operator").for_operator());
        let other = service.start_another_app().await;
        Self {
            routers: [service.router.clone(), api::router(other)],
            customers: Vec::new(),
            lanes,
            stable_shard,
            operator_shard,
            service,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.service.now()
    }

    /// Runs the operations of a round concurrently.
    pub(super) async fn run_operations(
        &self,
        round: &[LedgerOperation],
        client_faults: &[ClientFault],
        fault: RoundFault,
    ) -> Result<Vec<ObservedResult>, String> {
        let clients = round
            .iter()
            .zip(client_faults)
            .map(|(operation, client_fault)| async move {
                match operation {
                    LedgerOperation::Pay {
                        organization,
                        payment,
                    } => run_client(*client_fault, self.pay(*organization, payment, fault)).await,
                    LedgerOperation::Record(record) => {
                        run_client(*client_fault, Box::pin(self.store_outcomes(record, fault)))
                            .await
                    }
                    LedgerOperation::Load(loads) => {
                        let mut loaded = self.post_loads(loads).await?;
                        if *client_fault == ClientFault::AnswerLost {
                            loaded.iter_mut().step_by(2).for_each(|it| *it = None);
                        }
                        Ok(ObservedResult::Loads(loaded))
                    }
                    LedgerOperation::Gather {
                        model,
                        max: most,
                        batch,
                    } => self
                        .gather(*model, *most, *batch)
                        .await
                        .map(ObservedResult::Complete),
                    LedgerOperation::End(batch) => {
                        let ended = batch::end(
                            &self.stable_shard,
                            *batch,
                            LIVE_CLAIM,
                            batch::RequeuePlan::default(),
                            self.now(),
                        )
                        .await;
                        fenced_or_error(ended.map(|_| OperationResult::Ended))
                            .map(ObservedResult::Complete)
                    }
                    LedgerOperation::Split {
                        batch,
                        cargo,
                        halves,
                    } => self
                        .split_batch(*batch, cargo, *halves)
                        .await
                        .map(ObservedResult::Complete),
                    LedgerOperation::Audit => self.audit().await.map(ObservedResult::Complete),
                }
            });
        let cutting = async {
            if fault == RoundFault::ConnectionsCut {
                self.cut_connections().await;
            }
        };
        let (observed, ()) = tokio::join!(join_all(clients), cutting);
        observed.into_iter().collect()
    }

    async fn pay(
        &self,
        organization: usize,
        payment: &Payment,
        fault: RoundFault,
    ) -> Result<ObservedResult, String> {
        let organization = self.customers[organization].organization;
        match credit::pay(&self.service.north, organization, payment, self.now()).await {
            Ok(paid) => Ok(ObservedResult::Complete(OperationResult::Paid(paid))),
            Err(failure) => unknown_or_error(&failure, fault),
        }
    }

    async fn store_outcomes(
        &self,
        record: &RecordOperation,
        fault: RoundFault,
    ) -> Result<ObservedResult, String> {
        match self.record_outcomes(&self.service.north, record).await {
            Ok(stored) => Ok(ObservedResult::Complete(OperationResult::Stored(stored))),
            Err(Error::Fenced) => Ok(ObservedResult::Complete(OperationResult::Fenced)),
            Err(failure) => unknown_or_error(&failure, fault),
        }
    }

    pub(super) async fn record_outcomes(
        &self,
        shard: &Shard,
        record: &RecordOperation,
    ) -> Result<Vec<GeneratedOutcome>, Error> {
        let outcomes = record.outcomes.iter().map(|outcome| NewOutcome {
            cargo: outcome.cargo,
            // Only encryption needs it, and that is off here.
            project: uuid::Uuid::nil().into(),
            attempt: outcome.attempt,
            success: outcome.success,
            failure_code: None,
            body: body::pack(record.tag.as_bytes()),
            usage: outcome.usage,
            cost: TEST_MODELS[outcome.model].cost_of(outcome.usage),
            served: Some(InferenceMode::Batch),
            realtime: None,
            claim_delivery: false,
        });
        let expected = record
            .batch
            .map_or(ExpectedCargoState::Waiting, ExpectedCargoState::InBatch);
        let now = self.now();
        let stored =
            outcome::record(shard, expected, record.claim, outcomes.collect(), now).await?;
        let mut recorded = Vec::with_capacity(stored.len());
        for cargo in stored {
            let mut candidates = record.outcomes.iter().filter(|it| it.cargo == cargo);
            match (candidates.next(), candidates.next()) {
                (Some(only), None) => recorded.push(*only),
                // The row shows which of them was stored.
                _ => recorded.extend(self.read_stored(record, &[cargo]).await),
            }
        }
        Ok(recorded)
    }

    pub(super) async fn post_loads(
        &self,
        loads: &[LoadOperation],
    ) -> Result<Vec<Option<LedgerLoadResult>>, String> {
        let answers = loads.iter().map(|load| async {
            let key = &self.customers[load.organization].key;
            let mut request = Request::post("/cargo/load").header("X-API-Key", key);
            if let Some(name) = &load.key {
                request = request.header("Idempotency-Key", name);
            }
            let request = request.body(Body::from(load.body.clone())).unwrap();
            let answer = send(self.routers[load.process].clone(), request).await;
            parse_load_result(&answer)
        });
        join_all(answers).await.into_iter().collect()
    }

    async fn gather(
        &self,
        model: usize,
        most: usize,
        id: BatchId,
    ) -> Result<OperationResult, String> {
        let (lane, now) = (self.lanes[model], self.now());
        let gathered = async {
            let limit = std::time::Duration::from_mins(1);
            let waiting = waiting::list_organizations(&self.stable_shard, lane, limit).await?;
            let waiting = waiting.unwrap_or_default();
            let quotas: Vec<_> = waiting
                .into_iter()
                .map(|one| GatherQuota {
                    organization: one.organization,
                    after: uuid::Uuid::nil(),
                    max: most,
                })
                .collect();
            let mut tx = self.stable_shard.begin().await?;
            let picked = waiting::pick(&mut tx, lane, &quotas, now).await?;
            if picked.is_empty() {
                return Ok(Vec::new());
            }
            // Cargo that left the queue since it was picked is left out.
            waiting::gather(&mut tx, lane, id, &picked, now).await?;
            let members = sqlx::query_scalar("select cargo from shard.batch where id = $1");
            let members = members.bind(id.uuid()).fetch_optional(&mut *tx).await?;
            let members: Vec<uuid::Uuid> = members.unwrap_or_default();
            tx.commit().await?;
            Ok(members.into_iter().map(CargoId::from).collect())
        };
        let gathered = fenced_or_error(gathered.await.map(OperationResult::Gathered))?;
        self.claim_new_batches().await?;
        Ok(gathered)
    }

    async fn claim_new_batches(&self) -> Result<(), String> {
        let now = self.now();
        let claim = async || claim_gathered(&self.stable_shard, LIVE_CLAIM, 100, now).await;
        let claimed = repeat_idempotent(claim).await;
        claimed.map_err(|failure| format!("new batches were not claimed: {failure:?}"))?;
        Ok(())
    }

    async fn split_batch(
        &self,
        batch: BatchId,
        cargo: &[CargoId],
        halves: [BatchId; 2],
    ) -> Result<OperationResult, String> {
        let claimed = batch::ClaimedBatchRow {
            id: batch,
            // The test never gathers the halves again, so any lane will do.
            lane: self.lanes[0],
            cargo: cargo.to_vec(),
            job: None,
            takeovers: 0,
            first_deadline_at: None,
        };
        let now = self.now();
        let split = batch::split(&self.stable_shard, &claimed, LIVE_CLAIM, halves, now).await;
        let split = fenced_or_error(split.map(|()| OperationResult::Ended))?;
        self.claim_new_batches().await?;
        Ok(split)
    }

    pub(super) async fn audit(&self) -> Result<OperationResult, String> {
        let now = self.now();
        let finish = async || ledger_proof::finish_pass(&self.stable_shard, now).await;
        let finished = repeat_rolled_back(finish).await;
        finished.map_err(|failure| format!("the audit failed: {failure}"))?;
        let audit = async || ledger_proof::audit(&self.stable_shard, now).await;
        match repeat_rolled_back(audit).await {
            Ok(faults) if faults.is_empty() => Ok(OperationResult::AuditPassed),
            other => Err(format!("the audit found {other:?}")),
        }
    }

    /// Cuts connections of the service at random times of the round.
    async fn cut_connections(&self) {
        // A backend is identified by its start time too, because a pid can be reused immediately.
        let cut = "select pid || ' ' || extract(epoch from backend_start) from (
                 select pid, backend_start from pg_stat_activity
                 where datname = current_database() and application_name = 'longshored'
                     and state <> 'idle'
                 order by random() limit 2
             ) as cut_backends where pg_terminate_backend(pid)";
        for _ in 0..rand::random_range(1..4) {
            let delay = Duration::from_micros(rand::random_range(0..12_000));
            tokio::time::sleep(delay).await;
            let cut_backends: Vec<String> = sqlx::query_scalar(cut)
                .fetch_all(&self.stable_shard.pool)
                .await
                .unwrap();
            // No cut connection may last into the next round.
            let ended = tokio::time::timeout(
                DISCONNECT_TIMEOUT,
                self.wait_until_disconnected(&cut_backends),
            )
            .await;
            assert!(
                ended.is_ok(),
                "connections that were cut are still open: {cut_backends:?}"
            );
        }
    }

    async fn wait_until_disconnected(&self, cut_backends: &[String]) {
        let cut_off = "select count(*) from pg_stat_activity
             where datname = current_database()
                 and pid || ' ' || extract(epoch from backend_start) = any($1)";
        let mut left = 1;
        while left > 0 {
            left = sqlx::query_scalar::<_, i64>(cut_off)
                .bind(cut_backends)
                .fetch_one(&self.stable_shard.pool)
                .await
                .unwrap();
        }
    }
}

/// The result of a load. None if the process answered 503.
fn parse_load_result(answer: &AppResponse) -> Result<Option<LedgerLoadResult>, String> {
    let detail = &answer.body["detail"];
    let number = |name: &str| detail[name].as_u64().unwrap();
    let is_replay = answer.headers.contains_key("idempotent-replay");
    let cargo = || answer.cargo_id().parse().unwrap();
    Ok(Some(match (answer.status, detail["error"].as_str()) {
        (202, _) if is_replay => LedgerLoadResult::Replay(cargo()),
        (202, _) => LedgerLoadResult::New(cargo()),
        (409, _) => LedgerLoadResult::KeyReused,
        (429, Some("insufficient_credits")) => LedgerLoadResult::InsufficientCredit {
            required: detail["required"].as_i64().unwrap(),
            available: detail["available"].as_i64().unwrap(),
        },
        (429, Some("quota_exceeded")) => LedgerLoadResult::QuotaExceeded {
            monthly: number("monthly_tokens"),
            committed_tokens: number("used_tokens"),
            required: number("required_tokens"),
        },
        (503, _) => return Ok(None),
        _ => return Err(format!("a load was answered {answer}")),
    }))
}
