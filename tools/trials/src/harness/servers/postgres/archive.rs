//! A server whose write-ahead log is archived to a folder.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::time::Duration;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::postgres::{TrialPostgresServer, default_settings, unprivileged_user};
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{FailureContext as _, PollLimits, Result, TrialFailure};

const ARCHIVE_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(100));

impl TrialPostgresServer {
    /// Everything is in `folder`, which the user of the server owns: `data`, `archive` and, later,
    /// `backup`.
    pub async fn create_with_archive(
        scratch: &ScratchFolder,
        folder: &Path,
        shared_buffers: &str,
    ) -> Result<Self> {
        let user = unprivileged_user(scratch)?;
        let (data, archive) = (folder.join("data"), folder.join("archive"));
        for folder in [folder, &data, &archive, &folder.join("backup")] {
            fs::create_dir(folder).context("creating a folder of a database server")?;
            if let Some(user) = user {
                let owned = chown(folder, Some(user.uid), Some(user.gid));
                owned.context("changing the owner of a folder")?;
            }
        }
        let archive = archive.display();
        let mut settings = default_settings(shared_buffers);
        settings.push(("archive_mode".to_owned(), "on".to_owned()));
        settings.push((
            "archive_command".to_owned(),
            format!("test ! -f {archive}/%f && cp %p {archive}/%f"),
        ));
        Self::create_in(scratch, "all", data, settings).await
    }

    /// A program that runs as the user of the server, with its programs in the path.
    pub fn as_its_user(&self, mut program: ChildProgram) -> ChildProgram {
        program.user = self.user;
        program.environment.clear();
        if let Some(folder) = &self.programs_folder {
            let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
            program.environment.push(("PATH".to_owned(), path));
        }
        program
    }

    /// Waits until a segment of the write-ahead log is in the archive.
    pub async fn wait_until_archived(&self, segment: &str) -> Result<()> {
        let mut connection = self.connect("postgres").await?;
        let query = "select coalesce(last_archived_wal, '') >= $1 from pg_stat_archiver";
        let is_archived = async || {
            let answer = sqlx::query_scalar::<_, bool>(query).bind(segment);
            let answer = answer.fetch_one(&mut connection).await;
            answer.context("reading the state of the archive")
        };
        if ARCHIVE_LIMITS.read_until(|it| *it, is_archived).await? {
            return Ok(());
        }
        Err(TrialFailure::new("the write-ahead log is not archived"))
    }
}
