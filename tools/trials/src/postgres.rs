//! PostgreSQL servers of the trial's own, as durable as in production.

pub mod standby;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, PgPool};

use crate::daemon::{Daemon, Program, User};
use crate::failure::{During as _, Failure, Result};
use crate::port;
use crate::scratch::Scratch;

/// How the trial's own connections are told from the service's.
pub const OURSELVES: &str = "trials";
const STARTING: Duration = Duration::from_mins(1);
const STOPPING: Duration = Duration::from_secs(10);

/// One server; dropped, it is stopped. Its data lies in the scratch folder.
#[derive(Debug)]
pub struct Postgres {
    name: String,
    programs: Option<PathBuf>,
    user: Option<User>,
    data: PathBuf,
    log: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
    daemon: Option<Daemon>,
}

impl Postgres {
    /// Makes a server and starts it.
    pub async fn create(scratch: &Scratch, name: &str, shared_buffers: &str) -> Result<Self> {
        let data = scratch.join(format!("postgres-{name}"));
        fs::create_dir(&data).during("making a data folder")?;
        Self::create_in(scratch, name, data, settings(shared_buffers)).await
    }

    /// The same on a file system with little room: it keeps as little as it can.
    pub async fn create_small(scratch: &Scratch, name: &str, data: PathBuf) -> Result<Self> {
        let mut settings = settings("32MB");
        for (setting, value) in [("max_wal_size", "48MB"), ("min_wal_size", "32MB")] {
            settings.push((setting.to_owned(), value.to_owned()));
        }
        Self::create_in(scratch, name, data, settings).await
    }

    async fn create_in(
        scratch: &Scratch,
        name: &str,
        data: PathBuf,
        settings: Vec<(String, String)>,
    ) -> Result<Self> {
        let programs = programs();
        let user = unprivileged(scratch)?;
        if let Some(user) = user {
            chown(&data, Some(user.uid), Some(user.gid)).during("giving away a data folder")?;
        }
        let mut initdb = Program::new(program(programs.as_deref(), "initdb"));
        initdb.user = user;
        let folder = data.display().to_string();
        let arguments = ["-D", &folder, "-U", "postgres", "-A", "trust", "-E", "UTF8"];
        let initdb = initdb
            .arguments(arguments)
            .arguments(["--locale=C.UTF-8", "-N"]);
        initdb.run(&scratch.join(format!("initdb-{name}"))).await?;

        let mut made = Self {
            name: name.to_owned(),
            programs,
            user,
            data,
            log: scratch.join(format!("postgres-{name}.log")),
            port: port::free()?.port(),
            settings,
            daemon: None,
        };
        made.start().await?;
        Ok(made)
    }

    pub async fn start(&mut self) -> Result<()> {
        let mut postmaster = Program::new(program(self.programs.as_deref(), "postgres"));
        postmaster.user = self.user;
        postmaster.at_our_death = "QUIT";
        let folder = self.data.display().to_string();
        let mut postmaster = postmaster.arguments(["-D", &folder, "-p", &self.port.to_string()]);
        for (setting, value) in &self.settings {
            postmaster = postmaster.arguments(["-c".to_owned(), format!("{setting}={value}")]);
        }
        self.daemon = Some(postmaster.start(&self.log)?);
        self.answering().await
    }

    async fn answering(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            match self.connect("postgres").await {
                Ok(_) => return Ok(()),
                Err(_) if begun.elapsed() < STARTING && self.is_running() => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(failure) => {
                    let log = fs::read_to_string(&self.log).unwrap_or_default();
                    return Err(Failure::new(format!("{failure}\n{log}")));
                }
            }
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.daemon.as_mut().is_some_and(Daemon::is_running)
    }

    /// Stops it as a crash would: `pg_ctl stop -m immediate`.
    pub async fn crash(&mut self) -> Result<()> {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.signal("QUIT")?;
            daemon.ended(STOPPING).await?;
        }
        Ok(())
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The process whose children all backends are.
    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::pid)
    }

    /// A program of the same installation, such as `pgbench`.
    pub fn tool(&self, name: &str) -> Program {
        Program::new(program(self.programs.as_deref(), name))
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.port)
            .username("postgres")
            .database(database)
            .ssl_mode(PgSslMode::Disable)
            .application_name(OURSELVES)
    }

    pub async fn connect(&self, database: &str) -> Result<PgConnection> {
        let connected = self.options(database).connect().await;
        connected.during(format!("connecting to {}", self.name))
    }

    /// Connections for looking on; made when first needed.
    pub fn pool(&self, database: &str) -> PgPool {
        PgPoolOptions::new()
            .max_connections(4)
            .connect_lazy_with(self.options(database))
    }

    /// The same through a relay.
    pub fn pool_at(&self, relay: SocketAddr, database: &str) -> PgPool {
        PgPoolOptions::new()
            .max_connections(4)
            .connect_lazy_with(self.options(database).port(relay.port()))
    }

    pub async fn create_database(&self, name: &str) -> Result<()> {
        let mut connection = self.connect("postgres").await?;
        let statement = AssertSqlSafe(format!("create database {name}"));
        let made = sqlx::raw_sql(statement).execute(&mut connection).await;
        made.during(format!("creating database {name}")).map(|_| ())
    }

    pub async fn checkpoint(&self) -> Result<()> {
        let mut connection = self.connect("postgres").await?;
        sqlx::raw_sql("checkpoint")
            .execute(&mut connection)
            .await
            .during("checkpoint")?;
        Ok(())
    }

    /// How many bytes of write-ahead log there have been.
    pub async fn wal(&self) -> Result<i64> {
        let mut connection = self.connect("postgres").await?;
        let position = "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint";
        sqlx::query_scalar(position)
            .fetch_one(&mut connection)
            .await
            .during("reading the log's end")
    }

    /// What it runs with, for the verdict.
    pub fn settings(&self) -> Value {
        let pairs = self
            .settings
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()));
        Value::Object(pairs.collect::<Map<_, _>>())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Killed outright it would leave its shared memory behind.
        if let Some(daemon) = &mut self.daemon {
            daemon.end_politely("QUIT", STOPPING);
        }
    }
}

/// The server's clock, which its rows are stamped by.
pub async fn clock(pool: &PgPool) -> Result<DateTime<Utc>> {
    let now = sqlx::query_scalar("select clock_timestamp()");
    now.fetch_one(pool).await.during("asking for the time")
}

fn settings(shared_buffers: &str) -> Vec<(String, String)> {
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

/// Debian keeps each version's programs in a folder of its own; elsewhere they are on the path.
fn programs() -> Option<PathBuf> {
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

fn program(programs: Option<&Path>, name: &str) -> PathBuf {
    programs.map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
}

/// The server refuses to run as root.
fn unprivileged(scratch: &Scratch) -> Result<Option<User>> {
    let ours = fs::metadata(scratch.path()).during("looking at the temporary folder")?;
    if ours.uid() != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").during("reading the list of users")?;
    let user = user_named("postgres", &users);
    let user =
        user.ok_or_else(|| Failure::new("there is no user postgres to run the server as"))?;
    Ok(Some(user))
}

fn user_named(name: &str, users: &str) -> Option<User> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(User { uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let users = "postgres2:x:1:2::/:/bin/sh\npostgres:x:104:110:,,,:/var/lib:/bin/bash\n";
        let user = user_named("postgres", users).unwrap();
        assert_eq!((user.uid, user.gid), (104, 110));
        assert!(user_named("nobody", users).is_none());
    }
}
