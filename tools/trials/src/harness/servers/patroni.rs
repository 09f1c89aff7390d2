//! A PostgreSQL server that Patroni runs, for one trial: it is killed, frozen and started again.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::measurement::cpu_time;
use crate::harness::servers::child_process::{ChildProgram, UnixUser};
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::postgres;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, PollLimits, Result};

const START_LIMITS: PollLimits = PollLimits::new(Duration::from_mins(1), Duration::from_millis(50));
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);
const SHARED_BUFFERS: &str = "128MB";

/// What all servers of one cluster have in common.
#[derive(Debug, Clone, Copy)]
pub struct PatroniTimes {
    /// Seconds until a primary that does not renew its key loses it.
    pub ttl: u32,
    pub is_synchronous: bool,
}

/// Where one server listens, and where everything else reaches it.
#[derive(Debug, Clone, Copy)]
pub struct PatroniAddresses {
    pub postgres: SocketAddr,
    pub rest_api: SocketAddr,
    /// Relays to the two above.
    pub public_postgres: SocketAddr,
    pub public_rest_api: SocketAddr,
    /// A relay to etcd.
    pub etcd: SocketAddr,
}

/// Patroni and its PostgreSQL; both are stopped on drop.
#[derive(Debug)]
pub struct PatroniServer {
    pub child: ChildServer,
    addresses: PatroniAddresses,
    config_file: PathBuf,
    data_folder: PathBuf,
    user: Option<UnixUser>,
}

impl PatroniServer {
    /// Not started yet.
    pub fn new(
        scratch: &ScratchFolder,
        name: &str,
        addresses: PatroniAddresses,
        times: PatroniTimes,
    ) -> Result<Self> {
        let folder = scratch.join(format!("patroni-{name}"));
        fs::create_dir(&folder).context("creating a folder of Patroni")?;
        let user = postgres::unprivileged_user(scratch)?;
        if let Some(user) = user {
            chown(&folder, Some(user.uid), Some(user.gid))
                .context("changing the owner of a folder of Patroni")?;
        }
        let (config_file, data_folder) = (folder.join("patroni.yml"), folder.join("data"));
        let mut config = config(name, &addresses, times);
        let own_paths = json!({
            "data_dir": data_folder,
            "bin_dir": postgres::find_programs_folder(),
            "pgpass": folder.join("pgpass"),
        });
        merge(&mut config, "postgresql", own_paths);
        // YAML contains JSON.
        fs::write(&config_file, config.to_string()).context("writing the settings of Patroni")?;
        let readable = Permissions::from_mode(0o644);
        fs::set_permissions(&config_file, readable)
            .context("setting permissions of the settings of Patroni")?;
        let log_file = scratch.join(format!("patroni-{name}.log"));
        Ok(Self {
            child: ChildServer::new(name, log_file, START_LIMITS),
            addresses,
            config_file,
            data_folder,
            user,
        })
    }

    /// Starts Patroni without waiting. It starts PostgreSQL and, if the server was the primary,
    /// makes it follow the new one.
    pub fn start(&mut self) -> Result<()> {
        let mut patroni = ChildProgram::new("patroni");
        patroni.user = self.user;
        // It then stops PostgreSQL, which is not a child of the trial.
        patroni.parent_death_signal = "TERM";
        let config = self.config_file.display().to_string();
        self.child.spawn(&patroni.with_arguments([config]))
    }

    pub fn name(&self) -> &str {
        self.child.name()
    }

    pub const fn addresses(&self) -> &PatroniAddresses {
        &self.addresses
    }

    /// SIGKILL to Patroni and to every process of PostgreSQL, as if the machine was gone.
    pub fn kill(&mut self) -> Result<()> {
        let pids = self.pids()?;
        signal_processes("KILL", &pids)?;
        self.child.kill();
        Ok(())
    }

    /// SIGSTOP to Patroni and to every process of PostgreSQL.
    pub fn freeze(&self) -> Result<()> {
        // The postmaster first: it could start another process meanwhile.
        let own: Vec<u32> = self
            .child
            .pid()
            .into_iter()
            .chain(self.postmaster())
            .collect();
        signal_processes("STOP", &own)?;
        signal_processes("STOP", &self.pids()?)
    }

    /// SIGCONT to the same. PostgreSQL comes first: the trial needs the moment in which it
    /// believes that it is still the primary.
    pub fn resume(&self) -> Result<()> {
        let mut pids = self.pids()?;
        pids.reverse();
        signal_processes("CONT", &pids)
    }

    /// SIGSTOP to the processes that send to standbys: from now on they lag behind.
    pub fn stop_replication(&self) -> Result<()> {
        let senders: Vec<u32> = self
            .backends()?
            .into_iter()
            .filter(|pid| process_title(*pid).contains("walsender"))
            .collect();
        signal_processes("STOP", &senders)
    }

