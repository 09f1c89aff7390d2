//! The fleet of the trial: everything that an alert watches, with Prometheus.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::{PgConnection, PgPool};

use crate::chaos::alerts::alert_monitor::AlertMonitor;
use crate::chaos::alerts::host_monitors::HostMonitors;
use crate::chaos::alerts::load_plan::{CLAUDE_MODEL, LoadPlan, OPENAI_MODEL, STUCK_MODEL};
use crate::harness::longshored::config_files;
use crate::harness::{
    BaseEnvironment, CHAOS_MEMORY, ChildProgram, DatabaseLayout, Deployment, FREE_MODEL,
    FailureContext as _, FilesClient, HttpClient, LongshoredProcess, PRICED_MODEL, Result, SHARD,
    ScratchFolder, SimulatorProcess, TrialClamdServer, TrialEnvironment, TrialPostgresServer,
    TrialPrometheusServer, TrialProviderAccount, TrialProviderModel, TrialSeaweedServer,
    report_progress,
};
use crate::options::{ChaosAlertsOptions, CommonOptions};

const ORGANIZATIONS: usize = 4;
const WORKERS: usize = 2;
/// All windows of the rules are a sixtieth of the usual ones.
const RULES_FACTOR: &str = "1/60";
const ACCOUNT_LIMITS: &str = "grace_seconds = 6, create_seconds = 6, linger_seconds = 1";
pub const OPENAI_ACCOUNT: &str = "openai-main";
pub const CLAUDE_ACCOUNT: &str = "claude-main";
pub const STUCK_ACCOUNT: &str = "openai-stuck";
/// While this file exists, the key management service fails.
const KEY_SERVICE_AWAY: &str = "key-service-away";
const AUDIT_FILE: &str = "audit.jsonl";
const SETTINGS: [(&str, &str); 5] = [
    ("PATROL_SECONDS", "3"),
    ("COMPLETE_WAIT_SECONDS", "1"),
    // A callback fails for good within seconds.
    ("CALLBACK_RETRY_DELAYS", "3"),
    ("CALLBACK_TIMEOUT_SECONDS", "2"),
    ("MASTER_KEY_ID", "trial"),
];

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct AlertFleet {
    pub monitor: AlertMonitor,
    pub service: TrialEnvironment,
    /// Only in a full run.
    pub hosts: Option<HostMonitors>,
    pub load_plan: Arc<LoadPlan>,
    pub simulator: SimulatorProcess,
    pub object_store: TrialSeaweedServer,
    pub scanner: TrialClamdServer,
    /// The program file of the processes, and the file that it is a link to.
    program: PathBuf,
    original_program: PathBuf,
    pub scratch: Arc<ScratchFolder>,
}

impl AlertFleet {
    /// Loads are accepted, and Prometheus scrapes, when this returns. The workers are not started.
    pub async fn start(common: &CommonOptions, options: &ChaosAlertsOptions) -> Result<Self> {
        let scratch = Arc::new(ScratchFolder::new()?);
        let program = scratch.join("longshored");
        link_program(&common.longshored, &program)?;
        let linked = CommonOptions {
            longshored: program.clone(),
            ..common.clone()
        };
        report_progress("starting SeaweedFS and clamd");
        let mut object_store = TrialSeaweedServer::start_without_waiting(&scratch, &common.weed)?;
        let scanner = TrialClamdServer::create(&scratch).await?;
        let layout = if options.small {
            DatabaseLayout::SharedServer
        } else {
            DatabaseLayout::ServerPerDatabase
        };
        let folder = Arc::clone(&scratch);
        let mut base = BaseEnvironment::build_in(folder, &linked, layout, CHAOS_MEMORY).await?;
        let simulator = SimulatorProcess::start(&common.simulator, &scratch, 1).await?;
        object_store.wait_until_working().await?;
        configure(&mut base, &simulator, &object_store, &scanner)?;
        base.longshored
            .run(&["admin", "encryption", "enable"])
            .await?;
        let deployment = Deployment::one_serve("", WORKERS)
            .with_organizations(ORGANIZATIONS)
            .with_stopped_workers();
        let service = TrialEnvironment::start(base, deployment).await?;
        let hosts = if options.small {
            None
        } else {
            Some(HostMonitors::start(&scratch).await?)
        };
        let monitor = start_monitor(&scratch, &service, hosts.as_ref(), &options.rules).await?;
        Ok(Self {
            monitor,
            load_plan: Arc::new(LoadPlan::new(&service.callers)),
            service,
            hosts,
            simulator,
            object_store,
            scanner,
            program,
            original_program: common.longshored.clone(),
            scratch,
        })
    }

