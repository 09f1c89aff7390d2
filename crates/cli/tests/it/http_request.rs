//! Reads one HTTP request from a connection, for the small servers of these tests.

use std::collections::HashMap;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// A whole request; names of headers are lowercase.
#[derive(Debug, Clone)]
pub(crate) struct WholeRequest {
    /// The method and the path with its query.
    pub(crate) target: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// None if the connection ended before.
pub(crate) async fn read_request(connection: &mut TcpStream) -> Option<WholeRequest> {
    let mut bytes = Vec::new();
    let (head, start) = loop {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
            break (head, end + 4);
        }
    };
    let headers = parse_headers(&head);
    let length = headers.get("content-length").map(String::as_str);
    let length: usize = length.unwrap_or("0").parse().ok()?;
    while bytes.len() < start + length {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let mut words = head.split(' ');
    let target = format!("{} {}", words.next()?, words.next()?);
    Some(WholeRequest {
        target,
        headers,
        body: bytes.get(start..start + length)?.to_vec(),
    })
}

fn parse_headers(head: &str) -> HashMap<String, String> {
    head.lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
        .collect()
}
