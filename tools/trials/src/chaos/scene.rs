//! Databases, Redis, processes, callers and a receiver: a whole service to break.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;

use crate::catalogue::{self, FREE, PRICED};
use crate::failure::Result;
use crate::http::Target;
use crate::ledger::Ledger;
use crate::options::Common;
use crate::organization::Organization;
use crate::postgres::Postgres;
use crate::process::{Databases, Longshored, Process};
use crate::progress::say;
use crate::receiver::{Receipts, Receiver};
use crate::redis::Redis;
use crate::request::Loads;
use crate::scratch::Scratch;
use crate::setup;

pub const CONTROL: &str = "control";
pub const SHARDS: [&str; 2] = ["north", "south"];
/// The only shard, where there is one.
pub const SHARD: &str = "north";
const ORGANIZATIONS: usize = 20;
const MEMORY: &str = "256MB";
/// Most cargo costs money; some is free, so that both travel together.
const MODELS: [&str; 4] = [PRICED, PRICED, PRICED, FREE];
/// Long enough that callbacks are under way when something breaks.
const RECEIVER_DELAY: Duration = Duration::from_millis(25);

/// Fields are dropped in this order: nothing is taken from under what uses it.
#[derive(Debug)]
pub struct Scene {
    pub processes: Vec<Process>,
    pub longshored: Longshored,
    pub shards: Vec<(String, PgPool)>,
    pub postgres: Vec<Postgres>,
    pub callers: Arc<Callers>,
    _receiver: Receiver,
    _redis: Redis,
    pub scratch: Scratch,
}

/// What the loading side knows.
#[derive(Debug)]
pub struct Callers {
    pub organizations: Vec<Organization>,
    pub targets: Vec<Target>,
    pub loads: Loads,
    pub ledger: Ledger,
    pub receipts: Arc<Receipts>,
    pub callback_url: String,
}

/// How the databases are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    OneForAll,
    OneEach,
    /// One server with control and a single shard.
    OneShard,
}

impl Servers {
    const fn shards(self) -> &'static [&'static str] {
        match self {
            Self::OneForAll | Self::OneEach => &SHARDS,
            Self::OneShard => &[SHARD],
        }
    }
}

/// What a scene stands on: servers, and how processes and the trial reach them.
#[derive(Debug)]
pub struct Storage {
    pub shards: Vec<(String, PgPool)>,
    pub databases: Databases,
    pub postgres: Vec<Postgres>,
    pub scratch: Scratch,
}

/// Which processes run, and what is loaded.
#[derive(Debug)]
pub struct Deployment {
    pub processes: Vec<ProcessSpec>,
    pub organizations: usize,
    /// What is loaded for, in turn.
    pub models: Vec<String>,
    /// Seconds that the mock provider takes.
    pub mock_delay: u32,
    /// Settings that differ from the default.
    pub settings: Vec<(&'static str, String)>,
    /// Of so many cargo one has its first callback refused.
    pub refused_first: Option<u128>,
}

/// One process of a scene.
#[derive(Debug)]
pub struct ProcessSpec {
    pub verb: &'static str,
    pub name: String,
    /// Where it finds its databases, if not where the others do.
    pub databases: Option<Databases>,
    /// What stands between it and the one server.
    pub relay: Option<SocketAddr>,
    /// Beside its settings.
    pub environment: Vec<(String, String)>,
}

impl ProcessSpec {
    pub fn new(verb: &'static str, name: impl Into<String>) -> Self {
        Self {
            verb,
            name: name.into(),
            databases: None,
            relay: None,
            environment: Vec::new(),
        }
    }

    /// The same, with this between it and the one server.
    #[must_use]
    pub const fn behind(mut self, relay: SocketAddr) -> Self {
        self.relay = Some(relay);
        self
    }
}

impl Deployment {
    /// Two processes that serve and three that work, with a lane for each of many models.
    pub fn two_serve_three_work() -> Self {
        let serving = (1..=2).map(|number| ProcessSpec::new("serve", format!("serve-{number}")));
        let working = (1..=3).map(|number| ProcessSpec::new("work", format!("work-{number}")));
        Self {
            processes: serving.chain(working).collect(),
            organizations: ORGANIZATIONS,
            models: catalogue::models(),
            mock_delay: 0,
            settings: vec![patient_redis()],
            refused_first: None,
        }
    }

    /// These processes, with the usual load.
    pub fn of(processes: Vec<ProcessSpec>) -> Self {
        Self {
            processes,
            organizations: ORGANIZATIONS,
            models: MODELS.map(str::to_owned).into(),
            mock_delay: 1,
            settings: Vec::new(),
            refused_first: None,
        }
    }

