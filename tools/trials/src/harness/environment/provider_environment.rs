//! Two shards that share accounts at simulated providers; one `serve` and several `work`
//! processes.

use sqlx::PgPool;

use crate::harness::callbacks::callback_sink::{CallbackSink, SinkOptions};
use crate::harness::failure::Result;
use crate::harness::longshored::accounts::TrialAccounts;
use crate::harness::longshored::longshored_process::{
    DatabaseUrls, LongshoredProcess, LongshoredProgram,
};
use crate::harness::longshored::org_setup;
use crate::harness::organization::TrialOrganization;
use crate::harness::progress::report_progress;
use crate::harness::servers::postgres::TrialPostgresServer;
use crate::harness::servers::redis::TrialRedisServer;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::servers::simulator_process::SimulatorProcess;
use crate::options::CommonOptions;

const CONTROL: &str = "control";
pub const SHARDS: [&str; 2] = ["north", "south"];

/// The size of the environment, and settings that differ from the default.
#[derive(Debug, Clone, Copy)]
pub struct ProviderEnvironmentOptions<'a> {
    pub accounts: TrialAccounts<'a>,
    pub organizations: usize,
    /// Number of `work` processes.
    pub workers: usize,
    pub settings: &'a [(&'a str, &'a str)],
    /// PostgreSQL's `shared_buffers`.
    pub postgres_memory: &'a str,
}

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct ProviderEnvironment {
    /// Not started yet.
    pub workers: Vec<LongshoredProcess>,
    pub server: LongshoredProcess,
    pub longshored: LongshoredProgram,
    pub shards: Vec<(String, PgPool)>,
    /// Assigned to the shards in turn.
    pub organizations: Vec<TrialOrganization>,
    pub callback_sink: CallbackSink,
    pub simulator: SimulatorProcess,
    pub postgres: TrialPostgresServer,
    _redis: TrialRedisServer,
    _scratch: ScratchFolder,
}

impl ProviderEnvironment {
    pub async fn build(
        common: &CommonOptions,
        plan: ProviderEnvironmentOptions<'_>,
    ) -> Result<Self> {
        let scratch = ScratchFolder::new()?;
        report_progress("starting PostgreSQL, Redis and the simulator");
        let simulator = SimulatorProcess::start(&common.simulator, &scratch, 1).await?;
        let postgres =
            TrialPostgresServer::create(&scratch, "providers", plan.postgres_memory).await?;
        let redis = TrialRedisServer::create(&scratch).await?;
        postgres.create_database(CONTROL).await?;
        let (mut databases, mut shards) = (Vec::new(), Vec::new());
        for name in SHARDS {
            postgres.create_database(name).await?;
            databases.push((name.to_owned(), postgres.url(name)));
            shards.push((name.to_owned(), postgres.pool(name)));
        }
        let databases = DatabaseUrls {
            control: postgres.url(CONTROL),
            shards: databases,
        };
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = LongshoredProgram::new(path, &scratch, logs, &databases, 1)?;
        longshored.set("REDIS_URL", &redis.url());
        longshored.set("REDIS_BUDGET_MILLISECONDS", "2000");
        for (name, value) in plan.settings {
            longshored.set(name, value);
        }
        let files = plan
            .accounts
            .write_files(scratch.path(), simulator.address)?;
        for (name, value) in files {
            longshored.set(name, &value);
        }
        longshored.run(&["migrate"]).await?;
        report_progress(format!("creating {} organizations", plan.organizations));
        let organizations =
            org_setup::create_organizations(&longshored, &SHARDS, plan.organizations).await?;
        let mut serving = longshored.new_process("serve", "serve")?;
        serving.start()?;
        serving.wait_until_ready().await?;
        let name = |number| format!("work-{number}");
        let working =
            (1..=plan.workers).map(|number| longshored.new_process("work", &name(number)));
        let working = working.collect::<Result<Vec<_>>>()?;
        let sink = SinkOptions {
            keeps_bodies: true,
            ..SinkOptions::default()
        };
        Ok(Self {
            workers: working,
            server: serving,
            longshored,
            shards,
            organizations,
            callback_sink: CallbackSink::start(sink).await?,
            simulator,
            postgres,
            _redis: redis,
            _scratch: scratch,
        })
    }
}
