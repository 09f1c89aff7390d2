//! PostgreSQL's wire protocol, as far as a relay must understand it.

use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::OwnedReadHalf;

const CHUNK: usize = 16 * 1024;
/// No message of the service is larger.
const MAX_MESSAGE: usize = 1 << 30;

/// The codes of a first packet that opens no session.
pub const CANCEL_REQUEST: u32 = 80_877_102;
pub const SSL_REQUEST: u32 = 80_877_103;
pub const GSS_REQUEST: u32 = 80_877_104;

/// What `ReadyForQuery` says about the transaction.
pub const IDLE: u8 = b'I';
pub const IN_TRANSACTION: u8 = b'T';
pub const FAILED: u8 = b'E';

/// One message with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub tag: u8,
    pub bytes: Vec<u8>,
}

impl Message {
    /// What follows the tag and the length.
    pub fn content(&self) -> &[u8] {
        self.bytes.get(5..).unwrap_or_default()
    }

    /// The transaction's state, if this is `ReadyForQuery`.
    pub fn ready_state(&self) -> Option<u8> {
        (self.tag == b'Z')
            .then(|| self.content().first().copied())
            .flatten()
    }
}

/// The strings at the beginning of a message's content, each ended by a zero byte.
pub fn strings(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == 0)
}

/// Messages as they come from one side; waiting for the next may be given up at any time.
#[derive(Debug)]
pub struct MessageReader {
    stream: OwnedReadHalf,
    buffer: Vec<u8>,
}

impl MessageReader {
    pub const fn new(stream: OwnedReadHalf) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// The first packet of a session has no tag: its code, and all of its bytes.
    pub async fn first_packet(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
        loop {
            if let Some(length) = word(&self.buffer, 0).map(to_length)
                && self.buffer.len() >= length
                && let Some(code) = word(&self.buffer, 4)
            {
                return Ok(Some((code, self.buffer.drain(..length).collect())));
            }
            if !self.read_more().await? {
                return Ok(None);
            }
        }
    }

    /// The next message; nothing when the other side has closed.
    pub async fn next(&mut self) -> io::Result<Option<Message>> {
        loop {
            if let Some(message) = self.buffered()? {
                return Ok(Some(message));
            }
            if !self.read_more().await? {
                return Ok(None);
            }
        }
    }

    /// A message that has come whole already.
    pub fn buffered(&mut self) -> io::Result<Option<Message>> {
        let Some(length) = word(&self.buffer, 1).map(to_length) else {
            return Ok(None);
        };
        if !(4..MAX_MESSAGE).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if self.buffer.len() <= length {
            return Ok(None);
        }
        let bytes: Vec<u8> = self.buffer.drain(..=length).collect();
        Ok(bytes.first().copied().map(|tag| Message { tag, bytes }))
    }

    /// Returns once the other side has closed; what it still sends is thrown away.
    pub async fn closed(&mut self) {
        while let Ok(true) = self.read_more().await {
            self.buffer.clear();
        }
    }

    async fn read_more(&mut self) -> io::Result<bool> {
        self.buffer.reserve(CHUNK);
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(word.try_into().ok()?))
}

fn to_length(word: u32) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

/// A message of our own.
pub fn message(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).unwrap_or(u32::MAX);
    let mut bytes = vec![tag];
    bytes.extend(length.to_be_bytes());
    bytes.extend(content);
    bytes
}

/// A simple query.
pub fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

pub fn error_response(severity: &str, code: &str, text: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{code}\0M{text}\0\0");
    message(b'E', fields.as_bytes())
}

pub fn ready_for_query(state: u8) -> Vec<u8> {
    message(b'Z', &[state])
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn messages_are_read_whole_however_they_arrive() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let (half, _writing) = stream.into_split();
        let mut reader = MessageReader::new(half);

        let sent = [query("select 1"), ready_for_query(IN_TRANSACTION)].concat();
        let (beginning, rest) = sent.split_at(7);
        sender.write_all(beginning).await.unwrap();
        assert_eq!(reader.buffered().unwrap(), None);
        sender.write_all(rest).await.unwrap();
        let first = reader.next().await.unwrap().unwrap();
        assert_eq!(strings(first.content()).next(), Some(&b"select 1"[..]));
        let second = reader.next().await.unwrap().unwrap();
        assert_eq!(second.ready_state(), Some(IN_TRANSACTION));
        drop(sender);
        assert_eq!(reader.next().await.unwrap(), None);
    }
}
