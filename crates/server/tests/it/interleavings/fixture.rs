//! One real database, three worker sets with a pool each, and an operator.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::history_retention::HistoryRetention;
use domain::hold::Hold;
use domain::id::{ApiKeyId, Berth, CargoId, OrganizationId, ProjectId};
use domain::lane::{Lane, LaneId};
use domain::model::{Catalogue, Model, ModelKind};
use domain::money::Money;
use domain::params::Params;
use domain::response_shape::ResponseShape;
use domain::retry_schedule::RetrySchedule;
use domain::time::Clock as _;
use outbound::provider::mock::MockProvider;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Decode, PgConnection, Postgres, Type};
use store::encryption::WriteKeys;
use store::shard::credit::{self, Payment, PaymentDirection};
use store::shard::load::{self, NewCargo};
use store::shard::node::session_name;
use store::shard::{account, lane};
use store::{PoolOptions, Shard, body};
use test_support::clock::ManualClock;
use test_support::database::TestDatabase;
use tokio::sync::watch;
use uuid::Uuid;
use workers::{
    AccountShare, AccountSlots, CallbackLimits, PackingLimits, ProviderAccess, Providers,
    WorkerSetDeps,
};

use super::fake_provider::{FakeProviderAccount, NodeBatchProvider};
use super::gate::{GateInterceptor, TaskGate};
use super::guard_triggers;
use super::recording_receiver::NodeCallbackClient;
use super::seed_plan::SeedPlan;
use crate::support::credit::priced_model;

pub(super) const NODE_COUNT: usize = 3;
/// The index of the operator, who resends callbacks through a separate pool, and of callers who
/// cancel cargo.
pub(super) const OPERATOR: usize = NODE_COUNT;
const MAX_CONNECTIONS: usize = 16;
/// Two batches for each submission slot of an account.
const MAX_BACKLOG: usize = 2;
const CARGO_PER_MODEL: u64 = 2;
const CREATE_TIMEOUT: TimeDelta = TimeDelta::seconds(60);
const RESUBMIT_GRACE: TimeDelta = TimeDelta::seconds(60);
const LEASE_DURATION: Duration = Duration::from_hours(1);

/// How PostgreSQL identifies a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeIdentity {
    pub(super) id: Uuid,
    /// Whether its peers recognize its sessions.
    is_named: bool,
}

impl NodeIdentity {
    /// The application name of its sessions.
    pub(super) fn application_name(&self) -> String {
        if self.is_named {
            session_name(self.id)
        } else {
            format!("pooled {}", self.id)
        }
    }
}

pub(super) struct InterleavingFixture {
    pub(super) database: TestDatabase,
    pub(super) gate: Arc<TaskGate>,
    /// By index, and by whether peers recognize the sessions.
    nodes: HashMap<(usize, bool), (NodeIdentity, Arc<Shard>)>,
    catalogue: watch::Receiver<Arc<Catalogue>>,
    models: [Model; 2],
    lanes: [LaneId; 2],
    /// Runs queries and holds advisory locks for the scheduler, without a timeout.
    observer: tokio::sync::Mutex<PgConnection>,
}

/// An organization whose cargo a seed processes.
#[derive(Debug, Clone)]
pub(super) struct SeedCustomer {
    pub(super) organization: OrganizationId,
    pub(super) project: ProjectId,
    pub(super) host: String,
    pub(super) cargo: Vec<CargoId>,
}

impl InterleavingFixture {
    pub(super) async fn new() -> Self {
        let database = TestDatabase::new().await;
        guard_triggers::install(&database.shard, MAX_BACKLOG).await;
        let price = crate::support::credit::PRICE;
        let mut jobs = priced_model("in-jobs", ModelKind::Chat, price);
        jobs.routes = domain::route::Routes::from(crate::support::simulated_providers::route(
            "jobs",
            domain::route::InferenceMode::Batch,
        ));
        let models = [jobs, priced_model("mocked", ModelKind::Chat, price)];
        let mut lanes = [LaneId(0); 2];
        for (id, model) in lanes.iter_mut().zip(&models) {
            let lane = Lane::of(model, model.routes.preferred(&database.shard.name));
            *id = lane::ensure(&database.shard, &lane).await.unwrap();
        }
        let observer = PgConnection::connect(&database.url()).await.unwrap();
        let catalogue = Arc::new(Catalogue::new(models.clone()));
        let gate = Arc::new(TaskGate::default());
        let (mut nodes, installation) = (HashMap::new(), rand::random());
        for node in 0..=OPERATOR {
            for is_named in [true, false] {
                // Unique to this database, so that a takeover ends no session of another test.
                let id = Uuid::from_u64_pair(installation, node as u64 * 2 + u64::from(is_named));
                let identity = NodeIdentity { id, is_named };
                let shard = connect(&database, &identity, node, &gate);
                nodes.insert((node, is_named), (identity, Arc::new(shard)));
            }
        }
        Self {
            database,
            gate,
            nodes,
            catalogue: watch::channel(catalogue).1,
            models,
            lanes,
            observer: tokio::sync::Mutex::new(observer),
        }
    }

