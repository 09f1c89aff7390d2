//! A spool read back: in blocks, or line by line.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::Stream;
use futures::stream;

use super::{BLOCK, blocking};

/// What was there when it was asked for, in blocks. Any number of readers may read at once.
#[derive(Debug)]
pub struct Chunks {
    file: Arc<File>,
    on_disk: u64,
    tail: Bytes,
    at: u64,
    end: u64,
}

impl Chunks {
    pub(super) fn new(file: Arc<File>, on_disk: u64, tail: Bytes, from: u64, length: u64) -> Self {
        let all = on_disk + tail.len() as u64;
        Self {
            file,
            on_disk,
            tail,
            at: from.min(all),
            end: from.saturating_add(length).min(all),
        }
    }

    pub fn length(&self) -> u64 {
        self.end - self.at
    }

    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let chunk = match self.at.checked_sub(self.on_disk) {
            Some(from) => {
                let until = self.end - self.on_disk;
                let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                self.tail.slice(index(from)..index(until))
            }
            None => self.read().await?,
        };
        self.at += chunk.len() as u64;
        Ok(Some(chunk))
    }

    async fn read(&self) -> io::Result<Bytes> {
        let (file, at) = (Arc::clone(&self.file), self.at);
        let left = self.end.min(self.on_disk) - at;
        let size = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        blocking(move || {
            let mut block = vec![0; size];
            file.read_exact_at(&mut block, at)?;
            Ok(block.into())
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
pub struct Lines {
    chunks: Chunks,
    rest: BytesMut,
    /// So much of the rest holds no end of a line.
    searched: usize,
}

impl Lines {
    pub(super) fn of(chunks: Chunks) -> Self {
        Self {
            chunks,
            rest: BytesMut::new(),
            searched: 0,
        }
    }

    /// The next line that is not blank. The last one needs no end.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let line = match self.whole() {
                Some(line) => line,
                None => match self.chunks.next().await? {
                    Some(chunk) => {
                        self.rest.extend_from_slice(&chunk);
                        continue;
                    }
                    None if self.rest.is_empty() => return Ok(None),
                    None => self.rest.split().freeze(),
                },
            };
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn whole(&mut self) -> Option<Bytes> {
        let unsearched = self.rest.get(self.searched..)?;
        let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.rest.len();
            return None;
        };
        let mut line = self.rest.split_to(self.searched + end + 1);
        self.searched = 0;
        line.truncate(line.len() - 1);
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        Some(line.freeze())
    }
}