    /// Two processes that each do everything.
    fn two_do_all(servers: Servers) -> Self {
        let names = ["first", "second"];
        // Each server is missed alone: a machine that is busy must not miss Redis too.
        let patient = (servers == Servers::OneEach).then(patient_redis);
        Self {
            settings: patient.into_iter().collect(),
            ..Self::of(names.map(|name| ProcessSpec::new("all", name)).into())
        }
    }
}

/// A machine that is busy must not miss Redis.
fn patient_redis() -> (&'static str, String) {
    ("REDIS_BUDGET_MILLISECONDS", "2000".to_owned())
}

impl Storage {
    /// New servers with empty databases.
    pub async fn create(servers: Servers) -> Result<Self> {
        let scratch = Scratch::new()?;
        say("starting PostgreSQL");
        let postgres = started(&scratch, servers).await?;
        Self::over(scratch, postgres, servers).await
    }

    /// Empty databases on servers that run already.
    pub async fn over(scratch: Scratch, postgres: Vec<Postgres>, servers: Servers) -> Result<Self> {
        let (databases, shards) = created(&postgres, servers.shards()).await?;
        Ok(Self {
            shards,
            databases,
            postgres,
            scratch,
        })
    }
}

impl Scene {
    pub async fn build(common: &Common, servers: Servers) -> Result<Self> {
        let storage = Storage::create(servers).await?;
        Self::with(common, storage, Deployment::two_do_all(servers)).await
    }

    pub async fn with(common: &Common, storage: Storage, deployment: Deployment) -> Result<Self> {
        let Storage {
            shards,
            databases,
            postgres,
            scratch,
        } = storage;
        let redis = Redis::create(&scratch).await?;
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored =
            Longshored::new(path, &scratch, logs, &databases, deployment.mock_delay)?;
        longshored.set("REDIS_URL", &redis.url());
        for (name, value) in &deployment.settings {
            longshored.set(name, value);
        }
        longshored.run(&["migrate"]).await?;
        say(format!("making {} organizations", deployment.organizations));
        let names: Vec<&str> = shards.iter().map(|(name, _)| name.as_str()).collect();
        let organizations =
            setup::organizations(&longshored, &names, deployment.organizations).await?;
        let receiver = Receiver::start_refusing(RECEIVER_DELAY, deployment.refused_first).await?;
        let processes = running(&longshored, &databases, &deployment.processes).await?;
        let serving = processes.iter().filter(|process| process.is_serving());
        let models: Vec<&str> = deployment.models.iter().map(String::as_str).collect();
        let callers = Callers {
            organizations,
            targets: serving
                .map(|process| Target::new(process.address()))
                .collect(),
            loads: Loads::new(&receiver.url(), &models),
            ledger: Ledger::default(),
            receipts: Arc::clone(&receiver.receipts),
            callback_url: receiver.url(),
        };
        Ok(Self {
            processes,
            longshored,
            shards,
            postgres,
            callers: Arc::new(callers),
            _receiver: receiver,
            _redis: redis,
            scratch,
        })
    }
}

/// Starts every process; those that serve take traffic when this returns.
async fn running(
    longshored: &Longshored,
    databases: &Databases,
    specs: &[ProcessSpec],
) -> Result<Vec<Process>> {
    let mut processes = Vec::new();
    for spec in specs {
        let mut process = longshored.process(spec.verb, &spec.name)?;
        if let Some(databases) = &spec.databases {
            process.reach(databases);
        }
        if let Some(relay) = spec.relay {
            process.reach(&databases.at(relay.port()));
        }
        for (name, value) in &spec.environment {
            process.set_environment(name, value);
        }
        process.start()?;
        processes.push(process);
    }
    for process in processes.iter_mut().filter(|it| it.is_serving()) {
        process.ready().await?;
    }
    Ok(processes)
}

async fn started(scratch: &Scratch, servers: Servers) -> Result<Vec<Postgres>> {
    let names: &[&str] = match servers {
        Servers::OneForAll | Servers::OneShard => &["all"],
        Servers::OneEach => &["control", "north", "south"],
    };
    let mut started = Vec::new();
    for name in names {
        started.push(Postgres::create(scratch, name, MEMORY).await?);
    }
    Ok(started)
}

/// Makes control and the shards; says where they are and how to look on.
async fn created(
    postgres: &[Postgres],
    names: &[&str],
) -> Result<(Databases, Vec<(String, PgPool)>)> {
    let mut shards = Vec::new();
    let mut databases = Databases {
        control: String::new(),
        shards: Vec::new(),
    };
    for (place, name) in [CONTROL].iter().chain(names).enumerate() {
        let Some(server) = postgres.get(place).or_else(|| postgres.first()) else {
            continue;
        };
        server.create_database(name).await?;
        if *name == CONTROL {
            databases.control = server.url(name);
        } else {
            databases
                .shards
                .push(((*name).to_owned(), server.url(name)));
            shards.push(((*name).to_owned(), server.pool(name)));
        }
    }
    Ok((databases, shards))
}