    /// Counts the sessions that wait for a lock and the tasks that wait for a slot.
    pub(super) async fn count_blocked(&self) -> usize {
        // The view pg_stat_activity reads more, and this query runs often.
        let blocked = "select count(*) from pg_stat_get_activity(null)
                       where wait_event_type = 'Lock'
                           and datid = (select oid from pg_database where datname = current_database())";
        let shards = self.nodes.values().map(|(_, shard)| shard);
        let waiting: usize = shards
            .map(|shard| shard.outcome_group_slots.waiting() + shard.cancel_request_slots.waiting())
            .sum();
        waiting + usize::try_from(self.query_column::<i64>(blocked).await[0]).unwrap()
    }

    /// Finds a renewal that a session of another node blocks, and that session's query.
    pub(super) async fn find_blocked_renewal(&self) -> Option<String> {
        let blocked = "select concat_ws(' ', a.application_name, 'by', b.application_name, b.query)
            from pg_stat_activity a
                cross join lateral unnest(pg_blocking_pids(a.pid)) as blocking (pid)
                join pg_stat_activity b on b.pid = blocking.pid
            where a.datname = current_database() and a.application_name <> b.application_name
                and (a.query like 'update shard.node set seen_until%'
                    or a.query like 'select epoch from shard.node%')";
        self.query_column(blocked).await.pop()
    }

    /// Returns the first column of a query's rows.
    pub(super) async fn query_column<T>(&self, query: &str) -> Vec<T>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres> + Send + Unpin,
    {
        let query = sqlx::query_scalar(AssertSqlSafe(query.to_owned()));
        let mut observer = self.observer.lock().await;
        query.fetch_all(&mut *observer).await.unwrap()
    }

    pub(super) fn clock(&self) -> Arc<ManualClock> {
        self.database.clock.clone()
    }

    pub(super) fn shard(&self, node: usize, plan: &SeedPlan) -> Arc<Shard> {
        self.nodes[&(node, plan.has_named_sessions)].1.clone()
    }

    pub(super) fn identity(&self, node: usize, plan: &SeedPlan) -> NodeIdentity {
        self.nodes[&(node, plan.has_named_sessions)].0
    }

    pub(super) fn provider_account(&self, seed: u64, plan: &SeedPlan) -> FakeProviderAccount {
        FakeProviderAccount {
            job_prefix: format!("job-{seed}"),
            clock: self.clock(),
            gate: self.gate.clone(),
            create_timeout: CREATE_TIMEOUT,
            listing_delay: TimeDelta::seconds(plan.hidden_seconds),
            supports_labels: plan.supports_labels,
            jobs: std::sync::Mutex::default(),
        }
    }

    pub(super) fn worker_set_deps(
        &self,
        node: usize,
        plan: &SeedPlan,
        account: &Arc<FakeProviderAccount>,
        callbacks: NodeCallbackClient,
    ) -> WorkerSetDeps {
        let jobs = ProviderAccess::Batch {
            batch: Arc::new(NodeBatchProvider {
                node,
                account: account.clone(),
            }),
            realtime: None,
            share: account_share(plan),
        };
        let mock = ProviderAccess::Mock(MockProvider::new(Duration::from_secs(20)));
        let providers = [("jobs".to_owned(), jobs), ("mock".to_owned(), mock)];
        WorkerSetDeps {
            shard: self.shard(node, plan),
            catalogue: self.catalogue.clone(),
            providers: Arc::new(Providers(providers.into())),
            callbacks: Arc::new(callbacks),
            files: None,
            tracer: None,
            options: workers::Options {
                node: self.identity(node, plan).id,
                ..worker_options(node, plan)
            },
        }
    }

