//! PostgreSQL servers for one trial, as durable as in production.

pub mod archive;
pub mod standby;
pub mod tls;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, PgPool};

use crate::harness::servers::child_process::{ChildProgram, UnixUser};
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, PollLimits, Result};

/// Tells the trial's own connections from the service's.
pub const TRIALS_APPLICATION_NAME: &str = "trials";
const START_LIMITS: PollLimits = PollLimits::new(Duration::from_mins(1), Duration::from_millis(50));
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// One server; it is stopped on drop. Its data is in the scratch folder.
#[derive(Debug)]
pub struct TrialPostgresServer {
    /// The postmaster, the parent of all backends.
    pub child: ChildServer,
    programs_folder: Option<PathBuf>,
    user: Option<UnixUser>,
    data_folder: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
}

impl TrialPostgresServer {
    /// Creates a server and starts it.
    pub async fn create(scratch: &ScratchFolder, name: &str, shared_buffers: &str) -> Result<Self> {
        let data = scratch.join(format!("postgres-{name}"));
        fs::create_dir(&data).context("creating a data folder")?;
        Self::create_in(scratch, name, data, default_settings(shared_buffers)).await
    }

    /// The same with connections for many tests; throwaway data is not synced to disk.
    pub async fn create_for_tests(scratch: &ScratchFolder, is_throwaway: bool) -> Result<Self> {
        let data = scratch.join("postgres");
        fs::create_dir(&data).context("creating a data folder")?;
        let mut settings = default_settings("256MB");
        settings.push(("max_connections".to_owned(), "400".to_owned()));
        if is_throwaway {
            let unsafe_settings = ["fsync", "full_page_writes"];
            settings.extend(unsafe_settings.map(|name| (name.to_owned(), "off".to_owned())));
        }
        Self::create_in(scratch, "server", data, settings).await
    }

    /// The same for a small file system: it keeps as little WAL as possible.
    pub async fn create_small(scratch: &ScratchFolder, name: &str, data: PathBuf) -> Result<Self> {
        let mut settings = default_settings("32MB");
        for (setting, value) in [("max_wal_size", "48MB"), ("min_wal_size", "32MB")] {
            settings.push((setting.to_owned(), value.to_owned()));
        }
        Self::create_in(scratch, name, data, settings).await
    }

    async fn create_in(
        scratch: &ScratchFolder,
        name: &str,
        data: PathBuf,
        settings: Vec<(String, String)>,
    ) -> Result<Self> {
        let programs = find_programs_folder();
        let user = unprivileged_user(scratch)?;
        if let Some(user) = user {
            chown(&data, Some(user.uid), Some(user.gid))
                .context("changing the owner of a data folder")?;
        }
        let mut initdb = ChildProgram::new(program_path(programs.as_deref(), "initdb"));
        initdb.user = user;
        let folder = data.display().to_string();
        let arguments = ["-D", &folder, "-U", "postgres", "-A", "trust", "-E", "UTF8"];
        let initdb = initdb
            .with_arguments(arguments)
            .with_arguments(["--locale=C.UTF-8", "-N"]);
        initdb.run(&scratch.join(format!("initdb-{name}"))).await?;

        let mut made = Self {
            child: new_child(scratch, name),
            programs_folder: programs,
            user,
            data_folder: data,
            port: free_port::find_free_address()?.port(),
            settings,
        };
        made.start().await?;
        Ok(made)
    }

    pub async fn start(&mut self) -> Result<()> {
        let mut postmaster =
            ChildProgram::new(program_path(self.programs_folder.as_deref(), "postgres"));
        postmaster.user = self.user;
        postmaster.parent_death_signal = "QUIT";
        let folder = self.data_folder.display().to_string();
        let mut postmaster =
            postmaster.with_arguments(["-D", &folder, "-p", &self.port.to_string()]);
        for (setting, value) in &self.settings {
            postmaster = postmaster.with_arguments(["-c".to_owned(), format!("{setting}={value}")]);
        }
        self.child.spawn(&postmaster)?;
        let options = self.connect_options("postgres");
        let connect = async || options.connect().await.context("connecting").map(drop);
        self.child.wait_until_answering(connect).await
    }

    /// Stops it like a crash: `pg_ctl stop -m immediate`.
    pub async fn crash(&mut self) -> Result<()> {
        if let Some(mut daemon) = self.child.take() {
            daemon.signal("QUIT")?;
            daemon.wait_for_exit(STOP_TIMEOUT).await?;
        }
        Ok(())
    }

    pub fn name(&self) -> &str {
        self.child.name()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// A program of the same installation, such as `pgbench`.
    pub fn installed_program(&self, name: &str) -> ChildProgram {
        ChildProgram::new(program_path(self.programs_folder.as_deref(), name))
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn connect_options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.port)
            .username("postgres")
            .database(database)
            .ssl_mode(PgSslMode::Disable)
            .application_name(TRIALS_APPLICATION_NAME)
    }

