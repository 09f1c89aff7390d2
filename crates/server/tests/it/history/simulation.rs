//! A simulated day: loads, answers, callbacks with their retries, resends, groups, files, sweeps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::history_retention::HistoryRetention;
use domain::id::{Berth, ResendId, first_id_at};
use domain::money::Money;
use domain::time::start_of_day;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use store::shard::ledger_audit::{self, LedgerAuditReport};
use store::shard::resend::{self, NewResend};
use store::{Shard, WorkloadClass};
use test_support::callback_receiver::CallbackReceiver;
use workers::WorkerSet;
use workers::stage::{Stage as _, StepResult};

use super::sizes;
use crate::support::credit::model_chat_request;
use crate::support::encryption::environment_master_keys;
use crate::support::http::chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};

/// Loads come in so many portions a day, each in another hour.
const PORTIONS: u64 = 4;
const CONCURRENT_LOADS: usize = 32;
/// No server is there: each attempt fails at once.
const DEAD_URL: &str = "http://127.0.0.1:9/callback";
const DEAD_HOST: &str = "127.0.0.1:9";
/// The delays of the retry schedule.
const RETRY_DELAYS: [u64; 5] = [30, 120, 600, 1800, 3600];
const DAILY_CREDIT: Money = Money(100_000_000_000);
const VACUUM_DAYS: u64 = 5;

pub(super) struct HistorySimulation {
    pub(super) service: TestService,
    pub(super) customer: Customer,
    /// With one connection, so that its reads are in the statistics when the test asks for them.
    pub(super) measured: Arc<Shard>,
    /// The stages of this connection.
    pub(super) path: WorkerSet,
    /// Sweeps with more connections: dropping a day needs two.
    sweeps: WorkerSet,
    receiver: CallbackReceiver,
    cargo: u64,
    day: u64,
    /// The tables that have had rows.
    pub(super) filled: BTreeSet<String>,
}

impl HistorySimulation {
    pub(super) async fn new(retention: HistoryRetention, cargo: u64) -> Self {
        let mut service = TestService::with_prices().await;
        let customer = service.create_customer().await;
        service.set_monthly_tokens(&customer, 1 << 50).await;
        for idle in service.worker_sets.drain(..) {
            idle.leave().await.unwrap();
        }
        let url = service.north_url();
        let measured = Shard::connect_lazily("north", &url, 1, service.clock.clone()).unwrap();
        let measured = Arc::new(measured.with_master_keys(environment_master_keys()));
        let north = service.north.clone();
        let join = |shard: Arc<Shard>, node| {
            service.join_worker_set_with(move |deps| {
                deps.shard = shard;
                // The first node audits and sweeps for all.
                deps.options.node = uuid::Uuid::from_u128(node);
                deps.options.retention = retention;
                deps.options.packing.max_items = 1000;
                // No lease is renewed, and a full run takes hours.
                deps.options.lease_duration = Duration::from_hours(72);
            })
        };
        let path = join(measured.clone(), 1).await;
        let sweeps = join(north, 2).await;
        Self {
            customer,
            measured,
            path,
            sweeps,
            receiver: CallbackReceiver::new().await,
            cargo,
            day: 0,
            filled: BTreeSet::new(),
            service,
        }
    }

    pub(super) fn shard(&self) -> &Shard {
        &self.service.north
    }

    pub(super) async fn ledger_report(&self) -> LedgerAuditReport {
        ledger_audit::check_all(self.shard()).await.unwrap()
    }

    pub(super) async fn run_day(&mut self) {
        self.day += 1;
        let tomorrow = start_of_day(self.service.now()) + TimeDelta::days(1);
        self.service.clock.set(tomorrow + TimeDelta::minutes(5));
        self.sweep().await;
        self.service.add_credit(&self.customer, DAILY_CREDIT).await;
        for portion in 0..PORTIONS {
            self.load_portion(portion).await;
            self.note_filled_tables().await;
            self.complete().await;
            self.note_filled_tables().await;
            self.service.clock.advance(Duration::from_hours(1));
        }
        for delay in RETRY_DELAYS {
            self.service.clock.advance(Duration::from_secs(delay));
            let now = self.service.now();
            self.path.deliver.run_until_idle(now).await.unwrap();
        }
        self.resend().await;
        self.insert_files().await;
        self.sweep().await;
        if self.day.is_multiple_of(VACUUM_DAYS) {
            self.vacuum().await;
        }
    }

    /// One load, whose callback is answered.
    pub(super) async fn load_one(&self) {
        let body = chat_request("measured", Some(self.receiver.url()));
        self.service.load(&self.customer, &body).await;
    }

