//! A whole service for files: databases, store, scanner, one that serves and some that work.

use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::caller::Caller;
use crate::failure::{Failure, Result};
use crate::objects::Objects;
use crate::options::Common;
use crate::organization::Organization;
use crate::postgres::Postgres;
use crate::process::{Databases, Longshored, Process};
use crate::progress::say;
use crate::redis::Redis;
use crate::relay::Relay;
use crate::samples::Sample;
use crate::samples::content::Content;
use crate::scanner::Scanner;
use crate::scratch::Scratch;
use crate::setup;
use crate::web::Web;

/// The service probes store and scanner before it takes files.
const PROBING: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);
const CONTROL: &str = "control";
const SHARDS: [&str; 2] = ["north", "south"];
const MEMORY: &str = "256MB";

/// Fields are dropped in this order: nothing is taken from under what uses it.
#[derive(Debug)]
pub struct Dock {
    pub serving: Process,
    pub working: Vec<Process>,
    pub longshored: Longshored,
    pub shards: Vec<(String, PgPool)>,
    pub callers: Vec<Caller>,
    pub organizations: Vec<Organization>,
    /// Between the service and the store; callers go to the store themselves.
    pub to_store: Relay,
    /// Between the service and the scanner.
    pub to_scanner: Relay,
    pub objects: Objects,
    pub scanner: Scanner,
    pub postgres: Postgres,
    _redis: Redis,
    _scratch: Scratch,
}

/// How large it is, and what is set otherwise than by default.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    pub organizations: usize,
    pub workers: usize,
    pub settings: &'a [(&'a str, &'a str)],
}

impl Dock {
    pub async fn build(common: &Common, plan: Plan<'_>) -> Result<Self> {
        let scratch = Scratch::new()?;
        say("starting PostgreSQL, Redis, SeaweedFS and clamd");
        let mut objects = Objects::begin(&scratch, &common.weed)?;
        let scanner = Scanner::create(&scratch).await?;
        let redis = Redis::create(&scratch).await?;
        let postgres = Postgres::create(&scratch, "dock", MEMORY).await?;
        let (databases, shards) = created(&postgres).await?;
        objects.working().await?;
        let to_store = Relay::start(([127, 0, 0, 1], objects.port()).into()).await?;
        let to_scanner = Relay::start(scanner.address()).await?;

        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = Longshored::new(path, &scratch, logs, &databases, 1)?;
        longshored.set("REDIS_URL", &redis.url());
        longshored.set("REDIS_BUDGET_MILLISECONDS", "2000");
        for (name, value) in objects.settings(&to_store.address.to_string()) {
            longshored.set(name, &value);
        }
        longshored.set("SCANNER", &format!("tcp://{}", to_scanner.address));
        for (name, value) in plan.settings {
            longshored.set(name, value);
        }
        longshored.run(&["migrate"]).await?;
        say(format!("making {} organizations", plan.organizations));
        let organizations = setup::organizations(&longshored, &SHARDS, plan.organizations).await?;
        let (serving, working) = started(&longshored, plan.workers).await?;
        let web = Web::default();
        let callers = organizations
            .iter()
            .map(|organization| Caller::new(web.clone(), serving.address(), &organization.key));
        Ok(Self {
            callers: callers.collect(),
            serving,
            working,
            longshored,
            shards,
            organizations,
            to_store,
            to_scanner,
            objects,
            scanner,
            postgres,
            _redis: redis,
            _scratch: scratch,
        })
    }
}

impl Dock {
    /// Waits until a file becomes ready.
    pub async fn well(&self) -> Result<()> {
        let begun = Instant::now();
        let caller = self.callers.first();
        let caller = caller.ok_or_else(|| Failure::new("there is nobody to upload"))?;
        let content = Content::from(Sample::of_turn(0));
        loop {
            let said = caller.create(&content).await;
            let failed = match caller.bring(said.upload(), &content).await {
                Err(refused) => format!("{}; {refused}", said.line()),
                Ok(listed) => {
                    let ended = caller.complete(said.text("id"), &listed).await;
                    if ended.status == 200 {
                        return Ok(());
                    }
                    ended.line()
                }
            };
            if begun.elapsed() > PROBING {
                let words = self.serving.last_words();
                return Err(Failure::new(format!("no file is taken: {failed}\n{words}")));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// One that serves, and so many that work, all ready.
async fn started(longshored: &Longshored, workers: usize) -> Result<(Process, Vec<Process>)> {
    let mut serving = longshored.process("serve", "serve")?;
    serving.start()?;
    let mut working = Vec::new();
    for number in 1..=workers {
        let mut process = longshored.process("work", &format!("work-{number}"))?;
        process.start()?;
        working.push(process);
    }
    serving.ready().await?;
    Ok((serving, working))
}

/// Makes control and the shards; says where they are and how to look on.
async fn created(postgres: &Postgres) -> Result<(Databases, Vec<(String, PgPool)>)> {
    postgres.create_database(CONTROL).await?;
    let mut databases = Databases {
        control: postgres.url(CONTROL),
        shards: Vec::new(),
    };
    let mut shards = Vec::new();
    for name in SHARDS {
        postgres.create_database(name).await?;
        databases.shards.push((name.to_owned(), postgres.url(name)));
        shards.push((name.to_owned(), postgres.pool(name)));
    }
    Ok((databases, shards))
}
