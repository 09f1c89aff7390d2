//! A complete service for one test: control, a shard or two, the API and the worker sets.

use std::sync::Arc;
use std::time::Duration;

use api::api_keys::ApiKeyCacheOptions;
use api::{App, AppDependencies, DropinOptions, Options, WaitOptions};
use domain::callback_url::AllowedSchemes;
use domain::id::{ApiKeyId, Berth, OrganizationId, ProjectId};
use domain::master_key::MasterKeys;
use domain::model::{Capability, Catalogue, MockBehaviour, Model, ModelKind};
use domain::organization::Plan;
use domain::time::{Clock as _, Timestamp};
use store::Shard;
use store::shard::account;
use test_support::clock::ManualClock;
use test_support::database::TestDatabase;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use workers::WorkerSet;
use workers::stage::{Stage, StepResult};

use crate::support::encryption::environment_master_keys;
use crate::support::files::TestFileBackends;
use crate::support::test_limits::{SHARD_CONNECTIONS, TestLimits};
use crate::support::worker::worker_set_deps;

pub(crate) mod claims;

pub(crate) mod collector;

pub(crate) mod credit;

pub(crate) mod encryption;

pub(crate) mod files;

pub(crate) mod http;

pub(crate) mod listener;

mod make;

pub(crate) mod marker;

pub(crate) mod provider_bills;

mod retention;

pub(crate) mod server_process;

pub(crate) mod signing;

pub(crate) mod simulated_providers;

pub(crate) mod test_limits;

mod worker;

pub(crate) const MOCK_DELAY: Duration = Duration::from_mins(1);
/// A sweep makes the partitions of these days. Thirty days would take most of its time.
const TEST_DAYS_AHEAD: u64 = 4;

pub(crate) struct TestService {
    pub(crate) router: axum::Router,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) north: Arc<Shard>,
    pub(crate) south: Option<Arc<Shard>>,
    pub(crate) worker_sets: Vec<WorkerSet>,
    pub(crate) app: App,
    worker_deps: workers::WorkerSetDeps,
    pub(crate) control: store::Control,
    pub(crate) catalogue: watch::Sender<Arc<Catalogue>>,
    limits: TestLimits,
    file_backends: Option<TestFileBackends>,
    /// The first has shard north.
    databases: Vec<TestDatabase>,
    stop: CancellationToken,
    _guard: tokio_util::sync::DropGuard,
}

/// Which databases a service has. Each costs a test time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseLayout {
    /// Control and shard north share a database.
    Shared,
    /// Shard south has another one.
    SecondShard,
    /// Control has a database of its own, so that a test can cut the connections of the shard.
    ControlApart,
}

/// An organization with one project and one API key.
#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) organization: OrganizationId,
    pub(crate) project: ProjectId,
    pub(crate) key_id: ApiKeyId,
    pub(crate) key: String,
}

impl TestService {
    pub(crate) async fn new() -> Self {
        Self::with_limits(TestLimits::default()).await
    }

    pub(crate) async fn with_second_shard() -> Self {
        Self::with_layout(DatabaseLayout::SecondShard, TestLimits::default(), None).await
    }

    pub(crate) async fn with_limits(limits: TestLimits) -> Self {
        Self::with_file_backends(limits, None).await
    }

    pub(crate) async fn with_file_backends(
        limits: TestLimits,
        file_backends: Option<TestFileBackends>,
    ) -> Self {
        Self::with_layout(DatabaseLayout::Shared, limits, file_backends).await
    }

    pub(crate) async fn with_layout(
        layout: DatabaseLayout,
        limits: TestLimits,
        file_backends: Option<TestFileBackends>,
    ) -> Self {
        let master_keys = environment_master_keys();
        let is_encrypted = master_keys.is_some();
        let service = Box::pin(Self::build(layout, limits, file_backends, master_keys)).await;
        if is_encrypted {
            service.enable_encryption().await;
        }
        service
    }

