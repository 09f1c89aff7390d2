//! Searches every file of some folders, and the files without a name that a process has open.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use crate::chaos::markers::text_search::TextSearch;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::failure::{FailureContext as _, Result};

/// Shorter than the simulator keeps a worker waiting for its upload.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);
/// How Linux shows a file without a name.
const DELETED: &str = " (deleted)";

/// What was read, and where each kind of content was found.
#[derive(Debug, Default)]
pub(super) struct SearchFindings {
    pub files: u64,
    pub bytes: u64,
    pub places: BTreeMap<&'static str, BTreeSet<String>>,
}

impl SearchFindings {
    /// Reads every file of the trial, and its logs, after PostgreSQL has written what it has in
    /// memory.
    pub(super) async fn of_trial(
        search: &TextSearch,
        environment: &TrialEnvironment,
        logs: Option<&Path>,
    ) -> Result<Self> {
        let server = environment.database_server()?;
        server.switch_wal().await?;
        server.checkpoint().await?;
        let scratch = environment.scratch.path();
        // The bytes of files are not encrypted by the service.
        let objects = scratch.join("objects");
        let mut found = Self::default();
        found.search_folder(search, scratch, &objects)?;
        let logs = environment.scratch.log_folder(logs)?;
        if !logs.starts_with(scratch) {
            found.search_folder(search, &logs, &objects)?;
        }
        Ok(found)
    }

    /// Reads every file below a folder, except below the folder `excluded`.
    pub(super) fn search_folder(
        &mut self,
        search: &TextSearch,
        folder: &Path,
        excluded: &Path,
    ) -> Result<()> {
        let mut folders = vec![folder.to_owned()];
        while let Some(within) = folders.pop() {
            let entries = match fs::read_dir(&within) {
                Ok(entries) => entries,
                // Like a file, it may be gone by now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error).context(format!("listing {}", within.display())),
            };
            for entry in entries {
                let entry = entry.context(format!("listing {}", within.display()))?;
                let (path, kind) = (entry.path(), entry.file_type().context("listing a folder")?);
                if kind.is_dir() && path != excluded {
                    folders.push(path);
                } else if kind.is_file() {
                    self.search_file(search, &path, &path.display().to_string())?;
                }
            }
        }
        Ok(())
    }

    /// A file that is gone by now is skipped.
    fn search_file(&mut self, search: &TextSearch, path: &Path, shown: &str) -> Result<()> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error).context(format!("reading {shown}")),
        };
        self.search_bytes(search, &bytes, shown);
        Ok(())
    }

    pub(super) fn search_bytes(&mut self, search: &TextSearch, bytes: &[u8], shown: &str) {
        self.files += 1;
        self.bytes += u64::try_from(bytes.len()).unwrap_or_default();
        search.search(bytes, &mut |kind, form| {
            let places = self.places.entry(kind).or_default();
            places.insert(format!("{shown} ({form})"));
        });
    }
}

/// The temporary files of a process. They have no name, so only their open descriptors lead to them.
#[derive(Debug)]
pub(super) struct OpenFileSearch<'a> {
    pub search: &'a TextSearch,
    /// `/proc/PID/fd`.
    pub descriptors: PathBuf,
    pub folder: &'a Path,
    pub findings: SearchFindings,
}

impl OpenFileSearch<'_> {
    /// Reads them again and again until `work` is done.
    pub(super) async fn search_during<T>(
        &mut self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                // Also if a busy machine wakes both at once: a sample that is due comes first.
                biased;
                () = tokio::time::sleep(SAMPLE_INTERVAL) => self.search_once()?,
                done = &mut work => return done,
            }
        }
    }

    fn search_once(&mut self) -> Result<()> {
        let entries = fs::read_dir(&self.descriptors).context("listing the files of a process")?;
        for entry in entries.flatten() {
            // It may be closed by now.
            let Ok(target) = fs::read_link(entry.path()) else {
                continue;
            };
            let shown = target.display().to_string();
            if target.starts_with(self.folder) && shown.ends_with(DELETED) {
                self.findings
                    .search_file(self.search, &entry.path(), &shown)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;
    use crate::harness::servers::scratch_folder::ScratchFolder;

    #[tokio::test]
    async fn named_and_unnamed_files_are_read() {
        let name = format!("trials-search-{:x}", rand::random::<u64>());
        let scratch = ScratchFolder::at(std::env::temp_dir().join(name)).unwrap();
        for folder in ["data", "data/base", "objects"] {
            fs::create_dir(scratch.join(folder)).unwrap();
            fs::write(scratch.join(folder).join("1"), b"..marker..").unwrap();
        }
        let search = TextSearch::new(&[("prompt", "marker"), ("answer", "nowhere")]);
        let mut found = SearchFindings::default();
        let excluded = scratch.join("objects");
        found
            .search_folder(&search, scratch.path(), &excluded)
            .unwrap();
        assert_eq!((found.files, found.bytes), (2, 20));
        assert_eq!(found.places["prompt"].len(), 2);
        assert_eq!(found.places.len(), 1);

        let path = scratch.join("spool");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"..marker..").unwrap();
        fs::remove_file(&path).unwrap();
        let mut open = OpenFileSearch {
            search: &search,
            descriptors: PathBuf::from("/proc/self/fd"),
            folder: scratch.path(),
            findings: SearchFindings::default(),
        };
        let work = async {
            tokio::time::sleep(SAMPLE_INTERVAL * 2).await;
            Ok(())
        };
        open.search_during(work).await.unwrap();
        assert_eq!(open.findings.places["prompt"].len(), 1);
        drop(file);
    }
}
