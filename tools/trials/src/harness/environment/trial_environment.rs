//! The environment of a trial: servers, processes of the service, callers and a callback sink.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;

use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::databases::DatabaseLayout;
use crate::harness::environment::deployment::{Deployment, ProcessSpec};
use crate::harness::servers::postgres;
use crate::harness::{
    CallbackSink, ChaosCallers, ChildProgram, FailureContext as _, LongshoredProcess,
    LongshoredProgram, PollLimits, Result, ScratchFolder, TrialFailure, TrialOrganization,
    TrialPostgresServer, TrialRedisServer,
};
use crate::options::CommonOptions;

/// A worker that starts needs a lease first.
const LEASE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(100));

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct TrialEnvironment {
    /// Those that serve callers come first.
    pub processes: Vec<LongshoredProcess>,
    pub longshored: LongshoredProgram,
    pub shards: Vec<(String, PgPool)>,
    pub callers: Arc<ChaosCallers>,
    pub callback_sink: CallbackSink,
    pub redis: TrialRedisServer,
    pub postgres: Vec<TrialPostgresServer>,
    pub scratch: Arc<ScratchFolder>,
}

impl TrialEnvironment {
    /// New servers with the memory of a chaos trial, and these processes.
    pub async fn build(
        common: &CommonOptions,
        layout: DatabaseLayout,
        deployment: Deployment,
    ) -> Result<Self> {
        let base = BaseEnvironment::build_for_chaos(common, layout).await?;
        Self::start(base, deployment).await
    }

    /// Two processes that run `all`.
    pub async fn build_default(common: &CommonOptions, layout: DatabaseLayout) -> Result<Self> {
        let mut deployment = Deployment::two_all();
        // The trial removes one database server at a time: a busy machine must not lose Redis
        // as well.
        if layout == DatabaseLayout::ServerPerDatabase {
            deployment = deployment.with_long_redis_budget();
        }
        Self::build(common, layout, deployment).await
    }

    /// Creates organizations and starts the processes; those that serve callers accept traffic
    /// when this returns.
    pub async fn start(mut base: BaseEnvironment, deployment: Deployment) -> Result<Self> {
        for (name, value) in &deployment.settings {
            base.longshored.set(name, value);
        }
        let organizations = base.create_organizations(deployment.organizations).await?;
        let sink = CallbackSink::start(deployment.sink).await?;
        let processes = start_processes(&base, &deployment.processes).await?;
        let serving = processes.iter().filter(|it| it.serves_callers());
        let serving = serving.map(LongshoredProcess::address);
        let callers = ChaosCallers::new(organizations, serving, &deployment.models, &sink);
        Ok(Self {
            processes,
            longshored: base.longshored,
            shards: base.shards,
            callers: Arc::new(callers),
            callback_sink: sink,
            redis: base.redis,
            postgres: base.postgres,
            scratch: base.scratch,
        })
    }

    /// The only database server, or the first one.
    pub fn database_server(&self) -> Result<&TrialPostgresServer> {
        postgres::first_server(&self.postgres)
    }

    pub fn first_shard(&self) -> Result<&PgPool> {
        let first = self.shards.first().map(|(_, pool)| pool);
        first.context("there is no shard")
    }

    pub fn first_organization(&self) -> Result<&TrialOrganization> {
        let first = self.callers.organizations.first();
        first.context("there is no organization")
    }

    /// A client on this machine that loads for the first organization.
    pub fn client_program(&self, path: &Path) -> Result<ChildProgram> {
        let organization = self.first_organization()?;
        let base_url = format!("http://{}", self.server()?.address());
        let mut program = ChildProgram::new(path);
        program.environment = vec![
            ("LONGSHORE_BASE_URL".to_owned(), base_url),
            ("LONGSHORE_API_KEY".to_owned(), organization.api_key.clone()),
        ];
        Ok(program)
    }

    /// The first process that serves callers.
    pub fn server(&self) -> Result<&LongshoredProcess> {
        self.processes.first().context("there is no process")
    }

    /// The first worker.
    pub fn worker(&self) -> Result<&LongshoredProcess> {
        self.workers().next().context("there is no worker")
    }

    pub fn workers(&self) -> impl Iterator<Item = &LongshoredProcess> {
        self.processes.iter().filter(|it| !it.serves_callers())
    }

    pub fn workers_mut(&mut self) -> impl Iterator<Item = &mut LongshoredProcess> {
        self.processes.iter_mut().filter(|it| !it.serves_callers())
    }

    /// Waits until every process that works has its lease on the first shard.
    pub async fn wait_until_leased(&self) -> Result<()> {
        let working = self.processes.iter().filter(|it| it.verb() != "serve");
        let working = i64::try_from(working.count()).unwrap_or(i64::MAX);
        let pool = self.first_shard()?;
        let count = async || {
            let leases = "select count(*) from shard.node where dead_at is null";
            let leases = sqlx::query_scalar::<_, i64>(leases).fetch_one(pool).await;
            leases.context("counting leases")
        };
        let leased = LEASE_LIMITS.read_until(|it| *it >= working, count).await?;
        if leased < working {
            let text = format!("{leased} of {working} processes have a lease");
            return Err(TrialFailure::new(text));
        }
        Ok(())
    }

    /// Stops every worker gracefully, one after the other.
    pub async fn stop_workers(&mut self) -> Result<()> {
        for worker in self.workers_mut() {
            worker.terminate().await?;
        }
        Ok(())
    }

    pub fn start_workers(&mut self) -> Result<()> {
        self.workers_mut().try_for_each(LongshoredProcess::start)
    }
}

/// Starts every process; those that serve callers accept traffic when this returns.
async fn start_processes(
    base: &BaseEnvironment,
    specs: &[ProcessSpec],
) -> Result<Vec<LongshoredProcess>> {
    let mut processes = Vec::new();
    for spec in specs {
        let mut process = base.longshored.new_process(spec.verb, &spec.name)?;
        if let Some(relay) = spec.relay {
            process.set_databases(&base.urls.with_port(relay.port()));
        }
        for (name, value) in &spec.env_vars {
            process.set_env_var(name, value);
        }
        process.limit_open_files(spec.open_files);
        if spec.is_started {
            process.start()?;
        }
        processes.push(process);
    }
    for process in processes.iter_mut().filter(|it| it.serves_callers()) {
        process.wait_until_ready().await?;
    }
    Ok(processes)
}
