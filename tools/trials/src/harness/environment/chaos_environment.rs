//! The environment of most chaos trials: databases, Redis, processes, callers and a callback
//! sink.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;

use crate::harness::callbacks::callback_sink::{CallbackSink, SinkOptions};
use crate::harness::failure::Result;
use crate::harness::http::load_request::LoadRequests;
use crate::harness::http::service_client::ServiceClient;
use crate::harness::load::callers::ChaosCallers;
use crate::harness::load::load_log::LoadLog;
use crate::harness::longshored::catalogue::{self, FREE_MODEL, PRICED_MODEL};
use crate::harness::longshored::longshored_process::{
    DatabaseUrls, LongshoredProcess, LongshoredProgram,
};
use crate::harness::longshored::org_setup;
use crate::harness::progress::report_progress;
use crate::harness::servers::postgres::TrialPostgresServer;
use crate::harness::servers::redis::TrialRedisServer;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::options::CommonOptions;

pub const CONTROL: &str = "control";
pub const SHARDS: [&str; 2] = ["north", "south"];
/// The name of the only shard in a single-shard layout.
pub const SHARD: &str = "north";
const DEFAULT_ORGANIZATIONS: usize = 20;
const POSTGRES_MEMORY: &str = "256MB";
/// Most cargo is priced; some is free, so that batches contain both.
const DEFAULT_MODELS: [&str; 4] = [PRICED_MODEL, PRICED_MODEL, PRICED_MODEL, FREE_MODEL];
/// Long enough that callbacks are in flight when something breaks.
const CALLBACK_RESPONSE_DELAY: Duration = Duration::from_millis(25);

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct ChaosEnvironment {
    pub processes: Vec<LongshoredProcess>,
    pub longshored: LongshoredProgram,
    pub shards: Vec<(String, PgPool)>,
    pub postgres: Vec<TrialPostgresServer>,
    pub callers: Arc<ChaosCallers>,
    _callback_sink: CallbackSink,
    _redis: TrialRedisServer,
    pub scratch: ScratchFolder,
}

/// How databases are distributed over servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseLayout {
    SharedServer,
    ServerPerDatabase,
    /// One server with control and a single shard.
    SingleShard,
}

impl DatabaseLayout {
    const fn shard_names(self) -> &'static [&'static str] {
        match self {
            Self::SharedServer | Self::ServerPerDatabase => &SHARDS,
            Self::SingleShard => &[SHARD],
        }
    }
}

/// The database servers, and how processes and the trial reach them.
#[derive(Debug)]
pub struct TrialDatabases {
    pub shards: Vec<(String, PgPool)>,
    pub urls: DatabaseUrls,
    pub postgres: Vec<TrialPostgresServer>,
    pub scratch: ScratchFolder,
}

/// Which processes run, and what they are loaded with.
#[derive(Debug)]
pub struct TrialDeployment {
    pub processes: Vec<TrialProcessSpec>,
    pub organizations: usize,
    /// Models to load for, in turn.
    pub models: Vec<String>,
    /// How long the mock provider takes.
    pub mock_delay_seconds: u32,
    /// Settings that differ from the default.
    pub settings: Vec<(&'static str, String)>,
    /// One of this many cargo has its first callback refused.
    pub refuse_first_one_of: Option<u128>,
}

#[derive(Debug)]
pub struct TrialProcessSpec {
    pub verb: &'static str,
    pub name: String,
    /// Its databases, if they differ from those of the others.
    pub databases: Option<DatabaseUrls>,
    /// A relay between it and the database server.
    pub relay: Option<SocketAddr>,
    /// Environment variables in addition to its settings.
    pub env_vars: Vec<(String, String)>,
}

impl TrialProcessSpec {
    pub fn new(verb: &'static str, name: impl Into<String>) -> Self {
        Self {
            verb,
            name: name.into(),
            databases: None,
            relay: None,
            env_vars: Vec::new(),
        }
    }

    /// The same, with a relay between it and the database server.
    #[must_use]
    pub const fn through_relay(mut self, relay: SocketAddr) -> Self {
        self.relay = Some(relay);
        self
    }
}

impl TrialDeployment {
    /// Two `serve` and three `work` processes, with a lane for each of many models.
    pub fn two_serve_three_work() -> Self {
        let serving =
            (1..=2).map(|number| TrialProcessSpec::new("serve", format!("serve-{number}")));
        let working = (1..=3).map(|number| TrialProcessSpec::new("work", format!("work-{number}")));
        Self {
            processes: serving.chain(working).collect(),
            organizations: DEFAULT_ORGANIZATIONS,
            models: catalogue::all_models(),
            mock_delay_seconds: 0,
            settings: vec![long_redis_budget()],
            refuse_first_one_of: None,
        }
    }

    /// These processes, with the default load.
    pub fn with_processes(processes: Vec<TrialProcessSpec>) -> Self {
        Self {
            processes,
            organizations: DEFAULT_ORGANIZATIONS,
            models: DEFAULT_MODELS.map(str::to_owned).into(),
            mock_delay_seconds: 1,
            settings: Vec::new(),
            refuse_first_one_of: None,
        }
    }

