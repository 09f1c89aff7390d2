//! Two shards that share accounts at simulated providers; one process serves, others work.

pub mod accounts;
pub mod answers;
pub mod callers;
pub mod hook;

use sqlx::PgPool;

use crate::failure::Result;
use crate::fleet::accounts::Accounts;
use crate::fleet::hook::Hook;
use crate::options::Common;
use crate::organization::Organization;
use crate::postgres::Postgres;
use crate::process::{Databases, Longshored, Process};
use crate::progress::say;
use crate::redis::Redis;
use crate::scratch::Scratch;
use crate::setup;
use crate::simulator::Simulator;

const CONTROL: &str = "control";
pub const SHARDS: [&str; 2] = ["north", "south"];

/// How large it is, and what is set otherwise than by default.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    pub accounts: Accounts<'a>,
    pub organizations: usize,
    /// Processes that work.
    pub workers: usize,
    pub settings: &'a [(&'a str, &'a str)],
    /// What PostgreSQL has for its cache.
    pub memory: &'a str,
}

/// Fields are dropped in this order: nothing is taken from under what uses it.
#[derive(Debug)]
pub struct Fleet {
    /// Yet to be started.
    pub working: Vec<Process>,
    pub serving: Process,
    pub longshored: Longshored,
    pub shards: Vec<(String, PgPool)>,
    /// Dealt out to the shards in turn.
    pub organizations: Vec<Organization>,
    pub hook: Hook,
    pub simulator: Simulator,
    pub postgres: Postgres,
    _redis: Redis,
    _scratch: Scratch,
}

impl Fleet {
    pub async fn build(common: &Common, plan: Plan<'_>) -> Result<Self> {
        let scratch = Scratch::new()?;
        say("starting PostgreSQL, Redis and the simulator");
        let simulator = Simulator::start(&common.simulator, &scratch, 1).await?;
        let postgres = Postgres::create(&scratch, "fleet", plan.memory).await?;
        let redis = Redis::create(&scratch).await?;
        postgres.create_database(CONTROL).await?;
        let (mut databases, mut shards) = (Vec::new(), Vec::new());
        for name in SHARDS {
            postgres.create_database(name).await?;
            databases.push((name.to_owned(), postgres.url(name)));
            shards.push((name.to_owned(), postgres.pool(name)));
        }
        let databases = Databases {
            control: postgres.url(CONTROL),
            shards: databases,
        };
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = Longshored::new(path, &scratch, logs, &databases, 1)?;
        longshored.set("REDIS_URL", &redis.url());
        longshored.set("REDIS_BUDGET_MILLISECONDS", "2000");
        for (name, value) in plan.settings {
            longshored.set(name, value);
        }
        let files = plan.accounts.write(scratch.path(), simulator.address)?;
        for (name, value) in files {
            longshored.set(name, &value);
        }
        longshored.run(&["migrate"]).await?;
        say(format!("making {} organizations", plan.organizations));
        let organizations = setup::organizations(&longshored, &SHARDS, plan.organizations).await?;
        let mut serving = longshored.process("serve", "serve")?;
        serving.start()?;
        serving.ready().await?;
        let name = |number| format!("work-{number}");
        let working = (1..=plan.workers).map(|number| longshored.process("work", &name(number)));
        let working = working.collect::<Result<Vec<_>>>()?;
        Ok(Self {
            working,
            serving,
            longshored,
            shards,
            organizations,
            hook: Hook::start().await?,
            simulator,
            postgres,
            _redis: redis,
            _scratch: scratch,
        })
    }
}
