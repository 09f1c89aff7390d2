//! `longshored` processes, started with settings of the trial's own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::catalogue;
use crate::daemon::{Daemon, Finished, Program};
use crate::failure::{During as _, Failure, Result};
use crate::http;
use crate::licence::Licence;
use crate::metrics::Metrics;
use crate::port;
use crate::scratch::Scratch;

const STARTING: Duration = Duration::from_secs(30);
/// What the service gives itself to drain, and some for the machine.
const STOPPING: Duration = Duration::from_secs(45);

/// The program under trial and where its databases are.
#[derive(Debug, Clone)]
pub struct Longshored {
    path: PathBuf,
    scratch: PathBuf,
    logs: PathBuf,
    settings: Vec<(String, String)>,
}

/// The `control` database, and each shard by name.
#[derive(Debug, Clone)]
pub struct Databases {
    pub control: String,
    pub shards: Vec<(String, String)>,
}

impl Databases {
    /// The same databases behind another port of this machine.
    #[must_use]
    pub fn at(&self, port: u16) -> Self {
        let moved = |url: &str| {
            let (server, database) = url.rsplit_once('/').unwrap_or((url, ""));
            let (host, _) = server.rsplit_once(':').unwrap_or((server, ""));
            format!("{host}:{port}/{database}")
        };
        let shards = self.shards.iter();
        Self {
            control: moved(&self.control),
            shards: shards
                .map(|(name, url)| (name.clone(), moved(url)))
                .collect(),
        }
    }
}

impl Longshored {
    /// `logs` are those of long-lived processes: what an admin command says holds keys.
    pub fn new(
        path: &Path,
        scratch: &Scratch,
        logs: Option<&Path>,
        databases: &Databases,
        mock_delay: u32,
    ) -> Result<Self> {
        let mut made = Self {
            path: path.to_owned(),
            scratch: scratch.path().to_owned(),
            logs: scratch.logs(logs)?,
            settings: Vec::new(),
        };
        made.reach(databases);
        made.set("ENVIRONMENT", "development");
        made.set("CALLBACK_ALLOW_CIDRS", "127.0.0.0/16");
        made.set("MOCK_DELAY_SECONDS", &mock_delay.to_string());
        let models = catalogue::write(scratch.path())?;
        made.set("MODELS_FILE", &models.display().to_string());
        // The limiter is in place and asked for every load; it has room.
        let licence = Licence::write(scratch.path())?;
        made.set("DEPLOYMENT", "self_hosted");
        made.set("LICENCE_FILE", &licence.file.display().to_string());
        made.set("LICENCE_PUBLIC_KEY", &licence.public_key);
        made.set("BACKSTOP_LIMIT_PER_MINUTE", "1000000000");
        made.set("BACKSTOP_LIMIT_PER_HOUR", "1000000000");
        Ok(made)
    }

    /// The last value given is the one that counts.
    pub fn set(&mut self, name: &str, value: &str) {
        self.set_environment(&format!("SVC_{name}"), value);
    }

