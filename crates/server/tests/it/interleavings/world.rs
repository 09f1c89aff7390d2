//! One real database, three sets of workers that reach it through their own pools, and an operator.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::delivery::Schedule;
use domain::hold::Hold;
use domain::id::{Berth, CargoId, KeyId, OrganizationId, ProjectId};
use domain::lane::{Lane, LaneId};
use domain::model::{Catalogue, Kind, Model};
use domain::money::Money;
use domain::params::Params;
use domain::time::Clock as _;
use outbound::provider::mock::Mock;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Decode, PgConnection, Postgres, Type};
use store::shard::credit::{self, Direction, Payment};
use store::shard::load::{self, NewCargo};
use store::shard::node::session_name;
use store::shard::{account, lane};
use store::{PoolOptions, Shard, body};
use tokio::sync::watch;
use uuid::Uuid;
use workers::{Access, AccountSlots, CallbackLimits, Packing, Parts, Providers, Share};

use super::gate::{Gate, Statements};
use super::guards;
use super::plan::Plan;
use super::provider::{Account, NodeAccount};
use super::receiver::NodeCallbacks;
use crate::database::{Database, HandMoved};
use crate::support::credit::priced;

pub(super) const NODES: usize = 3;
/// The pools of whoever asks for callbacks again.
pub(super) const OPERATOR: usize = NODES;
const CONNECTIONS: usize = 16;
/// Two for each slot of an account.
const MAX_BACKLOG: usize = 2;
const CARGO_OF_EACH: u64 = 2;
const CREATE_TIMEOUT: TimeDelta = TimeDelta::seconds(60);
const GRACE: TimeDelta = TimeDelta::seconds(60);
const LEASE: Duration = Duration::from_hours(1);

/// Who a node is to PostgreSQL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    pub(super) id: Uuid,
    /// Whether its peers recognize its sessions.
    is_named: bool,
}

impl Identity {
    /// How its sessions are called.
    pub(super) fn application(&self) -> String {
        if self.is_named {
            session_name(self.id)
        } else {
            format!("pooled {}", self.id)
        }
    }
}

pub(super) struct World {
    pub(super) database: Database,
    pub(super) gate: Arc<Gate>,
    /// With sessions that peers know, and without.
    nodes: HashMap<(usize, bool), (Identity, Arc<Shard>)>,
    catalogue: watch::Receiver<Arc<Catalogue>>,
    models: [Model; 2],
    lanes: [LaneId; 2],
    /// Asks and holds locks for the scheduler. It has all the time that it needs.
    observer: tokio::sync::Mutex<PgConnection>,
}

/// Whose cargo a seed carries.
#[derive(Debug, Clone)]
pub(super) struct Customer {
    pub(super) organization: OrganizationId,
    pub(super) project: ProjectId,
    pub(super) host: String,
    pub(super) cargo: Vec<CargoId>,
}

