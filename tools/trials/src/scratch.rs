//! A folder that is gone when the trial is over.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::failure::{During as _, Result};

#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    pub fn new() -> Result<Self> {
        let name = format!("longshore-trials-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).during("making a temporary folder")?;
        let made = Self { folder };
        // The database's user must be able to pass through.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&made.folder, open).during("opening the temporary folder")?;
        Ok(made)
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Where the logs of processes go: here, unless they are to be kept.
    pub fn logs(&self, kept: Option<&Path>) -> Result<PathBuf> {
        let Some(kept) = kept else {
            return Ok(self.folder.clone());
        };
        fs::create_dir_all(kept).during("making a folder for the logs")?;
        Ok(kept.to_owned())
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is the system's temporary folder's to clear.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
