//! `longshored` processes with the settings of a trial.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::harness::build_profile;
use crate::harness::http::service_client;
use crate::harness::longshored::catalogue;
use crate::harness::longshored::licence::TrialLicence;
use crate::harness::longshored::metrics::ScrapedMetrics;
use crate::harness::measurement::process_memory;
use crate::harness::servers::free_port;
use crate::harness::{
    ChildProgram, ChildServer, FailureContext as _, PollLimits, ProgramOutput, Result,
    ScratchFolder, TrialFailure,
};
use crate::options::CommonOptions;

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(20));
/// The service's drain timeout, with a margin.
const STOP_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(45));

/// The `longshored` binary with its settings.
#[derive(Debug, Clone)]
pub struct LongshoredProgram {
    path: PathBuf,
    scratch: PathBuf,
    logs: PathBuf,
    settings: Vec<(String, String)>,
}

/// The URL of the `control` database, and of each shard by name.
#[derive(Debug, Clone)]
pub struct DatabaseUrls {
    pub control: String,
    pub shards: Vec<(String, String)>,
}

impl DatabaseUrls {
    /// The same databases on another port of this machine.
    #[must_use]
    pub fn with_port(&self, port: u16) -> Self {
        self.map(|url| {
            let (server, database) = url.rsplit_once('/').unwrap_or((url, ""));
            let (host, _) = server.rsplit_once(':').unwrap_or((server, ""));
            format!("{host}:{port}/{database}")
        })
    }

    /// The same databases with these parameters of the connection.
    #[must_use]
    pub fn with_parameters(&self, parameters: &str) -> Self {
        self.map(|url| format!("{url}?{parameters}"))
    }

    fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let shards = self.shards.iter();
        Self {
            control: change(&self.control),
            shards: shards
                .map(|(name, url)| (name.clone(), change(url)))
                .collect(),
        }
    }
}

impl LongshoredProgram {
    pub fn new(
        common: &CommonOptions,
        scratch: &ScratchFolder,
        databases: &DatabaseUrls,
    ) -> Result<Self> {
        let mut made = Self {
            path: common.longshored.clone(),
            scratch: scratch.path().to_owned(),
            // For long-lived processes only: the output of admin commands contains keys.
            logs: scratch.log_folder(common.logs.as_deref())?,
            settings: Vec::new(),
        };
        made.set_databases(databases);
        made.set("ENVIRONMENT", "development");
        made.set("CALLBACK_ALLOW_CIDRS", "127.0.0.0/16");
        made.set("MOCK_DELAY_SECONDS", "0");
        let models = catalogue::write_catalogue(scratch.path())?;
        made.set("MODELS_FILE", &models.display().to_string());
        // Every load goes through the limiter, but the limits are too high to be reached.
        let licence = TrialLicence::write(scratch.path())?;
        made.set("DEPLOYMENT", "self_hosted");
        made.set("LICENCE_FILE", &licence.file.display().to_string());
        made.set("LICENCE_PUBLIC_KEY", &licence.public_key);
        made.set("BACKSTOP_LIMIT_PER_MINUTE", "1000000000");
        made.set("BACKSTOP_LIMIT_PER_HOUR", "1000000000");
        Ok(made)
    }

    /// The same settings for another build.
    pub fn set_path(&mut self, path: &Path) {
        path.clone_into(&mut self.path);
    }

    /// A later value replaces an earlier one.
    pub fn set(&mut self, name: &str, value: &str) {
        self.set_env_var(&format!("SVC_{name}"), value);
    }

    /// The same for an environment variable that is not a setting.
    pub fn set_env_var(&mut self, name: &str, value: &str) {
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    pub fn set_databases(&mut self, databases: &DatabaseUrls) {
        let shards = databases.shards.iter();
        let shards: Vec<String> = shards.map(|(name, url)| format!("{name}={url}")).collect();
        self.set("CONTROL_DATABASE_URL", &databases.control);
        self.set("SHARD_DATABASE_URLS", &shards.join(","));
    }

    fn child_program(&self, verb: &[&str]) -> ChildProgram {
        let mut program = ChildProgram::new(&self.path).with_arguments(verb.iter().copied());
        program.environment.clone_from(&self.settings);
        program
            .environment
            .push(("RUST_BACKTRACE".to_owned(), "1".to_owned()));
        program
    }

    /// The program with the settings of the service, and with `longshored` in its path.
    pub fn with_settings(&self, mut program: ChildProgram) -> ChildProgram {
        let folder = self.path.parent().unwrap_or(&self.scratch).display();
        let path = format!("{folder}:/usr/local/bin:/usr/bin:/bin");
        program.environment.clone_from(&self.settings);
        program.environment.push(("PATH".to_owned(), path));
        program
    }

    /// Runs a command that ends.
    pub async fn run(&self, verb: &[&str]) -> Result<String> {
        self.child_program(verb)
            .run(&self.temporary_output_path())
            .await
    }

    /// The same for a command whose failure is an answer.
    pub async fn run_to_end(&self, verb: &[&str]) -> Result<ProgramOutput> {
        self.child_program(verb)
            .run_to_end(&self.temporary_output_path())
            .await
    }

    fn temporary_output_path(&self) -> PathBuf {
        let name = format!("longshored-{:08x}", rand::random::<u32>());
        self.scratch.join(name)
    }

    /// A process with its own addresses; not started yet.
    pub fn new_process(&self, verb: &'static str, name: &str) -> Result<LongshoredProcess> {
        let log_name = format!("longshored-{name}.log");
        Ok(LongshoredProcess {
            program: self.clone(),
            verb,
            child: ChildServer::new(name, self.logs.join(log_name), START_LIMITS),
            listen: free_port::find_free_address()?,
            metrics: free_port::find_free_address()?,
            open_files: None,
        })
    }
}

/// One process that keeps its addresses across restarts; it is killed on drop.
#[derive(Debug)]
pub struct LongshoredProcess {
    program: LongshoredProgram,
    verb: &'static str,
    pub child: ChildServer,
    listen: SocketAddr,
    metrics: SocketAddr,
    open_files: Option<u32>,
}

impl LongshoredProcess {
    pub const fn address(&self) -> SocketAddr {
        self.listen
    }

