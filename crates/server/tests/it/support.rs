//! A whole service for one test: control, two shards, the API, the crews and a receiver.

use std::sync::Arc;
use std::time::Duration;

use api::{App, Options, Parts};
use domain::callback::Schemes;
use domain::id::{Berth, KeyId, OrganizationId, ProjectId};
use domain::model::{Capability, Catalogue, Kind, Mocking, Model};
use domain::organization::Plan;
use domain::time::{Clock as _, Timestamp};
use store::Shard;
use store::control::audit::Author;
use store::control::{api_key, organization, project};
use store::shard::account;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use workers::Crew;
use workers::stage::{Stage, Step};

use crate::database::{Database, HandMoved};
use crate::support::files::Harbour;
use crate::support::limited::Limited;
use crate::support::worker::worker_parts;

pub(crate) mod claims;

pub(crate) mod credit;

pub(crate) mod files;

pub(crate) mod http;

pub(crate) mod jobs;

pub(crate) mod limited;

pub(crate) mod receiver;

mod worker;

pub(crate) const MOCK_DELAY: Duration = Duration::from_mins(1);

pub(crate) struct Service {
    pub(crate) router: axum::Router,
    pub(crate) clock: Arc<HandMoved>,
    pub(crate) north: Arc<Shard>,
    pub(crate) south: Arc<Shard>,
    pub(crate) crews: Vec<Crew>,
    pub(crate) app: App,
    parts: workers::Parts,
    pub(crate) control: store::Control,
    pub(crate) catalogue: watch::Sender<Arc<Catalogue>>,
    limited: Limited,
    harbour: Option<Harbour>,
    databases: [Database; 3],
    stop: CancellationToken,
    _guard: tokio_util::sync::DropGuard,
}

/// Someone who may load.
#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) organization: OrganizationId,
    pub(crate) project: ProjectId,
    pub(crate) key_id: KeyId,
    pub(crate) key: String,
}

impl Service {
    pub(crate) async fn new() -> Self {
        Self::with(Limited::default()).await
    }

    pub(crate) async fn with(limited: Limited) -> Self {
        Self::with_harbour(limited, None).await
    }

    pub(crate) async fn with_harbour(limited: Limited, harbour: Option<Harbour>) -> Self {
        let databases = [
            Database::new().await,
            Database::new().await,
            Database::new().await,
        ];
        let [control, north, south] = &databases;
        let clock = control.clock.clone();
        let shard = |name: &str, database: &Database| {
            Arc::new(Shard::connect_lazily(name, &database.url(), 8, clock.clone()).unwrap())
        };
        let (north, south) = (shard("north", north), shard("south", south));
        let control = control.control.clone();
        let names = ["north", "south"].map(str::to_owned);
        store::control::berth::assign(&control, &names, clock.now())
            .await
            .unwrap();
        let (catalogue, served) = watch::channel(Arc::new(catalogue()));
        let shards = [&north, &south];
        let desk = harbour.as_ref().map_or_else(files::closed, Harbour::desk);
        let parts = app_parts(&control, shards, served.clone(), &clock, &limited);
        let app = App::new(Parts {
            files: desk,
            ..parts
        });
        let stop = CancellationToken::new();
        app.spawn(&TaskTracker::new(), &stop);
        app.refresh().await;
        let parts = workers::Parts {
            files: harbour.as_ref().map(Harbour::files),
            ..worker_parts(north.clone(), served)
        };
        let mut crews = Vec::new();
        for shard in [&north, &south] {
            let parts = workers::Parts {
                shard: shard.clone(),
                ..parts.clone()
            };
            crews.push(Crew::join(parts).await.unwrap());
        }
        let router = api::router(app.clone());
        Self {
            router,
            clock,
            north,
            south,
            crews,
            app,
            parts,
            control,
            catalogue,
            limited,
            harbour,
            databases,
            stop: stop.clone(),
            _guard: stop.drop_guard(),
        }
    }

    /// Another serve process before the same shards.
    pub(crate) async fn another_app(&self) -> App {
        let (shards, served) = ([&self.north, &self.south], self.catalogue.subscribe());
        let parts = app_parts(&self.control, shards, served, &self.clock, &self.limited);
        let app = App::new(parts);
        app.spawn(&TaskTracker::new(), &self.stop);
        app.refresh().await;
        app
    }

    pub(crate) fn north_url(&self) -> String {
        let [_, north, _] = &self.databases;
        north.url()
    }

    /// A worker process that reaches the north shard in a way of its own.
    pub(crate) async fn crew_on(&self, shard: Arc<Shard>) -> Crew {
        let mut parts = self.parts.clone();
        parts.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
        Crew::join(workers::Parts { shard, ..parts }).await.unwrap()
    }