    /// Patroni, the postmaster and its children.
    fn pids(&self) -> Result<Vec<u32>> {
        let own = self.child.pid().into_iter().chain(self.postmaster());
        Ok(own.chain(self.backends()?).collect())
    }

    fn backends(&self) -> Result<Vec<u32>> {
        self.postmaster()
            .map_or_else(|| Ok(Vec::new()), cpu_time::child_pids)
    }

    /// The running postmaster of this data folder.
    fn postmaster(&self) -> Option<u32> {
        let file = fs::read_to_string(self.data_folder.join("postmaster.pid")).ok()?;
        let pid: u32 = file.lines().next()?.trim().parse().ok()?;
        // After a SIGKILL the file is left over, and the number may belong to another process.
        let folder = self.data_folder.display().to_string();
        process_title(pid).contains(&folder).then_some(pid)
    }
}

impl Drop for PatroniServer {
    fn drop(&mut self) {
        // Not gracefully: the data is not needed any more. A stopped process handles no signal but
        // these two.
        let _ = self.resume();
        self.child.kill();
        let Some(postmaster) = self.postmaster() else {
            return;
        };
        // SIGKILL would leave its shared memory behind.
        let _ = signal_processes("QUIT", &[postmaster]);
        let begun = Instant::now();
        while self.postmaster() == Some(postmaster) {
            if begun.elapsed() > STOP_TIMEOUT {
                let _ = self.kill();
                return;
            }
            std::thread::sleep(STOP_POLL_INTERVAL);
        }
    }
}

/// The command line of a process, which PostgreSQL sets to what a process does.
fn process_title(pid: u32) -> String {
    let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&title).replace('\0', " ")
}

fn signal_processes(name: &str, pids: &[u32]) -> Result<()> {
    if pids.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("kill");
    command
        .args(["-s", name])
        .args(pids.iter().map(ToString::to_string))
        .stderr(Stdio::null());
    // Some may have exited already.
    command.status().context("running kill").map(drop)
}

fn merge(config: &mut Value, section: &str, more: Value) {
    if let (Some(Value::Object(section)), Value::Object(more)) = (config.get_mut(section), more) {
        section.extend(more);
    }
}

fn config(name: &str, addresses: &PatroniAddresses, times: PatroniTimes) -> Value {
    // Patroni requires that the pause of its loop and two attempts fit into the ttl.
    let loop_wait = (times.ttl / 10).max(1);
    let retry_timeout = (times.ttl.saturating_sub(loop_wait) / 2).max(1);
    let trust = [
        "host all all 127.0.0.1/32 trust",
        "host replication all 127.0.0.1/32 trust",
    ];
    let superuser = json!({"username": "postgres"});
    json!({
        "scope": "trial",
        "name": name,
        "restapi": {"listen": addresses.rest_api, "connect_address": addresses.public_rest_api},
        // Not etcd3: with it, Patroni 3.0 writes its name into the key without checking who holds
        // it, so a frozen primary takes the role back. With `use_proxies`, Patroni keeps to this
        // address, which is the relay, and does not use the addresses that etcd announces.
        "etcd": {"hosts": addresses.etcd.to_string(), "use_proxies": true},
        "bootstrap": {
            "dcs": {
                "ttl": times.ttl,
                "loop_wait": loop_wait,
                "retry_timeout": retry_timeout,
                "maximum_lag_on_failover": 64 << 20,
                "synchronous_mode": times.is_synchronous,
                "postgresql": {
                    "use_pg_rewind": true,
                    "parameters": {
                        "max_connections": 300,
                        "shared_buffers": SHARED_BUFFERS,
                        "max_wal_size": "4GB",
                        "max_wal_senders": 10,
                        "wal_log_hints": "on",
                    },
                },
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
        },
        "postgresql": {
            "listen": addresses.postgres,
            "connect_address": addresses.public_postgres,
            "pg_hba": trust,
            "authentication": {
                "superuser": superuser, "replication": superuser, "rewind": superuser,
            },
            "parameters": {"unix_socket_directories": ""},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_and_two_attempts_fit_into_the_ttl() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let addresses = PatroniAddresses {
            postgres: address,
            rest_api: address,
            public_postgres: address,
            public_rest_api: address,
            etcd: address,
        };
        for ttl in [5, 8, 10, 20, 30] {
            let times = PatroniTimes {
                ttl,
                is_synchronous: true,
            };
            let config = config("one", &addresses, times);
            let of = |name: &str| config["bootstrap"]["dcs"][name].as_u64().unwrap();
            assert!(
                of("loop_wait") + 2 * of("retry_timeout") <= of("ttl"),
                "{ttl}"
            );
        }
    }
}
