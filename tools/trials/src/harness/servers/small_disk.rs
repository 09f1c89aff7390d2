//! A small file system for one trial, which can be filled and freed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::{FailureContext as _, Result, TrialFailure};

const CHUNK_BYTES: usize = 1 << 20;

/// Mounted until it is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts a tmpfs with a size limit; needs root.
    pub fn mount(folder: PathBuf, megabytes: u64) -> Result<Self> {
        fs::create_dir(&folder).context("creating a folder for a small disk")?;
        let size = format!("size={megabytes}m,mode=0700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "longshore-trials"]);
        let mounted = mount.arg(&folder).stdin(Stdio::null()).status();
        if !mounted.context("running mount")?.success() {
            return Err(TrialFailure::new(
                "cannot mount a small disk: run this trial as root, where mount(8) is allowed",
            ));
        }
        Ok(Self { folder })
    }

    /// A folder for a server's data.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    fn filler_file(&self) -> PathBuf {
        self.folder.join("filler")
    }

    /// Writes a file until the disk is full, or extends it; returns the added bytes.
    pub fn fill(&self) -> Result<usize> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.filler_file());
        let mut file = file.context("creating the filler file")?;
        let (mut length, mut chunk) = (0, vec![0; CHUNK_BYTES]);
        loop {
            match file.write(&chunk) {
                Ok(written) => length += written,
                Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                    // The last gaps are small.
                    if chunk.len() <= 512 {
                        return Ok(length);
                    }
                    chunk.truncate(chunk.len() / 2);
                }
                Err(error) => return Err(error).context("writing the filler file"),
            }
        }
    }

    /// Removes the file again.
    pub fn free(&self) -> Result<()> {
        fs::remove_file(self.filler_file()).context("removing the filler file")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        // Detaches immediately; the memory is freed when the last file is closed.
        let unmount = unmount.arg("--lazy").arg(&self.folder);
        let _ = unmount.stderr(Stdio::null()).status();
    }
}