    /// With these master keys, whatever the environment says.
    pub(crate) async fn build(
        layout: DatabaseLayout,
        limits: TestLimits,
        file_backends: Option<TestFileBackends>,
        master_keys: Option<Arc<dyn MasterKeys>>,
    ) -> Self {
        let mut databases = vec![TestDatabase::new().await];
        if layout != DatabaseLayout::Shared {
            databases.push(TestDatabase::new().await);
        }
        let with_control = usize::from(layout == DatabaseLayout::ControlApart);
        let (control, clock) = (
            databases[with_control].control.clone(),
            databases[with_control].clock.clone(),
        );
        let shard = |name: &str, database: &TestDatabase| {
            let shard =
                Shard::connect_lazily(name, &database.url(), SHARD_CONNECTIONS, clock.clone());
            let shard = shard.unwrap().with_partition_days_ahead(TEST_DAYS_AHEAD);
            Arc::new(shard.with_master_keys(master_keys.clone()))
        };
        let north = shard("north", &databases[0]);
        let has_south = layout == DatabaseLayout::SecondShard;
        let south = has_south.then(|| shard("south", &databases[1]));
        let shards: Vec<_> = std::iter::once(&north).chain(&south).cloned().collect();
        let names: Vec<_> = shards.iter().map(|shard| shard.name.to_string()).collect();
        store::control::berth::assign(&control, &names, clock.now())
            .await
            .unwrap();
        let (catalogue, served) = watch::channel(Arc::new(catalogue()));
        let file_service = file_backends.as_ref().map_or_else(
            files::file_service_without_store,
            TestFileBackends::file_service,
        );
        let deps = app_dependencies(&control, &shards, served.clone(), &clock, &limits);
        let app = App::new(AppDependencies {
            files: file_service,
            ..deps
        });
        let stop = CancellationToken::new();
        app.spawn(&TaskTracker::new(), &stop);
        app.refresh_keys().await;
        let worker_deps = workers::WorkerSetDeps {
            files: file_backends
                .as_ref()
                .map(TestFileBackends::file_stage_deps),
            ..worker_set_deps(north.clone(), served)
        };
        let mut worker_sets = Vec::new();
        for shard in shards {
            let deps = workers::WorkerSetDeps {
                shard,
                ..worker_deps.clone()
            };
            worker_sets.push(WorkerSet::join(deps).await.unwrap());
        }
        let router = api::router(app.clone());
        Self {
            router,
            clock,
            north,
            south,
            worker_sets,
            app,
            worker_deps,
            control,
            catalogue,
            limits,
            file_backends,
            databases,
            stop: stop.clone(),
            _guard: stop.drop_guard(),
        }
    }

    /// Starts another serve process on the same shards.
    pub(crate) async fn start_another_app(&self) -> App {
        let app = self.create_another_app();
        app.spawn(&TaskTracker::new(), &self.stop);
        app.refresh_keys().await;
        app
    }

    /// Another serve process, without its background tasks.
    pub(crate) fn create_another_app(&self) -> App {
        let (shards, served) = (self.shards(), self.catalogue.subscribe());
        let deps = app_dependencies(&self.control, &shards, served, &self.clock, &self.limits);
        App::new(deps)
    }

    pub(crate) fn shards(&self) -> Vec<Arc<Shard>> {
        std::iter::once(&self.north)
            .chain(&self.south)
            .cloned()
            .collect()
    }

