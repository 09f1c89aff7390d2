//! A small file system of the trial's own, which can be filled and freed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{During as _, Failure, Result};

const CHUNK: usize = 1 << 20;

/// Mounted until it is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Memory with a limit, mounted at a folder that is made for it; only root may.
    pub fn mount(folder: PathBuf, megabytes: u64) -> Result<Self> {
        fs::create_dir(&folder).during("making a folder for a small disk")?;
        let size = format!("size={megabytes}m,mode=0700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "longshore-trials"]);
        let mounted = mount.arg(&folder).stdin(Stdio::null()).status();
        if !mounted.during("running mount")?.success() {
            return Err(Failure::new(
                "a small disk could not be mounted: run this trial as root, where mount(8) is allowed",
            ));
        }
        Ok(Self { folder })
    }

    /// The folder that a server's data may lie in.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }

    /// Writes a file that takes all the room there is, or lengthens it; says by how many bytes.
    pub fn fill(&self) -> Result<usize> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.ballast());
        let mut file = file.during("making the ballast")?;
        let (mut length, mut chunk) = (0, vec![0; CHUNK]);
        loop {
            match file.write(&chunk) {
                Ok(written) => length += written,
                Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                    // The last rooms are small.
                    if chunk.len() <= 512 {
                        return Ok(length);
                    }
                    chunk.truncate(chunk.len() / 2);
                }
                Err(error) => return Err(error).during("writing the ballast"),
            }
        }
    }

    /// Gives the room back.
    pub fn free(&self) -> Result<()> {
        fs::remove_file(self.ballast()).during("removing the ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        // Detached at once; the memory is freed when the last file is closed.
        let unmount = unmount.arg("--lazy").arg(&self.folder);
        let _ = unmount.stderr(Stdio::null()).status();
    }
}
