//! A job on its way: on disk, not in memory, and gone with whoever holds it.
//!
//! The file loses its name as soon as it is made, so a crash leaves nothing behind. What was
//! written last stays in memory until it fills a block; a small spool never touches the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use domain::file;
use rand::RngExt as _;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

mod read;

pub use read::{Chunks, Lines};

/// Written and read so much at a time.
const BLOCK: usize = 256 * 1024;

/// A write that is dropped half-way leaves a spool that cannot be read: drop it as well.
#[derive(Debug)]
pub struct Spool {
    file: Arc<File>,
    on_disk: u64,
    tail: Vec<u8>,
    digest: Sha256,
}

/// How far a spool was written once.
#[derive(Debug, Clone)]
pub struct Mark {
    length: u64,
    digest: Sha256,
}

impl Spool {
    pub async fn new(folder: &Path) -> io::Result<Self> {
        let folder = folder.to_owned();
        let file = blocking(move || nameless(&folder)).await?;
        Ok(Self {
            file: Arc::new(file),
            on_disk: 0,
            tail: Vec::new(),
            digest: Sha256::new(),
        })
    }

    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.tail.extend_from_slice(bytes);
        if self.tail.len() >= BLOCK {
            self.flush().await?;
        }
        Ok(())
    }

    pub fn length(&self) -> u64 {
        self.on_disk + self.tail.len() as u64
    }

    /// Of everything written so far.
    pub fn sha256(&self) -> file::Sha256 {
        file::Sha256(self.digest.clone().finalize().into())
    }

    pub fn mark(&self) -> Mark {
        Mark {
            length: self.length(),
            digest: self.digest.clone(),
        }
    }

    /// Forgets what was written since.
    pub fn rewind(&mut self, mark: Mark) {
        if let Some(kept) = mark.length.checked_sub(self.on_disk) {
            self.tail
                .truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        } else {
            self.tail.clear();
            self.on_disk = mark.length;
        }
        self.digest = mark.digest;
    }

    /// All of it, from the beginning.
    pub fn chunks(&self) -> Chunks {
        self.part(0, self.length())
    }

    /// So many bytes from there on, or as many as there are.
    pub fn part(&self, from: u64, length: u64) -> Chunks {
        let tail = Bytes::copy_from_slice(&self.tail);
        Chunks::new(Arc::clone(&self.file), self.on_disk, tail, from, length)
    }

    /// Every line that is not blank, without its end.
    pub fn lines(&self) -> Lines {
        Lines::of(self.chunks())
    }

    async fn flush(&mut self) -> io::Result<()> {
        let (file, at) = (Arc::clone(&self.file), self.on_disk);
        let block = std::mem::take(&mut self.tail);
        let length = block.len() as u64;
        let mut block = blocking(move || file.write_all_at(&block, at).map(|()| block)).await?;
        block.clear();
        self.tail = block;
        self.on_disk += length;
        Ok(())
    }
}

fn nameless(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("spool-{:016x}", rand::rng().random::<u64>()));
    let mut options = OpenOptions::new();
    // Prompts are in it: nobody else reads along before the name is gone.
    let file = options.read(true).write(true).create_new(true).mode(0o600);
    let file = file.open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests;