    pub(crate) fn north_url(&self) -> String {
        self.databases[0].url()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Creates an organization on the north shard, with a project and an API key.
    pub(crate) async fn create_customer(&self) -> Customer {
        self.create_customer_on("north").await
    }

    pub(crate) async fn create_customer_on(&self, shard: &str) -> Customer {
        self.create_customer_with(shard, Plan::Pro).await
    }

    pub(crate) async fn create_customer_with_plan(&self, plan: Plan) -> Customer {
        self.create_customer_with("north", plan).await
    }

    async fn create_customer_with(&self, shard: &str, plan: Plan) -> Customer {
        // Berths are assigned to the shards in turn, so berth 0 is on north and berth 1 on south.
        let berth = Berth::new(u16::from(shard == "south")).unwrap();
        let now = self.now();
        let organization = OrganizationId::new(now, berth, rand::random());
        let shard = if shard == "south" {
            self.south.as_ref().unwrap()
        } else {
            &self.north
        };
        account::open(shard, organization, now).await.unwrap();
        make::organization(&self.control, organization, plan, berth, now).await;
        let (project, key_id, key) = make::key(&self.control, organization, berth, now).await;
        Customer {
            organization,
            project,
            key_id,
            key,
        }
    }

    /// Creates another project of the same organization, with an API key.
    pub(crate) async fn create_sibling_project(&self, customer: &Customer) -> Customer {
        let (berth, now) = (customer.organization.berth(), self.now());
        let (project, key_id, key) =
            make::key(&self.control, customer.organization, berth, now).await;
        Customer {
            organization: customer.organization,
            project,
            key_id,
            key,
        }
    }

    /// Counts the cargo of an organization on the north shard.
    pub(crate) async fn count_stored_cargo(&self, customer: &Customer) -> u64 {
        let count = "select count(*) from shard.cargo where organization = $1";
        let count = sqlx::query_scalar::<_, i64>(count).bind(customer.organization.uuid());
        let count = count.fetch_one(&self.north.pool).await.unwrap();
        u64::try_from(count).unwrap()
    }

    /// Steps every stage, in the order of the path, until all are idle.
    pub(crate) async fn run_until_idle(&mut self) {
        let now = self.clock.now();
        for workers in &mut self.worker_sets {
            while step_stages(workers, now).await > 0 {}
            workers.deliver.run_until_idle(now).await.unwrap();
        }
    }
}

async fn step_stages(workers: &mut WorkerSet, now: Timestamp) -> usize {
    let stages: [&mut dyn Stage; 4] = [
        &mut workers.gather,
        &mut workers.dispatch,
        &mut workers.collect,
        &mut workers.stream,
    ];
    let mut processed = 0;
    for stage in stages {
        if let StepResult::Processed(count) = stage.step(now).await.unwrap() {
            processed += count;
        }
    }
    processed
}

fn app_dependencies(
    control: &store::Control,
    shards: &[Arc<Shard>],
    catalogue: watch::Receiver<Arc<Catalogue>>,
    clock: &Arc<ManualClock>,
    limits: &TestLimits,
) -> AppDependencies {
    AppDependencies {
        control: control.clone(),
        shards: shards.to_vec(),
        catalogue,
        plan_limits: watch::channel(limits.plan_limits).1,
        redis: limits.redis_rate_limiter(),
        node: test_limits::serving_node(),
        options: api_options(clock, limits),
        files: files::file_service_without_store(),
        clock: clock.clone(),
        tracer: None,
    }
}

fn api_options(clock: &Arc<ManualClock>, limits: &TestLimits) -> Options {
    Options {
        limiter: limits.rate_limiter_options(clock),
        route_limits: limits.route_limits,
        upgrade_url: "https://longshore.example/plans".to_owned(),
        // A machine that runs the tests of a whole workspace may stop for seconds.
        keys: ApiKeyCacheOptions {
            control_timeout: Duration::from_secs(20),
            ..ApiKeyCacheOptions::default()
        },
        schemes: AllowedSchemes::HttpAndHttps,
        max_body_bytes: 10 << 20,
        max_messages: 1000,
        max_references: 100,
        max_stop_sequences: 16,
        linger: chrono::TimeDelta::zero(),
        allows_listeners: limits.allows_listeners,
        waits: WaitOptions {
            max_wait: Duration::from_secs(50),
            max_connections: limits.max_connections,
        },
        dropins: DropinOptions {
            is_enabled: true,
            ..DropinOptions::default()
        },
    }
}

fn catalogue() -> Catalogue {
    let model = |id: &str, kind, capabilities: &[Capability], mocking| Model {
        capabilities: capabilities.to_vec(),
        mock_behaviour: mocking,
        ..Model::plain(id, "mock", kind)
    };
    Catalogue::new([
        model("svc-mock", ModelKind::Chat, &[], MockBehaviour::Echo),
        Model {
            context: Some(100),
            max_output: Some(50),
            ..Model::plain("small", "mock", ModelKind::Chat)
        },
        model(
            "vision",
            ModelKind::Chat,
            &[Capability::Vision],
            MockBehaviour::Echo,
        ),
        model("vectors", ModelKind::Embedding, &[], MockBehaviour::Echo),
        model(
            "failing",
            ModelKind::Chat,
            &[],
            MockBehaviour::Fail("the provider said no".to_owned()),
        ),
    ])
}
