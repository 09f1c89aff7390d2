//! One kept connection to the service, as cheap as a client can be.
//!
//! The loader shares two cores with what it measures, so a request is one
//! prepared buffer and one write, and only what a trial asks about is read.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;

const HEAD_END: &[u8] = b"\r\n\r\n";

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What came back, read as far as trials need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    pub status: u16,
    /// The answer to a repeated idempotency key.
    pub is_replay: bool,
    /// Whole seconds of `Retry-After`.
    pub retry_after: Option<u64>,
    /// The server will not take another request on this connection.
    pub closes: bool,
    pub body: &'a [u8],
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(4096),
        })
    }

    /// Whether the server has closed it, or spoken out of turn, since the last exchange.
    pub fn is_stale(&self) -> bool {
        let read = self.stream.try_read(&mut [0; 1]);
        !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Reply<'_>> {
        self.write(request).await?;
        self.buffer.clear();
        let mut chunk = [0; 4096];
        loop {
            self.stream.readable().await?;
            match self.stream.try_read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.buffer.extend(chunk.iter().take(length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            }
            if is_whole(&self.buffer)? {
                break;
            }
        }
        let reply = read(&self.buffer)?;
        reply.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    async fn write(&self, request: &[u8]) -> io::Result<()> {
        let mut rest = request;
        while !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(length) => rest = rest.get(length..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stream.writable().await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_whole(bytes: &[u8]) -> io::Result<bool> {
    read(bytes).map(|reply| reply.is_some())
}

/// The reply in these bytes, once they are all there.
fn read(bytes: &[u8]) -> io::Result<Option<Reply<'_>>> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let Some(head_end) = find(bytes, HEAD_END) else {
        return Ok(None);
    };
    let (head, rest) = bytes.split_at(head_end);
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let status = lines.next().and_then(status).ok_or_else(malformed)?;
    let mut length = None;
    let mut reply = Reply {
        status,
        is_replay: false,
        retry_after: None,
        closes: false,
        body: &[],
    };
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        let value = value
            .trim_ascii_start()
            .get(1..)
            .unwrap_or_default()
            .trim_ascii();
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => length = number(value),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                reply.closes = value.eq_ignore_ascii_case(b"close");
            }
            11 if name.eq_ignore_ascii_case(b"retry-after") => {
                reply.retry_after = number(value).and_then(|seconds| u64::try_from(seconds).ok());
            }
            17 if name.eq_ignore_ascii_case(b"idempotent-replay") => reply.is_replay = true,
            _ => {}
        }
    }
    let length = length.ok_or_else(malformed)?;
    let body = rest
        .get(HEAD_END.len()..)
        .and_then(|body| body.get(..length));
    Ok(body.map(|body| Reply { body, ..reply }))
}

/// `HTTP/1.1 202 Accepted`
fn status(line: &[u8]) -> Option<u16> {
    let digits = line.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    number(digits).and_then(|status| u16::try_from(status).ok())
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Where `needle` begins.
pub fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes
        .windows(needle.len())
        .position(|window| window == needle)
}

/// The first cargo id in a body, as a number.
pub fn cargo_id(body: &[u8]) -> Option<u128> {
    let field = b"\"cargo_id\":\"crg_";
    let begin = find(body, field)? + field.len();
    let digits = body.get(begin..begin + 32)?;
    u128::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_once_it_is_whole() {
        let whole =
            b"HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\nidempotent-replay: true\r\n\r\nhello";
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]).unwrap(), None);
        }
        let reply = read(whole).unwrap().unwrap();
        assert_eq!(
            (reply.status, reply.is_replay, reply.body),
            (202, true, &b"hello"[..])
        );
        assert!(!reply.closes && reply.retry_after.is_none());
    }

    #[test]
    fn what_a_refusal_carries_is_seen() {
        let bytes =
            b"HTTP/1.1 503 X\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let reply = read(bytes).unwrap().unwrap();
        assert!(reply.closes);
        assert_eq!(reply.retry_after, Some(1));
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        assert!(read(b"SMTP ready\r\n\r\n").is_err());
        assert!(read(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn the_id_is_found_in_a_body() {
        let body = br#"{"cargo_id":"crg_000000000000000000000000000000ff","status":"success"}"#;
        assert_eq!(cargo_id(body), Some(255));
        assert_eq!(cargo_id(br#"{"cargo_id":"crg_00"}"#), None);
        assert_eq!(cargo_id(b"{}"), None);
    }
}
