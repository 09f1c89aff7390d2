//! One keep-alive connection of the closed loop, as cheap as possible for the client.
//!
//! The load generator shares two cores with the service. So a request is one prepared buffer
//! and one write, and only the needed parts of a response are parsed.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;

use crate::harness::find_bytes;

const HEAD_END: &[u8] = b"\r\n\r\n";

#[derive(Debug)]
pub(super) struct FastConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A response, parsed as far as trials need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParsedResponse {
    pub(super) status: u16,
    /// The server will not accept another request on this connection.
    pub(super) closes_connection: bool,
}

impl FastConnection {
    pub(super) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(4096),
        })
    }

    pub(super) async fn exchange(&mut self, request: &[u8]) -> io::Result<ParsedResponse> {
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
            if let Some(reply) = parse_response(&self.buffer)? {
                return Ok(reply);
            }
        }
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

/// The response in these bytes, if they are complete.
fn parse_response(bytes: &[u8]) -> io::Result<Option<ParsedResponse>> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let Some(head_end) = find_bytes(bytes, HEAD_END) else {
        return Ok(None);
    };
    let (head, rest) = bytes.split_at(head_end);
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let status = lines.next().and_then(parse_status).ok_or_else(malformed)?;
    let mut length = None;
    let mut reply = ParsedResponse {
        status,
        closes_connection: false,
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
            14 if name.eq_ignore_ascii_case(b"content-length") => length = parse_number(value),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                reply.closes_connection = value.eq_ignore_ascii_case(b"close");
            }
            _ => {}
        }
    }
    let length = length.ok_or_else(malformed)?;
    let body = rest
        .get(HEAD_END.len()..)
        .and_then(|body| body.get(..length));
    Ok(body.map(|_| reply))
}

/// `HTTP/1.1 202 Accepted`
fn parse_status(line: &[u8]) -> Option<u16> {
    let digits = line.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    parse_number(digits).and_then(|status| u16::try_from(status).ok())
}

fn parse_number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_parsed_once_it_is_complete() {
        let whole = b"HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nhello";
        for length in 0..whole.len() {
            assert_eq!(parse_response(&whole[..length]).unwrap(), None);
        }
        let reply = parse_response(whole).unwrap().unwrap();
        assert_eq!((reply.status, reply.closes_connection), (202, false));
        let bytes = b"HTTP/1.1 503 X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        assert!(parse_response(bytes).unwrap().unwrap().closes_connection);
    }

    #[test]
    fn bytes_that_are_no_response_are_an_error() {
        assert!(parse_response(b"SMTP ready\r\n\r\n").is_err());
        assert!(parse_response(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
