//! One shard whose only model is served by a real one, behind a counter; one process serves, one works.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use sqlx::PgPool;

use crate::chaos::server::counter::Counter;
use crate::chaos::server::questions;
use crate::failure::{During as _, Failure, Result};
use crate::fleet::hook::Hook;
use crate::llama::{self, Llama};
use crate::options::{Common, ServerOptions};
use crate::organization::Organization;
use crate::postgres::Postgres;
use crate::process::{Databases, Longshored, Process};
use crate::progress::say;
use crate::redis::Redis;
use crate::scratch::Scratch;
use crate::setup;

const SHARD: &str = "north";
const MEMORY: &str = "128MB";
const SETTINGS: [(&str, &str); 4] = [
    ("LEASE_SECONDS", "3"),
    ("BATCH_LINGER_MILLISECONDS", "500"),
    ("REDIS_BUDGET_MILLISECONDS", "2000"),
    ("CALLBACK_RETRY_DELAYS", "1,2,5,10,30"),
];

/// Fields are dropped in this order: nothing is taken from under what uses it.
#[derive(Debug)]
pub struct Fleet {
    pub working: Process,
    pub serving: Process,
    pub longshored: Longshored,
    pub shards: Vec<(String, PgPool)>,
    pub organization: Organization,
    pub hook: Hook,
    pub counter: Counter,
    pub llama: Llama,
    _postgres: Postgres,
    _redis: Redis,
    _scratch: Scratch,
}

impl Fleet {
    pub async fn build(common: &Common, options: &ServerOptions) -> Result<Self> {
        let scratch = Scratch::new()?;
        say("starting PostgreSQL, Redis and a model");
        let mut llama = Llama::new(options, &scratch)?;
        llama.start()?;
        let counter = Counter::start(llama.address).await?;
        let postgres = Postgres::create(&scratch, "server", MEMORY).await?;
        let redis = Redis::create(&scratch).await?;
        for name in ["control", SHARD] {
            postgres.create_database(name).await?;
        }
        let databases = Databases {
            control: postgres.url("control"),
            shards: vec![(SHARD.to_owned(), postgres.url(SHARD))],
        };
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = Longshored::new(path, &scratch, logs, &databases, 1)?;
        longshored.set("REDIS_URL", &redis.url());
        for (name, value) in SETTINGS {
            longshored.set(name, value);
        }
        for (name, value) in files(scratch.path(), counter.address)? {
            longshored.set(name, &value);
        }
        longshored.run(&["migrate"]).await?;
        let organizations = setup::organizations(&longshored, &[SHARD], 1).await?;
        let organization = organizations.into_iter().next();
        let mut serving = longshored.process("serve", "serve")?;
        let mut working = longshored.process("work", "work")?;
        serving.start()?;
        serving.ready().await?;
        llama.ready().await?;
        working.start()?;
        Ok(Self {
            working,
            serving,
            shards: vec![(SHARD.to_owned(), postgres.pool(SHARD))],
            organization: organization.ok_or_else(|| Failure::new("there is no organization"))?,
            longshored,
            hook: Hook::start().await?,
            counter,
            llama,
            _postgres: postgres,
            _redis: redis,
            _scratch: scratch,
        })
    }
}

/// Writes `providers.toml` and `models.toml`, as docs/providers.md tells people to.
fn files(folder: &Path, server: SocketAddr) -> Result<[(&'static str, String); 2]> {
    let providers = format!(
        "[[provider]]\nname = \"our-llama\"\nkind = \"server\"\n\
         base_url = \"http://{server}/v1\"\nlimits = {{ questions = {} }}\n",
        llama::SLOTS
    );
    let models = format!(
        "[[model]]\nid = \"{}\"\nprovider = \"our-llama\"\nupstream = \"{}\"\nkind = \"chat\"\n\
         price = {{ batch = {{ input = \"0.10\", output = \"0.40\" }} }}\n",
        questions::MODEL,
        llama::MODEL
    );
    let write = |name: &str, text: String| {
        let file = folder.join(name);
        fs::write(&file, text).during(format!("writing {name}"))?;
        Ok(file.display().to_string())
    };
    Ok([
        ("PROVIDERS_FILE", write("providers.toml", providers)?),
        ("MODELS_FILE", write("smollm2.toml", models)?),
    ])
}
