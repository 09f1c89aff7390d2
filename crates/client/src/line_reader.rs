//! Lines of a streamed answer, as they arrive.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::transport::TransportFailure;

/// A longer line is not one of ours.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub struct LineReader {
    body: Incoming,
    buffer: LineBuffer,
    /// Without a byte for so long, the connection is taken for lost.
    idle_timeout: Duration,
    is_ended: bool,
}

/// Bytes that are split at line feeds.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: BytesMut,
    /// Bytes that are known to have no line feed.
    searched: usize,
}

impl LineBuffer {
    pub fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// The next complete line, without its end.
    pub fn next_line(&mut self) -> Option<Bytes> {
        let unsearched = self.bytes.get(self.searched..)?;
        let Some(found) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return None;
        };
        let mut line = self.bytes.split_to(self.searched + found + 1);
        self.searched = 0;
        line.truncate(line.len() - 1);
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Some(line.freeze())
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl LineReader {
    pub fn new(body: Incoming, idle_timeout: Duration) -> Self {
        Self {
            body,
            buffer: LineBuffer::default(),
            idle_timeout,
            is_ended: false,
        }
    }

    /// A line that has already arrived.
    pub fn buffered_line(&mut self) -> Option<Bytes> {
        self.buffer.next_line()
    }

    /// The next line, or None at the end. The end within a line is a lost connection.
    pub async fn next_line(&mut self) -> Result<Option<Bytes>, TransportFailure> {
        loop {
            if let Some(line) = self.buffer.next_line() {
                return Ok(Some(line));
            }
            if self.is_ended {
                return if self.buffer.is_empty() {
                    Ok(None)
                } else {
                    Err(TransportFailure::Lost("a line was cut off".to_owned()))
                };
            }
            if self.buffer.len() > MAX_LINE_BYTES {
                return Err(TransportFailure::Lost("a line is too long".to_owned()));
            }
            let frame = timeout(self.idle_timeout, self.body.frame()).await;
            match frame.map_err(|_| TransportFailure::TimedOut(self.idle_timeout))? {
                None => self.is_ended = true,
                Some(Err(error)) => return Err(TransportFailure::Lost(error.to_string())),
                Some(Ok(frame)) => {
                    if let Some(chunk) = frame.data_ref() {
                        self.buffer.push(chunk);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_the_chunks_are_cut() {
        let mut buffer = LineBuffer::default();
        let mut lines = Vec::new();
        for chunk in ["a", "b\nc", "d\r", "\n\ne"] {
            buffer.push(chunk.as_bytes());
            while let Some(line) = buffer.next_line() {
                lines.push(line);
            }
        }
        assert_eq!(lines, ["ab", "cd", ""]);
        assert_eq!(buffer.len(), 1);
    }
}
