//! Databases, Redis, two processes, callers and a receiver: a whole service to break.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;

use crate::catalogue::{FREE, PRICED};
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
    _scratch: Scratch,
}

/// What the loading side knows.
#[derive(Debug)]
pub struct Callers {
    pub organizations: Vec<Organization>,
    pub targets: Vec<Target>,
    pub loads: Loads,
    pub ledger: Ledger,
    pub receipts: Arc<Receipts>,
}

/// How the databases are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    OneForAll,
    OneEach,
}

impl Scene {
    pub async fn build(common: &Common, servers: Servers) -> Result<Self> {
        let scratch = Scratch::new()?;
        say("starting PostgreSQL and Redis");
        let postgres = started(&scratch, servers).await?;
        let redis = Redis::create(&scratch).await?;
        let (databases, shards) = created(&postgres).await?;
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = Longshored::new(path, &scratch, logs, &databases, 1)?;
        longshored.set("REDIS_URL", &redis.url());
        if servers == Servers::OneEach {
            // Each server is missed alone: a machine that is busy must not miss Redis too.
            longshored.set("REDIS_BUDGET_MILLISECONDS", "2000");
        }
        longshored.run(&["migrate"]).await?;
        say(format!("making {ORGANIZATIONS} organizations"));
        let organizations = setup::organizations(&longshored, &SHARDS, ORGANIZATIONS).await?;
        let receiver = Receiver::start(RECEIVER_DELAY).await?;
        let mut processes = vec![
            longshored.process("all", "first")?,
            longshored.process("all", "second")?,
        ];
        for process in &mut processes {
            process.start()?;
        }
        for process in &mut processes {
            process.ready().await?;
        }
        let callers = Callers {
            organizations,
            targets: processes
                .iter()
                .map(|process| Target::new(process.address()))
                .collect(),
            loads: Loads::new(&receiver.url(), &MODELS),
            ledger: Ledger::default(),
            receipts: Arc::clone(&receiver.receipts),
        };
        let callers = Arc::new(callers);
        Ok(Self {
            processes,
            longshored,
            shards,
            postgres,
            callers,
            _receiver: receiver,
            _redis: redis,
            _scratch: scratch,
        })
    }
}

async fn started(scratch: &Scratch, servers: Servers) -> Result<Vec<Postgres>> {
    let names: &[&str] = match servers {
        Servers::OneForAll => &["all"],
        Servers::OneEach => &["control", "north", "south"],
    };
    let mut started = Vec::new();
    for name in names {
        started.push(Postgres::create(scratch, name, MEMORY).await?);
    }
    Ok(started)
}

/// Makes control and the shards; says where they are and how to look on.
async fn created(postgres: &[Postgres]) -> Result<(Databases, Vec<(String, PgPool)>)> {
    let mut shards = Vec::new();
    let mut databases = Databases {
        control: String::new(),
        shards: Vec::new(),
    };
    for (place, name) in [CONTROL].into_iter().chain(SHARDS).enumerate() {
        let Some(server) = postgres.get(place).or_else(|| postgres.first()) else {
            continue;
        };
        server.create_database(name).await?;
        if name == CONTROL {
            databases.control = server.url(name);
        } else {
            databases.shards.push((name.to_owned(), server.url(name)));
            shards.push((name.to_owned(), server.pool(name)));
        }
    }
    Ok((databases, shards))
}
