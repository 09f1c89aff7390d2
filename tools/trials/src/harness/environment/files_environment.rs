//! The environment of trials with files: databases, store, scanner, one `serve` and some `work`
//! processes.

use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::harness::failure::{Result, TrialFailure};
use crate::harness::http::files_client::FilesClient;
use crate::harness::http::http_client::HttpClient;
use crate::harness::longshored::longshored_process::{
    DatabaseUrls, LongshoredProcess, LongshoredProgram,
};
use crate::harness::longshored::org_setup;
use crate::harness::organization::TrialOrganization;
use crate::harness::progress::report_progress;
use crate::harness::relays::faulty_relay::FaultyRelay;
use crate::harness::sample_files::SampleFile;
use crate::harness::sample_files::upload_content::UploadContent;
use crate::harness::servers::clamd::TrialClamdServer;
use crate::harness::servers::postgres::TrialPostgresServer;
use crate::harness::servers::redis::TrialRedisServer;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::servers::seaweedfs::TrialSeaweedServer;
use crate::options::CommonOptions;

/// The service probes store and scanner before it accepts files.
const FILES_READY_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const CONTROL: &str = "control";
const SHARDS: [&str; 2] = ["north", "south"];
const POSTGRES_MEMORY: &str = "256MB";

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct FilesEnvironment {
    pub server: LongshoredProcess,
    pub workers: Vec<LongshoredProcess>,
    pub longshored: LongshoredProgram,
    pub shards: Vec<(String, PgPool)>,
    pub clients: Vec<FilesClient>,
    pub organizations: Vec<TrialOrganization>,
    /// Between the service and the store; callers reach the store directly.
    pub store_relay: FaultyRelay,
    /// Between the service and the scanner.
    pub scanner_relay: FaultyRelay,
    pub object_store: TrialSeaweedServer,
    pub scanner: TrialClamdServer,
    pub postgres: TrialPostgresServer,
    _redis: TrialRedisServer,
    _scratch: ScratchFolder,
}

/// The size of the environment, and settings that differ from the default.
#[derive(Debug, Clone, Copy)]
pub struct FilesEnvironmentOptions<'a> {
    pub organizations: usize,
    pub workers: usize,
    pub settings: &'a [(&'a str, &'a str)],
}

impl FilesEnvironment {
    pub async fn build(common: &CommonOptions, plan: FilesEnvironmentOptions<'_>) -> Result<Self> {
        let scratch = ScratchFolder::new()?;
        report_progress("starting PostgreSQL, Redis, SeaweedFS and clamd");
        let mut objects = TrialSeaweedServer::start_without_waiting(&scratch, &common.weed)?;
        let scanner = TrialClamdServer::create(&scratch).await?;
        let redis = TrialRedisServer::create(&scratch).await?;
        let postgres = TrialPostgresServer::create(&scratch, "files", POSTGRES_MEMORY).await?;
        let (databases, shards) = create_databases(&postgres).await?;
        objects.wait_until_working().await?;
        let to_store = FaultyRelay::start(([127, 0, 0, 1], objects.port()).into()).await?;
        let to_scanner = FaultyRelay::start(scanner.address()).await?;

        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = LongshoredProgram::new(path, &scratch, logs, &databases, 1)?;
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
        report_progress(format!("creating {} organizations", plan.organizations));
        let organizations =
            org_setup::create_organizations(&longshored, &SHARDS, plan.organizations).await?;
        let (serving, working) = start_processes(&longshored, plan.workers).await?;
        let web = HttpClient::default();
        let callers = organizations.iter().map(|organization| {
            FilesClient::new(web.clone(), serving.address(), &organization.api_key)
        });
        Ok(Self {
            clients: callers.collect(),
            server: serving,
            workers: working,
            longshored,
            shards,
            organizations,
            store_relay: to_store,
            scanner_relay: to_scanner,
            object_store: objects,
            scanner,
            postgres,
            _redis: redis,
            _scratch: scratch,
        })
    }
}

impl FilesEnvironment {
    /// Waits until a file becomes ready.
    pub async fn wait_until_files_work(&self) -> Result<()> {
        let begun = Instant::now();
        let caller = self.clients.first();
        let caller =
            caller.ok_or_else(|| TrialFailure::new("there is no client that can upload"))?;
        let content = UploadContent::from(SampleFile::nth(0));
        loop {
            let response = caller.create_file(&content).await;
            let failed = match caller.upload_all(response.upload_grant(), &content).await {
                Err(refused) => format!("{}; {refused}", response.summary()),
                Ok(listed) => {
                    let ended = caller
                        .complete_file(response.string_field("id"), &listed)
                        .await;
                    if ended.status == 200 {
                        return Ok(());
                    }
                    ended.summary()
                }
            };
            if begun.elapsed() > FILES_READY_TIMEOUT {
                let log = self.server.child.log_tail();
                return Err(TrialFailure::new(format!(
                    "the service accepts no file: {failed}\n{log}"
                )));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// Starts one `serve` and this many `work` processes; waits until the first is ready.
async fn start_processes(
    longshored: &LongshoredProgram,
    workers: usize,
) -> Result<(LongshoredProcess, Vec<LongshoredProcess>)> {
    let mut serving = longshored.new_process("serve", "serve")?;
    serving.start()?;
    let mut working = Vec::new();
    for number in 1..=workers {
        let mut process = longshored.new_process("work", &format!("work-{number}"))?;
        process.start()?;
        working.push(process);
    }
    serving.wait_until_ready().await?;
    Ok((serving, working))
}

/// Creates control and the shards; returns their URLs and connection pools.
async fn create_databases(
    postgres: &TrialPostgresServer,
) -> Result<(DatabaseUrls, Vec<(String, PgPool)>)> {
    postgres.create_database(CONTROL).await?;
    let mut databases = DatabaseUrls {
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