    /// Where Prometheus reads its metrics.
    pub const fn metrics_address(&self) -> SocketAddr {
        self.metrics
    }

    pub fn name(&self) -> &str {
        self.child.name()
    }

    pub const fn verb(&self) -> &'static str {
        self.verb
    }

    /// Whether callers reach it.
    pub fn serves_callers(&self) -> bool {
        self.verb != "work"
    }

    /// From the next start on.
    pub fn set_databases(&mut self, databases: &DatabaseUrls) {
        self.program.set_databases(databases);
    }

    /// The most memory that it has had so far.
    pub fn peak_megabytes(&self) -> Result<f64> {
        let pid = self.child.pid().context("a process has exited")?;
        process_memory::peak_resident_megabytes(pid)
    }

    pub async fn scrape_metrics(&self) -> Result<ScrapedMetrics> {
        ScrapedMetrics::scrape(self.metrics).await
    }

    /// From the next start on; a later value replaces an earlier one.
    pub fn set(&mut self, name: &str, value: &str) {
        self.program.set(name, value);
    }

    /// From the next start on, for an environment variable that is not a setting.
    pub fn set_env_var(&mut self, name: &str, value: &str) {
        self.program.set_env_var(name, value);
    }

    /// From the next start on: the limit of open files.
    pub const fn limit_open_files(&mut self, most: Option<u32>) {
        self.open_files = most;
    }

    pub fn start(&mut self) -> Result<()> {
        let mut program = self.program.child_program(&[self.verb]);
        program.open_files = self.open_files;
        let listens = [
            ("SVC_LISTEN", self.listen),
            ("SVC_METRICS_LISTEN", self.metrics),
        ];
        let listens = listens.map(|(name, address)| (name.to_owned(), address.to_string()));
        program.environment.extend(listens);
        self.child.spawn(&program)
    }

    /// Starts it; it accepts traffic when this returns.
    pub async fn start_and_wait(&mut self) -> Result<()> {
        self.start()?;
        self.wait_until_ready().await
    }

    /// Waits until it accepts traffic.
    pub async fn wait_until_ready(&mut self) -> Result<()> {
        let listen = self.listen;
        let ask = async || {
            if service_client::is_ready(listen).await {
                return Ok(());
            }
            Err(TrialFailure::new("/ready does not answer 200"))
        };
        self.child.wait_until_answering(ask).await
    }

    /// SIGTERM; returns how long a graceful shutdown took.
    pub async fn terminate(&mut self) -> Result<Duration> {
        let Some(mut daemon) = self.child.take() else {
            return Ok(Duration::ZERO);
        };
        let begun = Instant::now();
        daemon.signal("TERM")?;
        let status = daemon.wait_for_exit(STOP_TIMEOUT).await?;
        if !status.success() {
            return Err(self.child.failure(&format!("after SIGTERM: {status}")));
        }
        Ok(begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_found_behind_another_port() {
        let url = |port: u16, name: &str| format!("postgres://postgres@127.0.0.1:{port}/{name}");
        let databases = DatabaseUrls {
            control: url(12_000, "control"),
            shards: vec![("north".to_owned(), url(12_000, "north"))],
        };
        let moved = databases.with_port(13_000);
        assert_eq!(moved.control, url(13_000, "control"));
        assert_eq!(moved.shards, [("north".to_owned(), url(13_000, "north"))]);
        let encrypted = moved.with_parameters("sslmode=require");
        let expected = "postgres://postgres@127.0.0.1:13000/control?sslmode=require";
        assert_eq!(encrypted.control, expected);
    }
}