    /// A group of two, an idempotency key on every fifth load, a callback on every tenth, a failure
    /// on every twentieth, and one callback that is never answered.
    async fn load_portion(&self, portion: u64) {
        let (service, customer) = (&self.service, &self.customer);
        let name = format!("day-{}-{portion}", self.day);
        let group = self.post("/groups", &json!({"name": name})).await;
        let count = self.cargo / PORTIONS;
        let bodies = (0..count).map(|n| {
            let mut body = match n {
                0 => chat_request("dead", Some(DEAD_URL)),
                n if n % 20 == 1 => model_chat_request("priced-failing", "fails", 16),
                n if n % 10 == 2 => chat_request("called back", Some(self.receiver.url())),
                _ => model_chat_request("priced", "a question", 16),
            };
            if n == 1 || n == 3 {
                body["group_id"] = group["group_id"].clone();
            }
            (n, body)
        });
        stream::iter(bodies)
            .for_each_concurrent(CONCURRENT_LOADS, |(n, body)| {
                let key = format!("{}-{portion}-{n}", self.day);
                async move {
                    let answer = if n % 5 == 0 {
                        service.post_load_with_key(customer, &key, &body).await
                    } else {
                        service.post_load(customer, &body).await
                    };
                    assert_eq!(answer.status, 202, "{}", answer.body);
                }
            })
            .await;
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let request = axum::http::Request::post(path).header("X-API-Key", &self.customer.key);
        let request = request.body(axum::body::Body::from(body.to_string()));
        let answer = self.service.send(request.unwrap()).await;
        assert!(answer.status < 300, "{}", answer.body);
        answer.body
    }

    async fn complete(&mut self) {
        for _ in 0..2 {
            self.run_path().await;
            self.service.clock.advance(MOCK_DELAY);
        }
        self.run_path().await;
    }

    async fn run_path(&mut self) {
        let now = self.service.now();
        loop {
            let mut is_idle = true;
            for stage in [
                &mut self.path.gather as &mut dyn workers::stage::Stage,
                &mut self.path.dispatch,
                &mut self.path.collect,
            ] {
                is_idle &= stage.step(now).await.unwrap() == StepResult::Idle;
            }
            if is_idle {
                break;
            }
        }
        self.note_filled_tables().await;
        self.path.deliver.run_until_idle(now).await.unwrap();
    }

    /// In the first days, before the queues are empty again.
    async fn note_filled_tables(&mut self) {
        if self.day <= 2 {
            let sizes = sizes::read(self.shard()).await;
            self.filled.extend(sizes::list_filled(&sizes));
        }
    }

    /// Sends the failed callbacks of the last two days once more.
    async fn resend(&mut self) {
        let now = self.service.now();
        let new = NewResend {
            id: ResendId::new(now, Berth::new(0).unwrap(), rand::random()),
            organization: self.customer.organization,
            project: self.customer.project,
            host: DEAD_HOST.to_owned(),
            first: first_id_at(now - TimeDelta::days(2)),
            last: first_id_at(now),
            per_second: 1000,
            started_by: "history".to_owned(),
        };
        assert!(resend::start(self.shard(), &new, now).await.unwrap() > 0);
        for _ in 0..3 {
            let now = self.service.clock.advance(Duration::from_secs(1));
            self.path.resend.step(now).await.unwrap();
            self.path.deliver.run_until_idle(now).await.unwrap();
        }
    }

    /// Three files that have expired and one that has failed.
    async fn insert_files(&self) {
        let rows = "insert into shard.file (id, organization, project, status, kind, media_type,
                filename, size_bytes, sha256, ttl_seconds, failure_reason, created_at, ended_at,
                staged)
            select (left(shard.id_floor($3)::text, 13) || right(gen_random_uuid()::text, 23))::uuid,
                $1, $2, case n when 1 then 'failed' else 'expired' end, 'image', 'image/png', 'x', 1,
                decode(repeat('00', 32), 'hex'), 60, 'upload_missing', $3,
                case n when 1 then null else $3 end, false
            from generate_series(1, 4) n";
        sqlx::query(rows)
            .bind(self.customer.organization.uuid())
            .bind(self.customer.project.uuid())
            .bind(self.service.now())
            .execute(&self.shard().pool)
            .await
            .unwrap();
    }

    /// The sweeps of several seconds, so that all counts are folded.
    async fn sweep(&mut self) {
        for _ in 0..3 {
            let now = self.service.clock.advance(Duration::from_mins(2));
            self.sweeps.sweep.step(now).await.unwrap();
        }
        let now = self.service.now();
        // A resend ends with the step that finds no further callback.
        while self.path.resend.step(now).await.unwrap() != StepResult::Idle {}
        self.path.deliver.run_until_idle(now).await.unwrap();
        // The audit and the history are the first node's.
        self.path.audit.step(now).await.unwrap();
        assert_eq!(self.path.audit.faults(), []);
        self.path.sweep_history.step(now).await.unwrap();
    }

    /// What autovacuum does on a server that runs for days.
    async fn vacuum(&self) {
        let patient = self.shard().background.with_class(WorkloadClass::Operator);
        let vacuum = sqlx::raw_sql("vacuum analyze");
        vacuum.execute(&patient).await.unwrap();
    }

    /// Nothing is loaded any more, and every retention passes.
    pub(super) async fn wait_for_every_retention(&mut self) {
        // Days are frozen, then dropped behind closing balances.
        for _ in 0..2 {
            self.service.clock.advance(Duration::from_hours(4 * 24));
            self.sweep().await;
            let sizes = sizes::read(self.shard()).await;
            self.filled.extend(sizes::list_filled(&sizes));
        }
        for _ in 0..3 {
            self.service.clock.advance(Duration::from_hours(100 * 24));
            self.sweep().await;
            self.sweep().await;
        }
    }
}