    /// Loads cargo of both models for two organizations.
    pub(super) async fn load(&self) -> Vec<SeedCustomer> {
        let mut customers = Vec::new();
        for host in ["one.example", "two.example"] {
            let now = self.clock().advance(Duration::from_millis(1));
            let berth = Berth::new(0).unwrap();
            let mut customer = SeedCustomer {
                organization: OrganizationId::new(now, berth, rand::random()),
                project: ProjectId::new(now, berth, rand::random()),
                host: host.to_owned(),
                cargo: Vec::new(),
            };
            let shard = &self.database.shard;
            account::open(shard, customer.organization, now)
                .await
                .unwrap();
            let payment = Payment {
                amount: Money(1_000_000_000),
                direction: PaymentDirection::In,
                reference: None,
                note: None,
            };
            let paid = credit::pay(shard, customer.organization, &payment, now).await;
            assert!(
                matches!(paid, Ok(credit::PaymentResult::Posted { .. })),
                "{paid:?}"
            );
            self.load_for(&mut customer).await;
            customers.push(customer);
        }
        customers
    }

    async fn load_for(&self, customer: &mut SeedCustomer) {
        let shard = &self.database.shard;
        let mut tx = shard.begin().await.unwrap();
        let organizations = [customer.organization];
        let locked = account::lock_all(&mut tx, &organizations).await;
        let mut account = locked.unwrap().accounts[0];
        let mut loads = Vec::new();
        for number in 0..CARGO_PER_MODEL {
            for (model, lane) in self.models.iter().zip(self.lanes) {
                // The cargo have the same order in every run.
                let now = self.clock().advance(Duration::from_millis(1));
                let request = json!({
                    "model": model.id, "max_tokens": 64,
                    "messages": [{"role": "user", "content": format!("crate {number}")}],
                });
                let params: Params = serde_json::from_value(request).unwrap();
                let hold = Hold::of(&params, model, &[]);
                account.place_hold(&hold, None, now).unwrap();
                let id = CargoId::new(now, customer.organization.berth(), rand::random());
                customer.cargo.push(id);
                let url = format!("http://{}/hook", customer.host);
                loads.push(NewCargo {
                    id,
                    organization: customer.organization,
                    project: customer.project,
                    key: ApiKeyId::new(now, customer.organization.berth(), 1),
                    lane,
                    model: model.id.clone(),
                    callback: Some((url, customer.host.clone())),
                    request: body::pack(&serde_json::to_vec(&params).unwrap()),
                    metadata: None,
                    idempotency: None,
                    hold,
                    spending_key: None,
                    files: Vec::new(),
                    response_shape: ResponseShape::default(),
                    warnings: None,
                    deadline_at: None,
                    route_reason: None,
                    trace: None,
                    custom_id: None,
                    member: None,
                });
            }
        }
        account::write(&mut tx, &[account]).await.unwrap();
        let keys = WriteKeys::plain([customer.project]);
        load::insert(&mut tx, loads, &keys, self.clock().now())
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
}

fn connect(
    database: &TestDatabase,
    identity: &NodeIdentity,
    node: usize,
    gate: &Arc<TaskGate>,
) -> Shard {
    let options = PoolOptions {
        connections: MAX_CONNECTIONS,
        application: identity.application_name(),
        interceptor: Some(Arc::new(GateInterceptor {
            node,
            gate: gate.clone(),
        })),
    };
    Shard::new("main", &database.url(), &options, database.clock.clone()).unwrap()
}

fn account_share(plan: &SeedPlan) -> AccountShare {
    AccountShare {
        max_items: plan.max_items,
        max_bytes: 1 << 20,
        max_tokens: 1 << 30,
        max_enqueued_tokens: 1 << 30,
        max_concurrent_requests: 4,
        linger: TimeDelta::zero(),
        grace: RESUBMIT_GRACE,
        create_timeout: CREATE_TIMEOUT,
    }
}

fn worker_options(node: usize, plan: &SeedPlan) -> workers::Options {
    workers::Options {
        node: Uuid::nil(),
        name: format!("node {node}"),
        lease_duration: LEASE_DURATION,
        packing: PackingLimits {
            max_items: plan.max_items,
            linger: TimeDelta::zero(),
        },
        account_slots: AccountSlots {
            submissions: MAX_BACKLOG / 2,
            polls: 4,
            streams: 1,
        },
        callback_limits: CallbackLimits {
            slots: 16,
            per_destination: 4,
            payload_bytes: 1 << 20,
        },
        // Two attempts: the callback fails after the second one.
        retry_schedule: RetrySchedule::new([TimeDelta::seconds(30)]),
        listener_timeout: None,
        signing_roots: None,
        retention: HistoryRetention::default(),
        spool_dir: std::env::temp_dir(),
        drain_timeout: Duration::from_secs(1),
    }
}