    /// The same for a variable that is no setting of the service.
    fn set_environment(&mut self, name: &str, value: &str) {
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    fn reach(&mut self, databases: &Databases) {
        let shards = databases.shards.iter();
        let shards: Vec<String> = shards.map(|(name, url)| format!("{name}={url}")).collect();
        self.set("CONTROL_DATABASE_URL", &databases.control);
        self.set("SHARD_DATABASE_URLS", &shards.join(","));
    }

    fn program(&self, verb: &[&str]) -> Program {
        let mut program = Program::new(&self.path).arguments(verb.iter().copied());
        program.environment.clone_from(&self.settings);
        program
            .environment
            .push(("RUST_BACKTRACE".to_owned(), "1".to_owned()));
        program
    }

    /// Runs a verb that ends by itself.
    pub async fn run(&self, verb: &[&str]) -> Result<String> {
        self.program(verb).run(&self.scrap()).await
    }

    /// The same for a verb whose failure is an answer.
    pub async fn finish(&self, verb: &[&str]) -> Result<Finished> {
        self.program(verb).finish(&self.scrap()).await
    }

    /// Where the words of a short run lie meanwhile.
    fn scrap(&self) -> PathBuf {
        let name = format!("longshored-{:08x}", rand::random::<u32>());
        self.scratch.join(name)
    }

    /// A process that is yet to be started, with addresses of its own.
    pub fn process(&self, verb: &'static str, name: &str) -> Result<Process> {
        Ok(Process {
            program: self.clone(),
            verb,
            name: name.to_owned(),
            log: self.logs.join(format!("longshored-{name}.log")),
            listen: port::free()?,
            metrics: port::free()?,
            open_files: None,
            daemon: None,
        })
    }
}

/// One process that keeps its addresses over its restarts; dropped, it is killed.
#[derive(Debug)]
pub struct Process {
    program: Longshored,
    verb: &'static str,
    name: String,
    log: PathBuf,
    listen: SocketAddr,
    metrics: SocketAddr,
    open_files: Option<u32>,
    daemon: Option<Daemon>,
}

impl Process {
    pub const fn address(&self) -> SocketAddr {
        self.listen
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether callers reach it.
    pub fn is_serving(&self) -> bool {
        self.verb != "work"
    }

    /// SIGSTOP: it keeps its memory, its sockets and its transactions.
    pub fn stop(&self) -> Result<()> {
        self.running()?.stop()
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<()> {
        self.running()?.resume()
    }

    fn running(&self) -> Result<&Daemon> {
        let daemon = self.daemon.as_ref();
        daemon.ok_or_else(|| Failure::new(format!("{} is not running", self.name)))
    }

    /// From the next start on, it reaches its databases at other addresses.
    pub fn reach(&mut self, databases: &Databases) {
        self.program.reach(databases);
    }

    /// What it counts about itself.
    pub async fn metrics(&self) -> Result<Metrics> {
        Metrics::read(self.metrics).await
    }

    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::pid)
    }

    pub fn is_running(&mut self) -> bool {
        self.daemon.as_mut().is_some_and(Daemon::is_running)
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.daemon.as_mut().and_then(Daemon::status)
    }

    /// From the next start on; the last value given is the one that counts.
    pub fn set(&mut self, name: &str, value: &str) {
        self.program.set(name, value);
    }

    /// From the next start on, for a variable that is no setting of the service.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        self.program.set_environment(name, value);
    }

    /// From the next start on: how many files it may have open.
    pub const fn limit_open_files(&mut self, most: Option<u32>) {
        self.open_files = most;
    }

    pub fn start(&mut self) -> Result<()> {
        let mut program = self.program.program(&[self.verb]);
        program.open_files = self.open_files;
        let listens = [
            ("SVC_LISTEN", self.listen),
            ("SVC_METRICS_LISTEN", self.metrics),
        ];
        let listens = listens.map(|(name, address)| (name.to_owned(), address.to_string()));
        program.environment.extend(listens);
        self.daemon = Some(program.start(&self.log)?);
        Ok(())
    }

    /// Waits until it takes traffic.
    pub async fn ready(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            if http::is_ready(self.listen).await {
                return Ok(());
            }
            let running = self.is_running();
            if !running || begun.elapsed() > STARTING {
                let what = if running { "is not ready" } else { "has ended" };
                let tail = self.last_words();
                return Err(Failure::new(format!(
                    "longshored {} {what}\n{tail}",
                    self.verb
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// SIGKILL; returns the process id that is no more.
    pub fn kill(&mut self) -> Option<u32> {
        let mut daemon = self.daemon.take()?;
        daemon.kill();
        Some(daemon.pid())
    }

    /// SIGTERM, and how long it took to end in peace.
    pub async fn terminate(&mut self) -> Result<Duration> {
        let Some(mut daemon) = self.daemon.take() else {
            return Ok(Duration::ZERO);
        };
        let begun = Instant::now();
        daemon.signal("TERM")?;
        let status = daemon.ended(STOPPING).await?;
        if !status.success() {
            let words = self.last_words();
            return Err(Failure::new(format!("after SIGTERM: {status}\n{words}")));
        }
        Ok(begun.elapsed())
    }

    /// The end of its log, for whoever must find out why.
    pub fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log)
            .during("reading a log")
            .unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines
            .get(lines.len().saturating_sub(30)..)
            .unwrap_or_default()
            .join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_found_behind_another_port() {
        let url = |port: u16, name: &str| format!("postgres://postgres@127.0.0.1:{port}/{name}");
        let databases = Databases {
            control: url(12_000, "control"),
            shards: vec![("north".to_owned(), url(12_000, "north"))],
        };
        let moved = databases.at(13_000);
        assert_eq!(moved.control, url(13_000, "control"));
        assert_eq!(moved.shards, [("north".to_owned(), url(13_000, "north"))]);
    }
}