    /// Another worker process on the north shard.
    pub(crate) async fn another_crew(&self) -> Crew {
        let mut parts = self.parts.clone();
        parts.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
        Crew::join(parts).await.unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// An organization on the north shard, with a project and a key.
    pub(crate) async fn customer(&self) -> Customer {
        self.customer_on("north").await
    }

    pub(crate) async fn customer_on(&self, shard: &str) -> Customer {
        self.customer_with(shard, Plan::Pro).await
    }

    pub(crate) async fn customer_of(&self, plan: Plan) -> Customer {
        self.customer_with("north", plan).await
    }

    async fn customer_with(&self, shard: &str, plan: Plan) -> Customer {
        // Berths are dealt out in turn, so the first two lie on the two shards.
        let berth = Berth::new(u16::from(shard == "south")).unwrap();
        let now = self.now();
        let organization = OrganizationId::new(now, berth, rand::random());
        let shard = if shard == "south" {
            &self.south
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

    /// Another project of the same organization.
    pub(crate) async fn sibling_of(&self, customer: &Customer) -> Customer {
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

    /// How many cargo of an organization are stored on the north shard.
    pub(crate) async fn stored(&self, customer: &Customer) -> u64 {
        let count = "select count(*) from shard.cargo where organization = $1";
        let count = sqlx::query_scalar::<_, i64>(count).bind(customer.organization.uuid());
        let count = count.fetch_one(&self.north.pool).await.unwrap();
        u64::try_from(count).unwrap()
    }

    /// One step of every stage, in the order of the path, until nothing moves.
    pub(crate) async fn work(&mut self) {
        let now = self.clock.now();
        for crew in &mut self.crews {
            while steps(crew, now).await > 0 {}
            crew.deliver.settle(now).await.unwrap();
        }
    }
}

async fn steps(crew: &mut Crew, now: Timestamp) -> usize {
    let stages: [&mut dyn Stage; 4] = [
        &mut crew.gather,
        &mut crew.dispatch,
        &mut crew.collect,
        &mut crew.stream,
    ];
    let mut did = 0;
    for stage in stages {
        if let Step::Did(count) = stage.step(now).await.unwrap() {
            did += count;
        }
    }
    did
}

fn app_parts(
    control: &store::Control,
    shards: [&Arc<Shard>; 2],
    catalogue: watch::Receiver<Arc<Catalogue>>,
    clock: &Arc<HandMoved>,
    limited: &Limited,
) -> Parts {
    Parts {
        control: control.clone(),
        shards: shards.map(Arc::clone).to_vec(),
        catalogue,
        limits: watch::channel(limited.limits).1,
        counters: limited.counters(),
        node: limited::node(),
        options: api_options(clock, limited),
        files: files::closed(),
        clock: clock.clone(),
    }
}

fn api_options(clock: &Arc<HandMoved>, limited: &Limited) -> Options {
    Options {
        limiter: limited.options(clock),
        upgrade_url: "https://longshore.example/plans".to_owned(),
        keys: api::keys::KeyOptions::default(),
        schemes: Schemes::HttpToo,
        max_body_bytes: 10 << 20,
        max_messages: 1000,
        max_references: 100,
        max_stop_sequences: 16,
        linger: chrono::TimeDelta::zero(),
    }
}

fn catalogue() -> Catalogue {
    let model = |id: &str, kind, capabilities: &[Capability], mocking| Model {
        capabilities: capabilities.to_vec(),
        mocking,
        ..Model::plain(id, "mock", kind)
    };
    Catalogue::new([
        model("svc-mock", Kind::Chat, &[], Mocking::Echo),
        Model {
            context: Some(100),
            max_output: Some(50),
            ..Model::plain("small", "mock", Kind::Chat)
        },
        model("vision", Kind::Chat, &[Capability::Vision], Mocking::Echo),
        model("vectors", Kind::Embedding, &[], Mocking::Echo),
        model(
            "failing",
            Kind::Chat,
            &[],
            Mocking::Fail("the provider said no".to_owned()),
        ),
    ])
}

mod make {
    use domain::api_key::ApiKey;
    use store::Control;

    use super::{
        Author, Berth, KeyId, OrganizationId, Plan, ProjectId, Timestamp, api_key, organization,
        project,
    };

    pub(super) async fn organization(
        control: &Control,
        id: OrganizationId,
        plan: Plan,
        berth: Berth,
        now: Timestamp,
    ) {
        let name = "Test".to_owned();
        let row = organization::Organization {
            id,
            name,
            plan,
            berth,
            created_at: now,
        };
        organization::create(control, &row, &Author::console())
            .await
            .unwrap();
    }

    pub(super) async fn key(
        control: &Control,
        organization: OrganizationId,
        berth: Berth,
        now: Timestamp,
    ) -> (ProjectId, KeyId, String) {
        let slug = format!("p-{:x}", rand::random::<u64>()).parse().unwrap();
        let id = ProjectId::new(now, berth, rand::random());
        let row = project::Project {
            id,
            organization,
            slug,
            is_active: true,
            created_at: now,
        };
        project::create(control, &row, &Author::console())
            .await
            .unwrap();
        let key = ApiKey::draw(std::iter::repeat_with(rand::random::<u8>)).unwrap();
        let row = api_key::ApiKey {
            id: KeyId::new(now, berth, rand::random()),
            project: id,
            name: "test".to_owned(),
            prefix: key.shown().to_owned(),
            is_active: true,
            expires_at: None,
            last_used_at: None,
            created_at: now,
            successor: None,
        };
        api_key::create(control, &row, key.digest(), &Author::console())
            .await
            .unwrap();
        (id, row.id, key.reveal().to_owned())
    }
}
