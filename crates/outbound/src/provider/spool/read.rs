//! Reads a spool in blocks or line by line.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::Stream;
use futures::stream;

use super::cipher::{SpoolCipher, UNIT_BYTES, stored_length, stored_offset};
use super::{BLOCK_BYTES, Spool, run_blocking};

/// A snapshot of the spool at the time of the call. Several readers may read at once.
#[derive(Debug)]
pub struct SpoolChunks {
    file: Arc<File>,
    cipher: Arc<SpoolCipher>,
    on_disk: u64,
    tail: Bytes,
    position: u64,
    end: u64,
}

impl SpoolChunks {
    pub(super) fn new(spool: &Spool, from: u64, length: u64) -> Self {
        let all = spool.length();
        let end = from.saturating_add(length).min(all);
        let tail = if end > spool.on_disk {
            Bytes::copy_from_slice(&spool.tail)
        } else {
            Bytes::new()
        };
        Self {
            file: Arc::clone(&spool.file),
            cipher: Arc::clone(&spool.cipher),
            on_disk: spool.on_disk,
            tail,
            position: from.min(all),
            end,
        }
    }

    pub fn length(&self) -> u64 {
        self.end - self.position
    }

    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.position >= self.end {
            return Ok(None);
        }
        let chunk = match self.position.checked_sub(self.on_disk) {
            Some(from) => {
                let until = self.end - self.on_disk;
                let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                self.tail.slice(index(from)..index(until))
            }
            None => self.read_block().await?,
        };
        self.position += chunk.len() as u64;
        Ok(Some(chunk))
    }

    async fn read_block(&self) -> io::Result<Bytes> {
        let (file, cipher) = (Arc::clone(&self.file), Arc::clone(&self.cipher));
        let first_unit = self.position - self.position % UNIT_BYTES as u64;
        let end = self
            .end
            .min(self.on_disk)
            .min(first_unit + BLOCK_BYTES as u64);
        // At most a block, so the numbers fit.
        let index = |at: u64| usize::try_from(at - first_unit).unwrap_or(BLOCK_BYTES);
        let (from, until) = (index(self.position), index(end));
        run_blocking(move || {
            let mut stored = vec![0; stored_length(until)];
            file.read_exact_at(&mut stored, stored_offset(first_unit))?;
            let plain = Bytes::from(cipher.decrypt(stored)?);
            Ok(plain.slice(from..until))
        })
        .await
    }

    pub fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        stream::try_unfold(self, |mut chunks| async move {
            let chunk = chunks.next().await?;
            Ok(chunk.map(|chunk| (chunk, chunks)))
        })
    }
}

#[derive(Debug)]
pub struct SpoolLines {
    chunks: SpoolChunks,
    buffer: BytesMut,
    /// The first bytes of the buffer, known to hold no line ending.
    searched: usize,
}

impl SpoolLines {
    pub(super) fn new(chunks: SpoolChunks) -> Self {
        Self {
            chunks,
            buffer: BytesMut::new(),
            searched: 0,
        }
    }

    /// The next line that is not blank. The last line needs no line ending.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let line = match self.take_complete_line() {
                Some(line) => line,
                None => match self.chunks.next().await? {
                    Some(chunk) => {
                        self.buffer.extend_from_slice(&chunk);
                        continue;
                    }
                    None if self.buffer.is_empty() => return Ok(None),
                    None => self.buffer.split().freeze(),
                },
            };
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn take_complete_line(&mut self) -> Option<Bytes> {
        let unsearched = self.buffer.get(self.searched..)?;
        let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + end + 1);
        self.searched = 0;
        line.truncate(line.len() - 1);
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        Some(line.freeze())
    }
}
