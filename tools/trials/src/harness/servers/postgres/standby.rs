//! A synchronous standby, and killing a primary.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::process::{Command, Stdio};
use std::time::Duration;

use sqlx::AssertSqlSafe;

use crate::harness::measurement::cpu_time;
use crate::harness::servers::postgres::{TrialPostgresServer, execute, new_child};
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, PollLimits, Result, TrialFailure};

const ATTACH_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(50));
const MAX_PROMOTION_SECONDS: u32 = 30;
/// The line of `postmaster.pid` that names the shared memory segment.
const SEGMENT_LINE: usize = 6;

impl TrialPostgresServer {
    /// Copies a primary and follows it, on its own port.
    pub async fn standby_of(
        primary: &Self,
        scratch: &ScratchFolder,
        name: &str,
        port: u16,
    ) -> Result<Self> {
        let data = scratch.join(format!("postgres-{name}"));
        fs::create_dir(&data).context("creating a data folder")?;
        let private = Permissions::from_mode(0o700);
        fs::set_permissions(&data, private).context("setting permissions of a data folder")?;
        if let Some(user) = primary.user {
            chown(&data, Some(user.uid), Some(user.gid))
                .context("changing the owner of a data folder")?;
        }
        let mut copy = primary.installed_program("pg_basebackup");
        copy.user = primary.user;
        let (folder, from) = (data.display(), primary.port);
        let arguments =
            format!("-h 127.0.0.1 -p {from} -U postgres -D {folder} -R -X stream -c fast");
        let copy = copy.with_arguments(arguments.split_whitespace());
        copy.run(&scratch.join(format!("basebackup-{name}")))
            .await?;
        // After its promotion it must not wait for a standby that does not exist yet.
        let settings = OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.auto.conf"));
        let mut settings = settings.context("opening the settings of a standby")?;
        let written = writeln!(settings, "synchronous_standby_names = ''");
        written.context("writing the settings of a standby")?;

        let mut made = Self {
            child: new_child(scratch, name),
            programs_folder: primary.programs_folder.clone(),
            user: primary.user,
            data_folder: data,
            port,
            settings: primary.settings.clone(),
        };
        made.start().await?;
        Ok(made)
    }

    /// From now on a commit waits until the standby has it.
    pub async fn commit_synchronously(&self) -> Result<()> {
        let mut connection = self.connect("postgres").await?;
        let setting = "alter system set synchronous_standby_names = '*'";
        execute(&mut connection, setting).await?;
        execute(&mut connection, "select pg_reload_conf()").await?;
        let query = "select count(*) from pg_stat_replication where sync_state = 'sync'";
        let count_attached = async || {
            let attached = sqlx::query_scalar::<_, i64>(query).fetch_one(&mut connection);
            attached.await.context("looking for the standby")
        };
        let attached = ATTACH_LIMITS.read_until(|count| *count > 0, count_attached);
        if attached.await? == 0 {
            return Err(TrialFailure::new(
                "the standby does not follow synchronously",
            ));
        }
        Ok(())
    }

    /// Makes a standby the primary; it accepts writes when this returns.
    pub async fn promote(&self) -> Result<()> {
        let mut connection = self.connect("postgres").await?;
        let promotion = format!("select pg_promote(true, {MAX_PROMOTION_SECONDS})");
        let promoted: bool = sqlx::query_scalar(AssertSqlSafe(promotion))
            .fetch_one(&mut connection)
            .await
            .context("promoting the standby")?;
        if promoted {
            Ok(())
        } else {
            Err(TrialFailure::new("the standby was not promoted in time"))
        }
    }

    /// Starts the stopped server as a standby without a primary, and promotes it.
    pub async fn start_with_new_timeline(&mut self) -> Result<()> {
        let signal = self.data_folder.join("standby.signal");
        fs::write(&signal, "").context("writing standby.signal")?;
        if let Some(user) = self.user {
            chown(&signal, Some(user.uid), Some(user.gid))
                .context("changing the owner of standby.signal")?;
        }
        self.start().await?;
        self.promote().await
    }

    /// Stops sending to the standby: from now on commits wait for it forever.
    pub async fn stop_replication(&self) -> Result<()> {
        let mut connection = self.connect("postgres").await?;
        let query = "select pid from pg_stat_replication";
        let senders: Vec<i32> = sqlx::query_scalar(query)
            .fetch_all(&mut connection)
            .await
            .context("looking for the standby")?;
        signal_processes(
            "STOP",
            &senders.iter().map(ToString::to_string).collect::<Vec<_>>(),
        )
    }

    /// SIGKILL to every process of the server at once, as if its machine was gone.
    pub fn kill_all(&mut self) -> Result<()> {
        let Some(mut daemon) = self.child.take() else {
            return Ok(());
        };
        let pid = daemon.pid();
        let pids: Vec<String> = [pid]
            .into_iter()
            .chain(cpu_time::child_pids(pid)?)
            .map(|it| it.to_string())
            .collect();
        let segment =
            fs::read_to_string(self.data_folder.join("postmaster.pid")).unwrap_or_default();
        let segment = segment.lines().nth(SEGMENT_LINE);
        let segment = segment.and_then(|line| line.split_whitespace().nth(1));
        let killed = signal_processes("KILL", &pids);
        daemon.kill();
        if let Some(segment) = segment {
            // The segment is outside the data folder and nothing else removes it.
            let _ = Command::new("ipcrm")
                .args(["-m", segment])
                .stderr(Stdio::null())
                .status();
        }
        killed
    }

    pub fn remove_data(&self) -> Result<()> {
        fs::remove_dir_all(&self.data_folder).context("removing the data of a killed primary")
    }
}

fn signal_processes(name: &str, pids: &[String]) -> Result<()> {
    let mut command = Command::new("kill");
    command.args(["-s", name]).args(pids).stderr(Stdio::null());
    // Some may have exited already.
    command.status().context("running kill").map(|_| ())
}