    pub async fn connect(&self, database: &str) -> Result<PgConnection> {
        let connected = self.connect_options(database).connect().await;
        connected.context(format!("connecting to {}", self.name()))
    }

    /// Connections for queries of the trial; opened on first use.
    pub fn pool(&self, database: &str) -> PgPool {
        PgPoolOptions::new()
            .max_connections(4)
            .connect_lazy_with(self.connect_options(database))
    }

    /// The same through a relay.
    pub fn pool_through_relay(&self, relay: SocketAddr, database: &str) -> PgPool {
        PgPoolOptions::new()
            .max_connections(4)
            .connect_lazy_with(self.connect_options(database).port(relay.port()))
    }

    pub async fn create_database(&self, name: &str) -> Result<()> {
        let mut connection = self.connect("postgres").await?;
        let statement = AssertSqlSafe(format!("create database {name}"));
        let made = sqlx::raw_sql(statement).execute(&mut connection).await;
        made.context(format!("creating database {name}"))
            .map(|_| ())
    }

    pub async fn checkpoint(&self) -> Result<()> {
        let mut connection = self.connect("postgres").await?;
        execute(&mut connection, "checkpoint").await
    }

    /// Ends the current segment of the write-ahead log, and returns its name: the whole log is in
    /// files then.
    pub async fn switch_wal(&self) -> Result<String> {
        let mut connection = self.connect("postgres").await?;
        sqlx::query_scalar("select pg_walfile_name(pg_switch_wal())")
            .fetch_one(&mut connection)
            .await
            .context("ending a segment of the write-ahead log")
    }

    /// The position of the write-ahead log, in bytes.
    pub async fn read_wal_bytes(&self) -> Result<i64> {
        let mut connection = self.connect("postgres").await?;
        let position = "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint";
        sqlx::query_scalar(position)
            .fetch_one(&mut connection)
            .await
            .context("reading the WAL position")
    }

    /// Its settings, for the verdict.
    pub fn settings_to_json(&self) -> Value {
        let pairs = self
            .settings
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()));
        Value::Object(pairs.collect::<Map<_, _>>())
    }
}

impl Drop for TrialPostgresServer {
    fn drop(&mut self) {
        // SIGKILL would leave its shared memory behind.
        if let Some(mut daemon) = self.child.take() {
            daemon.terminate("QUIT", STOP_TIMEOUT);
        }
    }
}

/// The only server, or the first one.
pub fn first_server(servers: &[TrialPostgresServer]) -> Result<&TrialPostgresServer> {
    servers.first().context("no database server is running")
}

/// Runs statements without parameters.
pub async fn execute(connection: &mut PgConnection, statements: &'static str) -> Result<()> {
    let done = sqlx::raw_sql(statements).execute(connection).await;
    done.context(statements).map(drop)
}

/// The server's clock, which timestamps the rows.
pub async fn read_clock(pool: &PgPool) -> Result<DateTime<Utc>> {
    let now = sqlx::query_scalar("select clock_timestamp()");
    now.fetch_one(pool)
        .await
        .context("reading the server's clock")
}

fn new_child(scratch: &ScratchFolder, name: &str) -> ChildServer {
    let log_file = scratch.join(format!("postgres-{name}.log"));
    ChildServer::new(name, log_file, START_LIMITS)
}

fn default_settings(shared_buffers: &str) -> Vec<(String, String)> {
    let pairs = [
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("shared_buffers", shared_buffers),
        ("max_wal_size", "4GB"),
        ("max_connections", "300"),
    ];
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}

/// Debian installs each version in its own folder; elsewhere the programs are in PATH.
pub fn find_programs_folder() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let versions = versions.filter_map(|entry| Some(entry.ok()?.path()));
    let with_number = versions.filter_map(|path| {
        let version: u32 = path.file_name()?.to_str()?.parse().ok()?;
        let programs = path.join("bin");
        programs
            .join("initdb")
            .exists()
            .then_some((version, programs))
    });
    with_number
        .max_by_key(|(version, _)| *version)
        .map(|(_, programs)| programs)
}

fn program_path(programs: Option<&Path>, name: &str) -> PathBuf {
    programs.map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
}

/// PostgreSQL refuses to run as root.
pub fn unprivileged_user(scratch: &ScratchFolder) -> Result<Option<UnixUser>> {
    let ours = fs::metadata(scratch.path()).context("reading the owner of the temporary folder")?;
    if ours.uid() != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").context("reading the list of users")?;
    let user = find_user("postgres", &users);
    let user = user.context("PostgreSQL does not run as root, and there is no user postgres")?;
    Ok(Some(user))
}

fn find_user(name: &str, users: &str) -> Option<UnixUser> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(UnixUser { uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let users = "postgres2:x:1:2::/:/bin/sh\npostgres:x:104:110:,,,:/var/lib:/bin/bash\n";
        let user = find_user("postgres", users).unwrap();
        assert_eq!((user.uid, user.gid), (104, 110));
        assert!(find_user("missing", users).is_none());
    }
}
