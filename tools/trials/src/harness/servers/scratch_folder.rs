//! A temporary folder that is removed when the trial ends.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::harness::{FailureContext as _, Result};

#[derive(Debug)]
pub struct ScratchFolder {
    folder: PathBuf,
}

impl ScratchFolder {
    pub fn new() -> Result<Self> {
        let name = format!("longshore-trials-{}", std::process::id());
        Self::at(std::env::temp_dir().join(name))
    }

    /// The same at this path.
    pub fn at(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder).context("creating a temporary folder")?;
        let made = Self { folder };
        // PostgreSQL's user must be able to enter it.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&made.folder, open)
            .context("setting permissions of the temporary folder")?;
        Ok(made)
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder for logs: this one, unless logs are kept.
    pub fn log_folder(&self, kept: Option<&Path>) -> Result<PathBuf> {
        let Some(kept) = kept else {
            return Ok(self.folder.clone());
        };
        fs::create_dir_all(kept).context("creating a folder for logs")?;
        Ok(kept.to_owned())
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // If it cannot be removed, the system's temporary folder is cleaned up later.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
