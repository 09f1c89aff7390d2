//! PostgreSQL's wire protocol, as far as a relay needs it.

use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::OwnedReadHalf;

const CHUNK_BYTES: usize = 16 * 1024;
/// The service never sends a larger message.
const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// Codes of a first packet that does not open a session.
pub const CANCEL_REQUEST: u32 = 80_877_102;
pub const SSL_REQUEST: u32 = 80_877_103;
pub const GSS_REQUEST: u32 = 80_877_104;

/// The transaction states in `ReadyForQuery`.
pub const TRANSACTION_IDLE: u8 = b'I';
pub const TRANSACTION_OPEN: u8 = b'T';
pub const TRANSACTION_FAILED: u8 = b'E';

/// One message with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgMessage {
    pub tag: u8,
    pub bytes: Vec<u8>,
}

impl PgMessage {
    /// The bytes after the tag and the length.
    pub fn content(&self) -> &[u8] {
        self.bytes.get(5..).unwrap_or_default()
    }

    /// The transaction's state, if this is `ReadyForQuery`.
    pub fn transaction_state(&self) -> Option<u8> {
        (self.tag == b'Z')
            .then(|| self.content().first().copied())
            .flatten()
    }
}

/// The strings at the beginning of a message's content, each ended by a zero byte.
pub fn split_strings(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == 0)
}

/// Reads messages of one side; every wait can be cancelled.
#[derive(Debug)]
pub struct PgMessageReader {
    stream: OwnedReadHalf,
    buffer: Vec<u8>,
}

impl PgMessageReader {
    pub const fn new(stream: OwnedReadHalf) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// The first packet of a session, which has no tag: its code and all of its bytes.
    pub async fn read_first_packet(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
        loop {
            if let Some(length) = read_u32(&self.buffer, 0).map(to_length)
                && self.buffer.len() >= length
                && let Some(code) = read_u32(&self.buffer, 4)
            {
                return Ok(Some((code, self.buffer.drain(..length).collect())));
            }
            if !self.read_more().await? {
                return Ok(None);
            }
        }
    }

    /// The next message; none when the other side has closed.
    pub async fn read_message(&mut self) -> io::Result<Option<PgMessage>> {
        loop {
            if let Some(message) = self.take_buffered_message()? {
                return Ok(Some(message));
            }
            if !self.read_more().await? {
                return Ok(None);
            }
        }
    }

    /// A message that is already complete in the buffer.
    pub fn take_buffered_message(&mut self) -> io::Result<Option<PgMessage>> {
        let Some(length) = read_u32(&self.buffer, 1).map(to_length) else {
            return Ok(None);
        };
        if !(4..MAX_MESSAGE_BYTES).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if self.buffer.len() <= length {
            return Ok(None);
        }
        let bytes: Vec<u8> = self.buffer.drain(..=length).collect();
        Ok(bytes.first().copied().map(|tag| PgMessage { tag, bytes }))
    }

    /// Returns once the other side has closed; discards what it still sends.
    pub async fn wait_until_closed(&mut self) {
        while let Ok(true) = self.read_more().await {
            self.buffer.clear();
        }
    }

    async fn read_more(&mut self) -> io::Result<bool> {
        self.buffer.reserve(CHUNK_BYTES);
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(word.try_into().ok()?))
}

fn to_length(word: u32) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

pub fn encode_message(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).unwrap_or(u32::MAX);
    let mut bytes = vec![tag];
    bytes.extend(length.to_be_bytes());
    bytes.extend(content);
    bytes
}

pub fn encode_query(sql: &str) -> Vec<u8> {
    encode_message(b'Q', format!("{sql}\0").as_bytes())
}

pub fn encode_error_response(severity: &str, code: &str, text: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{code}\0M{text}\0\0");
    encode_message(b'E', fields.as_bytes())
}

pub fn encode_ready_for_query(state: u8) -> Vec<u8> {
    encode_message(b'Z', &[state])
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
        let mut reader = PgMessageReader::new(half);

        let sent = [
            encode_query("select 1"),
            encode_ready_for_query(TRANSACTION_OPEN),
        ]
        .concat();
        let (beginning, rest) = sent.split_at(7);
        sender.write_all(beginning).await.unwrap();
        assert_eq!(reader.take_buffered_message().unwrap(), None);
        sender.write_all(rest).await.unwrap();
        let first = reader.read_message().await.unwrap().unwrap();
        assert_eq!(
            split_strings(first.content()).next(),
            Some(&b"select 1"[..])
        );
        let second = reader.read_message().await.unwrap().unwrap();
        assert_eq!(second.transaction_state(), Some(TRANSACTION_OPEN));
        drop(sender);
        assert_eq!(reader.read_message().await.unwrap(), None);
    }
}