impl World {
    pub(super) async fn new() -> Self {
        let database = Database::new().await;
        guards::set_up(&database.shard, MAX_BACKLOG).await;
        let price = crate::support::credit::PRICE;
        let mut jobs = priced("in-jobs", Kind::Chat, price);
        jobs.routes = domain::route::Routes::from(crate::support::jobs::route(
            "jobs",
            domain::route::Via::Batch,
        ));
        let models = [jobs, priced("mocked", Kind::Chat, price)];
        let mut lanes = [LaneId(0); 2];
        for (id, model) in lanes.iter_mut().zip(&models) {
            let wanted = Lane::entered(model, &database.shard.name);
            *id = lane::ensure(&database.shard, &wanted).await.unwrap();
        }
        let observer = PgConnection::connect(&database.url()).await.unwrap();
        let catalogue = Arc::new(Catalogue::new(models.clone()));
        let gate = Arc::new(Gate::default());
        let (mut nodes, installation) = (HashMap::new(), rand::random());
        for node in 0..=OPERATOR {
            for is_named in [true, false] {
                // Of one database: the others of this server are not theirs to end.
                let id = Uuid::from_u64_pair(installation, node as u64 * 2 + u64::from(is_named));
                let identity = Identity { id, is_named };
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

    /// How many sessions wait for a lock, and tasks for their turn to store outcomes.
    pub(super) async fn blocked(&self) -> usize {
        // Of the view pg_stat_activity only what is needed: this is asked often.
        let blocked = "select count(*) from pg_stat_get_activity(null)
                       where wait_event_type = 'Lock'
                           and datid = (select oid from pg_database where datname = current_database())";
        let shards = self.nodes.values().map(|(_, shard)| shard);
        let waiting: usize = shards.map(|shard| shard.outcome_groups.waiting()).sum();
        waiting + usize::try_from(self.ask::<i64>(blocked).await[0]).unwrap()
    }

    /// A renewal that waits for a session of another node, and what that one does.
    pub(super) async fn blocked_renewal(&self) -> Option<String> {
        let blocked = "select concat_ws(' ', a.application_name, 'by', b.application_name, b.query)
            from pg_stat_activity a
                cross join lateral unnest(pg_blocking_pids(a.pid)) as blocking (pid)
                join pg_stat_activity b on b.pid = blocking.pid
            where a.datname = current_database() and a.application_name <> b.application_name
                and (a.query like 'update shard.node set seen_until%'
                    or a.query like 'select epoch from shard.node%')";
        self.ask(blocked).await.pop()
    }

    /// The first column of what a query returns.
    pub(super) async fn ask<T>(&self, query: &str) -> Vec<T>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres> + Send + Unpin,
    {
        let query = sqlx::query_scalar(AssertSqlSafe(query.to_owned()));
        let mut observer = self.observer.lock().await;
        query.fetch_all(&mut *observer).await.unwrap()
    }

    pub(super) fn clock(&self) -> Arc<HandMoved> {
        self.database.clock.clone()
    }

    pub(super) fn shard(&self, node: usize, plan: &Plan) -> Arc<Shard> {
        self.nodes[&(node, plan.has_named_sessions)].1.clone()
    }

    pub(super) fn identity(&self, node: usize, plan: &Plan) -> Identity {
        self.nodes[&(node, plan.has_named_sessions)].0
    }

    pub(super) fn account(&self, seed: u64, plan: &Plan) -> Account {
        Account {
            name: format!("job-{seed}"),
            clock: self.clock(),
            gate: self.gate.clone(),
            create_timeout: CREATE_TIMEOUT,
            hidden_for: TimeDelta::seconds(plan.hidden_seconds),
            is_labelled: plan.is_labelled,
            jobs: std::sync::Mutex::default(),
        }
    }

    pub(super) fn parts(
        &self,
        node: usize,
        plan: &Plan,
        account: &Arc<Account>,
        callbacks: NodeCallbacks,
    ) -> Parts {
        let jobs = Access::Jobs {
            jobs: Arc::new(NodeAccount {
                node,
                account: account.clone(),
            }),
            realtime: None,
            share: share(plan),
        };
        let mock = Access::Mock(Arc::new(Mock::new(Duration::from_secs(20))));
        let providers = [("jobs".to_owned(), jobs), ("mock".to_owned(), mock)];
        Parts {
            shard: self.shard(node, plan),
            catalogue: self.catalogue.clone(),
            providers: Arc::new(Providers(providers.into())),
            callbacks: Arc::new(callbacks),
            files: None,
            options: workers::Options {
                node: self.identity(node, plan).id,
                ..options(node, plan)
            },
        }
    }

    /// Two organizations with cargo of both models.
    pub(super) async fn load(&self) -> Vec<Customer> {
        let mut customers = Vec::new();
        for host in ["one.example", "two.example"] {
            let now = self.clock().advance(Duration::from_millis(1));
            let berth = Berth::new(0).unwrap();
            let mut customer = Customer {
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
                direction: Direction::In,
                reference: None,
                note: None,
            };
            let paid = credit::pay(shard, customer.organization, &payment, now).await;
            assert!(matches!(paid, Ok(credit::Paid::Posted { .. })), "{paid:?}");
            self.load_for(&mut customer).await;
            customers.push(customer);
        }
        customers
    }

    async fn load_for(&self, customer: &mut Customer) {
        let shard = &self.database.shard;
        let mut tx = shard.begin().await.unwrap();
        let organizations = [customer.organization];
        let locked = account::lock_waiting(&mut tx, &organizations).await;
        let mut account = locked.unwrap().accounts[0];
        let mut loads = Vec::new();
        for number in 0..CARGO_OF_EACH {
            for (model, lane) in self.models.iter().zip(self.lanes) {
                // Their order is the same in every run.
                let now = self.clock().advance(Duration::from_millis(1));
                let request = json!({
                    "model": model.id, "max_tokens": 64,
                    "messages": [{"role": "user", "content": format!("crate {number}")}],
                });
                let params: Params = serde_json::from_value(request).unwrap();
                let hold = Hold::of(&params, model, &[]);
                account.place(&hold, None, now).unwrap();
                let id = CargoId::new(now, customer.organization.berth(), rand::random());
                customer.cargo.push(id);
                let url = format!("http://{}/hook", customer.host);
                loads.push(NewCargo {
                    id,
                    organization: customer.organization,
                    project: customer.project,
                    key: KeyId::new(now, customer.organization.berth(), 1),
                    lane,
                    model: model.id.clone(),
                    callback: Some((url, customer.host.clone())),
                    request: body::pack(&serde_json::to_vec(&params).unwrap()),
                    metadata: None,
                    idempotency: None,
                    hold,
                    files: Vec::new(),
                });
            }
        }
        account::write(&mut tx, &[account]).await.unwrap();
        load::insert(&mut tx, loads, self.clock().now())
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
}

fn connect(database: &Database, identity: &Identity, node: usize, gate: &Arc<Gate>) -> Shard {
    let options = PoolOptions {
        connections: CONNECTIONS,
        application: identity.application(),
        interceptor: Some(Arc::new(Statements {
            node,
            gate: gate.clone(),
        })),
    };
    Shard::new("main", &database.url(), &options, database.clock.clone()).unwrap()
}

fn share(plan: &Plan) -> Share {
    Share {
        most_items: plan.most_items,
        most_bytes: 1 << 20,
        most_tokens: 1 << 30,
        most_enqueued_tokens: 1 << 30,
        most_questions: 4,
        linger: TimeDelta::zero(),
        grace: GRACE,
        create_timeout: CREATE_TIMEOUT,
    }
}

fn options(node: usize, plan: &Plan) -> workers::Options {
    workers::Options {
        node: Uuid::nil(),
        name: format!("node {node}"),
        lease: LEASE,
        packing: Packing {
            most_items: plan.most_items,
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
        // Two attempts: the second failure gives a callback up.
        schedule: Schedule::new([TimeDelta::seconds(30)]),
        retention: TimeDelta::days(30),
        spools: std::env::temp_dir(),
        drain: Duration::from_secs(1),
    }
}