    /// Two processes that run `all`.
    fn two_all_processes(servers: DatabaseLayout) -> Self {
        let names = ["first", "second"];
        // The trial removes one database server at a time: a busy machine must not lose Redis
        // as well.
        let patient = (servers == DatabaseLayout::ServerPerDatabase).then(long_redis_budget);
        Self {
            settings: patient.into_iter().collect(),
            ..Self::with_processes(names.map(|name| TrialProcessSpec::new("all", name)).into())
        }
    }
}

/// On a busy machine, calls to Redis must not time out.
fn long_redis_budget() -> (&'static str, String) {
    ("REDIS_BUDGET_MILLISECONDS", "2000".to_owned())
}

impl TrialDatabases {
    /// New servers with empty databases.
    pub async fn create(servers: DatabaseLayout) -> Result<Self> {
        let scratch = ScratchFolder::new()?;
        report_progress("starting PostgreSQL");
        let postgres = start_servers(&scratch, servers).await?;
        Self::on_servers(scratch, postgres, servers).await
    }

    /// Empty databases on servers that already run.
    pub async fn on_servers(
        scratch: ScratchFolder,
        postgres: Vec<TrialPostgresServer>,
        servers: DatabaseLayout,
    ) -> Result<Self> {
        let (databases, shards) = create_databases(&postgres, servers.shard_names()).await?;
        Ok(Self {
            shards,
            urls: databases,
            postgres,
            scratch,
        })
    }
}

impl ChaosEnvironment {
    pub async fn build_default(common: &CommonOptions, servers: DatabaseLayout) -> Result<Self> {
        let storage = TrialDatabases::create(servers).await?;
        Self::start(common, storage, TrialDeployment::two_all_processes(servers)).await
    }

    pub async fn start(
        common: &CommonOptions,
        storage: TrialDatabases,
        deployment: TrialDeployment,
    ) -> Result<Self> {
        let TrialDatabases {
            shards,
            urls: databases,
            postgres,
            scratch,
        } = storage;
        let redis = TrialRedisServer::create(&scratch).await?;
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = LongshoredProgram::new(
            path,
            &scratch,
            logs,
            &databases,
            deployment.mock_delay_seconds,
        )?;
        longshored.set("REDIS_URL", &redis.url());
        for (name, value) in &deployment.settings {
            longshored.set(name, value);
        }
        longshored.run(&["migrate"]).await?;
        report_progress(format!(
            "creating {} organizations",
            deployment.organizations
        ));
        let names: Vec<&str> = shards.iter().map(|(name, _)| name.as_str()).collect();
        let organizations =
            org_setup::create_organizations(&longshored, &names, deployment.organizations).await?;
        let receiver = CallbackSink::start(SinkOptions {
            delay: CALLBACK_RESPONSE_DELAY,
            refuse_first_one_of: deployment.refuse_first_one_of,
            ..SinkOptions::default()
        })
        .await?;
        let processes = start_processes(&longshored, &databases, &deployment.processes).await?;
        let serving = processes.iter().filter(|process| process.serves_callers());
        let models: Vec<&str> = deployment.models.iter().map(String::as_str).collect();
        let callers = ChaosCallers {
            organizations,
            clients: serving
                .map(|process| ServiceClient::new(process.address()))
                .collect(),
            requests: LoadRequests::new(&receiver.url(), &models),
            load_log: LoadLog::default(),
            receipts: Arc::clone(&receiver.receipts),
            callback_url: receiver.url(),
        };
        Ok(Self {
            processes,
            longshored,
            shards,
            postgres,
            callers: Arc::new(callers),
            _callback_sink: receiver,
            _redis: redis,
            scratch,
        })
    }
}

/// Starts every process; those that serve callers accept traffic when this returns.
async fn start_processes(
    longshored: &LongshoredProgram,
    databases: &DatabaseUrls,
    specs: &[TrialProcessSpec],
) -> Result<Vec<LongshoredProcess>> {
    let mut processes = Vec::new();
    for spec in specs {
        let mut process = longshored.new_process(spec.verb, &spec.name)?;
        if let Some(databases) = &spec.databases {
            process.set_databases(databases);
        }
        if let Some(relay) = spec.relay {
            process.set_databases(&databases.with_port(relay.port()));
        }
        for (name, value) in &spec.env_vars {
            process.set_env_var(name, value);
        }
        process.start()?;
        processes.push(process);
    }
    for process in processes.iter_mut().filter(|it| it.serves_callers()) {
        process.wait_until_ready().await?;
    }
    Ok(processes)
}

async fn start_servers(
    scratch: &ScratchFolder,
    servers: DatabaseLayout,
) -> Result<Vec<TrialPostgresServer>> {
    let names: &[&str] = match servers {
        DatabaseLayout::SharedServer | DatabaseLayout::SingleShard => &["all"],
        DatabaseLayout::ServerPerDatabase => &["control", "north", "south"],
    };
    let mut started = Vec::new();
    for name in names {
        started.push(TrialPostgresServer::create(scratch, name, POSTGRES_MEMORY).await?);
    }
    Ok(started)
}

/// Creates control and the shards; returns their URLs and connection pools.
async fn create_databases(
    postgres: &[TrialPostgresServer],
    names: &[&str],
) -> Result<(DatabaseUrls, Vec<(String, PgPool)>)> {
    let mut shards = Vec::new();
    let mut databases = DatabaseUrls {
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
