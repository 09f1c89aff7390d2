//! A database server with an archive, an object store, a scanner and a simulator; one `serve` and
//! one `work` process.

use std::path::PathBuf;
use std::sync::Arc;

use crate::harness::longshored::config_files;
use crate::harness::{
    BaseEnvironment, CHAOS_MEMORY, ChildProgram, DatabaseLayout, Deployment, FREE_MODEL,
    FailureContext as _, Result, ScratchFolder, SimulatorProcess, TrialAccount, TrialClamdServer,
    TrialEnvironment, TrialPostgresServer, TrialProviderAccount, TrialProviderModel,
    TrialSeaweedServer, report_progress,
};
use crate::options::CommonOptions;

/// Jobs of the first carry the identity of their shard, those of the second only their label.
pub const ACCOUNTS: [TrialAccount; 2] = [
    TrialAccount {
        name: "openai-main",
        kind: "openai",
        shard: None,
        base_path: "openai/v1",
    },
    TrialAccount {
        name: "gemini-main",
        kind: "gemini",
        shard: None,
        base_path: "gemini",
    },
];
/// The server answers in realtime, and the free model's mock as soon as its batch is gathered.
pub const MODELS: [&str; 4] = ["trial-openai", "trial-gemini", "trial-server", FREE_MODEL];
/// New jobs are visible at once. After ten times the grace, a job without results is lost.
const JOB_LIMITS: &str = "grace_seconds = 2, create_seconds = 12, linger_seconds = 2";
const SETTINGS: [(&str, &str); 3] = [
    ("LEASE_SECONDS", "3"),
    ("BATCH_LINGER_MILLISECONDS", "500"),
    ("CALLBACK_RETRY_DELAYS", "1,2,5,10,30"),
];
const ORGANIZATIONS: usize = 2;

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct RestoreEnvironment {
    pub service: TrialEnvironment,
    pub simulator: SimulatorProcess,
    pub objects: TrialSeaweedServer,
    _scanner: TrialClamdServer,
    folder: PathBuf,
}

impl RestoreEnvironment {
    pub async fn build(common: &CommonOptions) -> Result<Self> {
        let scratch = Arc::new(ScratchFolder::new()?);
        report_progress("starting SeaweedFS, clamd and PostgreSQL with an archive");
        let mut objects = TrialSeaweedServer::start_without_waiting(&scratch, &common.weed)?;
        let scanner = TrialClamdServer::create(&scratch).await?;
        let folder = scratch.join("restore");
        let server =
            TrialPostgresServer::create_with_archive(&scratch, &folder, CHAOS_MEMORY).await?;
        let layout = DatabaseLayout::SingleShard;
        let folder_of_all = Arc::clone(&scratch);
        let mut base =
            BaseEnvironment::on_servers(folder_of_all, common, layout, vec![server]).await?;
        let simulator = SimulatorProcess::start(&common.simulator, &scratch, 1).await?;
        objects.wait_until_working().await?;
        let store = format!("127.0.0.1:{}", objects.port());
        for (name, value) in objects.settings(&store) {
            base.longshored.set(name, &value);
        }
        let scanner_url = format!("tcp://{}", scanner.address());
        base.longshored.set("SCANNER", &scanner_url);
        for (name, value) in write_config(&scratch, &simulator)? {
            base.longshored.set(name, &value);
        }
        let mut deployment = Deployment::one_serve("", 1)
            .with_organizations(ORGANIZATIONS)
            .with_settings(&SETTINGS);
        deployment.sink.keeps_bodies = true;
        Ok(Self {
            service: TrialEnvironment::start(base, deployment).await?,
            simulator,
            objects,
            _scanner: scanner,
            folder,
        })
    }

    pub fn server_mut(&mut self) -> Result<&mut TrialPostgresServer> {
        self.service
            .postgres
            .first_mut()
            .context("no database server is running")
    }

    /// Runs a block of the page as the user of PostgreSQL; returns its output.
    pub async fn run_as_postgres(&self, script: ChildProgram, restore_to: &str) -> Result<String> {
        let server = self.service.database_server()?;
        let mut script = server.as_its_user(script);
        let folder = self.folder.display();
        for (name, value) in [
            ("TRIAL_FOLDER", folder.to_string()),
            ("PGHOST", "127.0.0.1".to_owned()),
            ("PGPORT", server.port().to_string()),
            ("PGUSER", "postgres".to_owned()),
            ("PGDATA", format!("{folder}/data")),
            ("BACKUP", format!("{folder}/backup")),
            ("ARCHIVE", format!("{folder}/archive")),
            ("RESTORE_TO", restore_to.to_owned()),
        ] {
            script.environment.push((name.to_owned(), value));
        }
        script
            .run(&self.service.scratch.join("page-postgres"))
            .await
    }

    /// Runs a block of the page with the settings of the service; returns its output.
    pub async fn run_as_operator(&self, script: ChildProgram, restore_to: &str) -> Result<String> {
        let scratch = &self.service.scratch;
        let mut script = self.service.longshored.with_settings(script);
        let folder = scratch.path().display().to_string();
        for (name, value) in [
            ("TRIAL_FOLDER", folder.as_str()),
            ("RESTORE_TO", restore_to),
        ] {
            script.environment.push((name.to_owned(), value.to_owned()));
        }
        script.run(&scratch.join("page-operator")).await
    }
}

fn write_config(
    scratch: &ScratchFolder,
    simulator: &SimulatorProcess,
) -> Result<[(&'static str, String); 2]> {
    let address = simulator.address;
    let account = |name, kind, path: &str, limits: &str| TrialProviderAccount {
        name,
        kind,
        base_url: format!("http://{address}/{path}"),
        shard: None,
        limits: limits.to_owned(),
        has_credential: true,
    };
    let mut accounts: Vec<_> = ACCOUNTS
        .iter()
        .map(|it| account(it.name, it.kind, it.base_path, JOB_LIMITS))
        .collect();
    accounts.push(account(
        "server-main",
        "server",
        "server/v1",
        "questions = 4",
    ));
    let model = |id, provider| TrialProviderModel {
        id,
        providers: vec![provider],
        upstream: id,
        is_priced: id != FREE_MODEL,
        features: "",
    };
    let [openai, gemini, server, free] = MODELS;
    let models = [
        model(openai, "openai-main"),
        model(gemini, "gemini-main"),
        model(server, "server-main"),
        model(free, "mock"),
    ];
    let folder = scratch.path();
    config_files::write_config_files(folder, &accounts, &models)
}
