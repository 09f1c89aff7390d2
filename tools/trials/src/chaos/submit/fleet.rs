//! Two shards that share accounts at simulated providers; one process serves, two or more work.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use sqlx::PgPool;

use crate::chaos::submit::answers::Hook;
use crate::failure::{During as _, Failure, Result};
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
const SHARDS: [&str; 2] = ["north", "south"];
const ORGANIZATIONS: usize = 8;
const MEMORY: &str = "256MB";
/// How long a new job is out of sight, in seconds: as long as a lease, so that whoever takes over
/// from the dead may come too early to see it.
const LAG: u32 = 3;
/// At least six times the lag; a sixth of it is when a job is first asked for.
pub const GRACE: u32 = 19;
/// How long a lane rests after a job, in seconds.
const LINGER: u32 = 2;
/// One for each provider; callers name them in turn.
pub const MODELS: [&str; 3] = ["trial-openai", "trial-claude", "trial-gemini"];
/// Lease, lag and grace are as 10, 10 and 60 seconds, shortened together.
const SETTINGS: [(&str, &str); 3] = [
    ("LEASE_SECONDS", "3"),
    ("REDIS_BUDGET_MILLISECONDS", "2000"),
    ("CALLBACK_RETRY_DELAYS", "1,2,5,10,30"),
];

/// An account at a provider; its credential is its name.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    pub name: &'static str,
    /// What the simulator calls its provider.
    pub kind: &'static str,
    /// The only shard that it serves; none: both share it.
    pub shard: Option<&'static str>,
    base: &'static str,
}

impl Account {
    /// Whether its jobs carry a label of ours.
    pub fn is_labelled(&self) -> bool {
        self.kind != "anthropic"
    }
}

pub const ACCOUNTS: [Account; 4] = [
    Account {
        name: "openai-main",
        kind: "openai",
        shard: None,
        base: "openai/v1",
    },
    Account {
        name: "gemini-main",
        kind: "gemini",
        shard: None,
        base: "gemini",
    },
    Account {
        name: "claude-north",
        kind: "anthropic",
        shard: Some("north"),
        base: "anthropic",
    },
    Account {
        name: "claude-south",
        kind: "anthropic",
        shard: Some("south"),
        base: "anthropic",
    },
];

/// Fields are dropped in this order: nothing is taken from under what uses it.
#[derive(Debug)]
pub struct Fleet {
    pub working: Vec<Process>,
    pub serving: Process,
    pub longshored: Longshored,
    pub shards: Vec<(String, PgPool)>,
    pub organizations: Vec<Organization>,
    pub hook: Hook,
    pub simulator: Simulator,
    _postgres: Postgres,
    _redis: Redis,
    _scratch: Scratch,
}

impl Fleet {
    pub async fn build(common: &Common, workers: usize) -> Result<Self> {
        let scratch = Scratch::new()?;
        say("starting PostgreSQL, Redis and the simulator");
        let simulator = Simulator::start(&common.simulator, &scratch, 1).await?;
        prepare(&simulator).await?;
        let postgres = Postgres::create(&scratch, "submit", MEMORY).await?;
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
        for (name, value) in SETTINGS {
            longshored.set(name, value);
        }
        for (name, value) in files(scratch.path(), simulator.address)? {
            longshored.set(name, &value);
        }
        longshored.run(&["migrate"]).await?;
        say(format!("making {ORGANIZATIONS} organizations"));
        let organizations = setup::organizations(&longshored, &SHARDS, ORGANIZATIONS).await?;
        let mut serving = longshored.process("serve", "serve")?;
        serving.start()?;
        serving.ready().await?;
        let name = |number| format!("work-{number}");
        let working = (1..=workers).map(|number| longshored.process("work", &name(number)));
        let working = working.collect::<Result<Vec<_>>>()?;
        Ok(Self {
            working,
            serving,
            longshored,
            shards,
            organizations,
            hook: Hook::start().await?,
            simulator,
            _postgres: postgres,
            _redis: redis,
            _scratch: scratch,
        })
    }
}

/// New jobs are out of sight for a while, still run when they are first asked for, and some
/// answers get lost.
async fn prepare(simulator: &Simulator) -> Result<()> {
    let pace = json!({"validating_ms": 500, "running_ms": 3000, "finalizing_ms": 500});
    for Account { name, kind, .. } in ACCOUNTS {
        let (to_pace, to_faults) = (
            format!("{kind}/{name}/pace"),
            format!("{kind}/{name}/faults"),
        );
        simulator.ask("PUT", &to_pace, Some(&pace)).await?;
        simulator.ask("PUT", &to_faults, Some(&faults(0))).await?;
    }
    Ok(())
}

/// What goes wrong at an account; the next `losses` creations do not reach it.
pub fn faults(losses: u32) -> Value {
    json!([
        {"name": "list_lag", "seconds": LAG},
        {"name": "create_drop_before", "times": losses},
        {"name": "create_drop_after", "every": 8},
    ])
}

/// Writes `providers.toml`, `models.toml` and the credentials.
fn files(folder: &Path, simulator: SocketAddr) -> Result<[(&'static str, String); 2]> {
    let mut providers = String::new();
    for Account {
        name,
        kind,
        shard,
        base,
    } in ACCOUNTS
    {
        let secret = folder.join(format!("{name}.key"));
        fs::write(&secret, name).during("writing a credential")?;
        let shards = shard.map(|shard| format!("shards = {{ {shard} = 1 }}\n"));
        // Writing to a string cannot fail.
        let _ = write!(
            providers,
            "[[provider]]\nname = \"{name}\"\nkind = \"{kind}\"\n\
             base_url = \"http://{simulator}/{base}\"\ncredential_file = \"{}\"\n{}\
             limits = {{ grace_seconds = {GRACE}, linger_seconds = {LINGER} }}\n\n",
            secret.display(),
            shards.unwrap_or_default(),
        );
    }
    let mut models = String::new();
    for model in MODELS {
        let kind = model.trim_start_matches("trial-");
        let serving = ACCOUNTS.iter().filter(|it| it.name.starts_with(kind));
        let routes: Vec<String> = serving
            .map(|it| format!("{{ provider = \"{}\", upstream = \"{model}\" }}", it.name))
            .collect();
        let _ = write!(
            models,
            "[[model]]\nid = \"{model}\"\nkind = \"chat\"\nroutes = [{}]\n\
             price = {{ batch = {{ input = \"0.10\", output = \"0.40\" }} }}\n\n",
            routes.join(", ")
        );
    }
    let written = [
        ("PROVIDERS_FILE", "providers.toml", providers),
        ("MODELS_FILE", "trial-models.toml", models),
    ];
    let mut settings = Vec::new();
    for (setting, name, text) in written {
        let file = folder.join(name);
        fs::write(&file, text).during(format!("writing {name}"))?;
        settings.push((setting, file.display().to_string()));
    }
    settings
        .try_into()
        .map_err(|_| Failure::new("there are two files"))
}
