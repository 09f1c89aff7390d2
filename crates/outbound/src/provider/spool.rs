//! A temporary file for the input or the results of a job, so that they do not fill memory.
//!
//! The file is unlinked right after creation, so a crash leaves nothing behind. It is encrypted with
//! a key that is never stored. The last bytes stay in memory until they fill a block. A small spool
//! is never written to disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use domain::file;
use rand::RngExt as _;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

mod cipher;
mod read;

use cipher::{SpoolCipher, UNIT_BYTES, stored_offset};

pub use read::{SpoolChunks, SpoolLines};

/// Unit of disk reads and writes.
const BLOCK_BYTES: usize = 256 * 1024;

/// A write that is cancelled leaves the spool corrupt: drop the spool as well.
#[derive(Debug)]
pub struct Spool {
    file: Arc<File>,
    cipher: Arc<SpoolCipher>,
    /// Plain bytes on disk: whole units of the cipher.
    on_disk: u64,
    tail: Vec<u8>,
    digest: Sha256,
}

/// A length of the spool, to truncate back to.
#[derive(Debug, Clone)]
pub struct SpoolPosition {
    length: u64,
    /// The bytes after the last whole unit.
    partial_unit: Vec<u8>,
    digest: Sha256,
}

impl Spool {
    pub async fn new(folder: &Path) -> io::Result<Self> {
        let folder = folder.to_owned();
        let file = run_blocking(move || create_unlinked_file(&folder)).await?;
        Ok(Self {
            file: Arc::new(file),
            cipher: Arc::new(SpoolCipher::new()?),
            on_disk: 0,
            tail: Vec::new(),
            digest: Sha256::new(),
        })
    }

    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.tail.extend_from_slice(bytes);
        if self.tail.len() >= BLOCK_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    pub fn length(&self) -> u64 {
        self.on_disk + self.tail.len() as u64
    }

    /// The digest of everything written so far.
    pub fn sha256(&self) -> file::Sha256 {
        file::Sha256(self.digest.clone().finalize().into())
    }

    pub fn position(&self) -> SpoolPosition {
        let whole_units = self.tail.len() / UNIT_BYTES * UNIT_BYTES;
        let partial_unit = self.tail.get(whole_units..).unwrap_or_default();
        SpoolPosition {
            length: self.length(),
            partial_unit: partial_unit.to_vec(),
            digest: self.digest.clone(),
        }
    }

    /// Drops the bytes written after the position.
    pub fn truncate_to(&mut self, position: SpoolPosition) {
        if let Some(kept) = position.length.checked_sub(self.on_disk) {
            self.tail
                .truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        } else {
            self.on_disk = position.length - position.partial_unit.len() as u64;
            self.tail = position.partial_unit;
        }
        self.digest = position.digest;
    }

    /// Reads the whole spool.
    pub fn chunks(&self) -> SpoolChunks {
        self.range(0, self.length())
    }

    /// Reads `length` bytes starting at `from`, or fewer if the spool ends before.
    pub fn range(&self, from: u64, length: u64) -> SpoolChunks {
        SpoolChunks::new(self, from, length)
    }

    /// Reads every line that is not blank, without its line ending.
    pub fn lines(&self) -> SpoolLines {
        SpoolLines::new(self.chunks())
    }

    async fn flush(&mut self) -> io::Result<()> {
        let (file, cipher) = (Arc::clone(&self.file), Arc::clone(&self.cipher));
        let at = stored_offset(self.on_disk);
        let whole_units = self.tail.len() / UNIT_BYTES * UNIT_BYTES;
        let rest = self.tail.split_off(whole_units);
        let block = std::mem::replace(&mut self.tail, rest);
        run_blocking(move || file.write_all_at(&cipher.encrypt(&block)?, at)).await?;
        self.on_disk += whole_units as u64;
        Ok(())
    }
}

fn create_unlinked_file(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("spool-{:016x}", rand::rng().random::<u64>()));
    let mut options = OpenOptions::new();
    // The file holds prompts: no other user may open it before it is unlinked.
    let file = options.read(true).write(true).create_new(true).mode(0o600);
    let file = file.open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests;