    /// Workers report and audit at their start what they otherwise do once a minute.
    pub async fn restart_workers(&mut self) -> Result<()> {
        self.service.stop_workers().await?;
        self.service.start_workers()
    }

    pub fn server_process(&self) -> Result<&LongshoredProcess> {
        self.service.server()
    }

    /// The shard of the first organization.
    pub fn north(&self) -> Result<&PgPool> {
        self.service.first_shard()
    }

    /// Its database server, in a full run.
    pub fn north_server(&mut self) -> Result<&mut TrialPostgresServer> {
        let server = self.service.postgres.get_mut(1);
        server.context("the shard has no server of its own")
    }

    pub fn control_server(&mut self) -> Result<&mut TrialPostgresServer> {
        let server = self.service.postgres.first_mut();
        server.context("no database server is running")
    }

    /// A session for locks.
    pub async fn connect_north(&mut self) -> Result<PgConnection> {
        self.north_server()?.connect(SHARD).await
    }

    /// Runs a statement on the first shard; returns how many rows it changed.
    pub async fn execute_north(&self, statement: &'static str) -> Result<u64> {
        let done = sqlx::raw_sql(statement).execute(self.north()?).await;
        done.context(statement).map(|done| done.rows_affected())
    }

    /// The Files API for the first organization.
    pub fn files_client(&self) -> Result<FilesClient> {
        let address = self.server_process()?.address();
        let key = &self.service.first_organization()?.api_key;
        Ok(FilesClient::new(HttpClient::default(), address, key))
    }

    pub fn audit_file(&self) -> PathBuf {
        self.scratch.join(AUDIT_FILE)
    }

    pub fn stop_key_service(&self) -> Result<()> {
        let file = self.scratch.join(KEY_SERVICE_AWAY);
        fs::write(file, "").context("stopping the key management service")
    }

    pub fn start_key_service(&self) -> Result<()> {
        let file = self.scratch.join(KEY_SERVICE_AWAY);
        fs::remove_file(file).context("starting the key management service")
    }

    pub fn delete_program(&self) -> Result<()> {
        fs::remove_file(&self.program).context("deleting the program file")
    }

    pub fn restore_program(&self) -> Result<()> {
        link_program(&self.original_program, &self.program)
    }
}

/// The trial deletes its own file of the program, never the original.
fn link_program(original: &Path, link: &Path) -> Result<()> {
    // A link to another file system is not possible.
    let linked = fs::hard_link(original, link).or_else(|_| fs::copy(original, link).map(drop));
    linked.context("linking the program")
}

fn configure(
    base: &mut BaseEnvironment,
    simulator: &SimulatorProcess,
    object_store: &TrialSeaweedServer,
    scanner: &TrialClamdServer,
) -> Result<()> {
    let folder = base.scratch.path().to_owned();
    let accounts = provider_accounts(simulator);
    for (name, value) in config_files::write_config_files(&folder, &accounts, &models())? {
        base.longshored.set(name, &value);
    }
    let store = format!("127.0.0.1:{}", object_store.port());
    for (name, value) in object_store.settings(&store) {
        base.longshored.set(name, &value);
    }
    for (name, value) in SETTINGS {
        base.longshored.set(name, value);
    }
    let scanner = format!("tcp://{}", scanner.address());
    base.longshored.set("SCANNER", &scanner);
    let audit_file = folder.join(AUDIT_FILE).display().to_string();
    base.longshored.set("AUDIT_FILE", &audit_file);
    let command = write_key_service(&folder)?.display().to_string();
    base.longshored.set("MASTER_KEY_COMMAND", &command);
    Ok(())
}

/// A key management service that marks keys instead of encrypting them: the trial only needs it to
/// fail. The doctor refuses one that changes nothing.
fn write_key_service(folder: &Path) -> Result<PathBuf> {
    let (file, away) = (folder.join("key-service"), folder.join(KEY_SERVICE_AWAY));
    let script = format!(
        "#!/bin/sh\n\
         if [ -e '{}' ]; then echo 'the key management service is away' >&2; exit 1; fi\n\
         case $1 in\n\
         wrap) base64 -d | {{ printf 'wrapped:'; cat; }} | base64 -w 0 ;;\n\
         unwrap) base64 -d | tail -c +9 | base64 -w 0 ;;\n\
         esac\n",
        away.display()
    );
    fs::write(&file, script).context("writing the key management service")?;
    let executable = Permissions::from_mode(0o755);
    fs::set_permissions(&file, executable).context("writing the key management service")?;
    Ok(file)
}

fn provider_accounts(simulator: &SimulatorProcess) -> Vec<TrialProviderAccount> {
    let account = |name, kind, path: &str| TrialProviderAccount {
        name,
        kind,
        base_url: format!("http://{}/{path}", simulator.address),
        shard: None,
        limits: ACCOUNT_LIMITS.to_owned(),
        has_credential: true,
    };
    vec![
        account(OPENAI_ACCOUNT, "openai", "openai/v1"),
        // Its jobs carry no labels, so it serves one shard.
        TrialProviderAccount {
            shard: Some("north"),
            ..account(CLAUDE_ACCOUNT, "anthropic", "anthropic")
        },
        account(STUCK_ACCOUNT, "openai", "openai/v1"),
    ]
}

fn models() -> Vec<TrialProviderModel> {
    let model = |id, provider, is_priced| TrialProviderModel {
        id,
        providers: vec![provider],
        upstream: id,
        is_priced,
        features: "",
    };
    vec![
        model(FREE_MODEL, "mock", false),
        model(PRICED_MODEL, "mock", true),
        model(OPENAI_MODEL, OPENAI_ACCOUNT, true),
        // The other account serves the shard that this one does not.
        TrialProviderModel {
            providers: vec![CLAUDE_ACCOUNT, OPENAI_ACCOUNT],
            ..model(CLAUDE_MODEL, CLAUDE_ACCOUNT, true)
        },
        model(STUCK_MODEL, STUCK_ACCOUNT, true),
    ]
}

/// Writes the rules with short windows, and starts Prometheus with them.
async fn start_monitor(
    scratch: &ScratchFolder,
    service: &TrialEnvironment,
    hosts: Option<&HostMonitors>,
    script: &Path,
) -> Result<AlertMonitor> {
    report_progress("starting Prometheus");
    let folder = scratch.join("monitoring");
    let program = ChildProgram::new("python3").with_arguments([
        "-B".to_owned(),
        script.display().to_string(),
        "write".to_owned(),
        format!("--to={}", folder.display()),
        format!("--factor={RULES_FACTOR}"),
    ]);
    program.run(&scratch.join("rules")).await?;
    let rules = folder.join("rules/*.yml").display().to_string();
    let config = prometheus_config(&rules, &service.processes, hosts);
    let prometheus = TrialPrometheusServer::start(scratch, &config).await?;
    AlertMonitor::new(prometheus, &folder.join("grafana"))
}

fn prometheus_config(
    rules: &str,
    processes: &[LongshoredProcess],
    hosts: Option<&HostMonitors>,
) -> String {
    let targets = processes.iter().map(LongshoredProcess::metrics_address);
    let targets: Vec<String> = targets.map(|it| format!("\"{it}\"")).collect();
    format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n\
         rule_files: [\"{rules}\"]\n\
         scrape_configs:\n  - job_name: longshore\n    static_configs: [{{targets: [{}]}}]\n{}",
        targets.join(", "),
        hosts.map_or_else(String::new, HostMonitors::scrape_jobs)
    )
}
