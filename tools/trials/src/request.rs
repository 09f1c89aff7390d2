//! Load requests of one kilobyte, each different from every other.

use std::fmt::Write as _;
use std::net::SocketAddr;

use rand::RngExt as _;

use crate::organization::Organization;

/// The size of every body.
pub const BODY: usize = 1024;
/// So many different texts go round; a counter makes each body unique.
const FILLINGS: usize = 256;

/// Prepared bodies.
#[derive(Debug)]
pub struct Loads {
    before: String,
    after: String,
    fillings: Vec<String>,
}

impl Loads {
    pub fn new(callback_url: &str) -> Self {
        let before = concat!(
            r#"{"params":{"model":"svc-mock","max_tokens":64,"#,
            r#""messages":[{"role":"user","content":""#,
        );
        let after = format!(r#""}}]}},"callback_url":"{callback_url}"}}"#);
        let counter = 16;
        let length = BODY.saturating_sub(before.len() + after.len() + counter);
        // Text that compresses about as well as prose does.
        let mut random = rand::rng();
        let mut filling = || {
            (0..length)
                .map(|_| char::from(random.random_range(b'a'..=b'p')))
                .collect()
        };
        let fillings = (0..FILLINGS).map(|_| filling()).collect();
        Self {
            before: before.to_owned(),
            after,
            fillings,
        }
    }

    /// Writes the `number`th load into `buffer`, ready to be sent.
    pub fn write(&self, buffer: &mut String, organization: &Organization, number: u64) {
        self.write_with(buffer, organization, number, format_args!(""));
    }

    /// The same, to be repeated under the same idempotency key.
    pub fn write_keyed(&self, buffer: &mut String, organization: &Organization, number: u64) {
        let header = format_args!("idempotency-key: trial-{number}\r\n");
        self.write_with(buffer, organization, number, header);
    }

    fn write_with(
        &self,
        buffer: &mut String,
        organization: &Organization,
        number: u64,
        header: std::fmt::Arguments<'_>,
    ) {
        buffer.clear();
        // Writing to a string cannot fail.
        let _ = write!(
            buffer,
            "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-api-key: {}\r\n\
             content-type: application/json\r\n{header}content-length: {BODY}\r\n\r\n",
            organization.key,
        );
        let place = usize::try_from(number).unwrap_or_default() % FILLINGS;
        let filling = self.fillings.get(place).map_or("", String::as_str);
        buffer.push_str(&self.before);
        let _ = write!(buffer, "{number:016x}");
        buffer.push_str(filling);
        buffer.push_str(&self.after);
    }
}

/// A GET with a key.
pub fn get(path: &str, organization: &Organization) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: trial\r\nx-api-key: {}\r\n\r\n",
        organization.key
    )
}

/// Where a cargo is asked about.
pub fn tracking(cargo: u128) -> String {
    format!("/cargo/crg_{cargo:032x}/tracking")
}

/// A GET without a key.
pub fn open_get(path: &str, address: SocketAddr) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(loads: &Loads, number: u64) -> String {
        let organization = Organization {
            shard: String::new(),
            key: "svc_sk_x".to_owned(),
        };
        let mut buffer = String::new();
        loads.write(&mut buffer, &organization, number);
        buffer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    #[test]
    fn every_load_is_a_different_kilobyte_of_json() {
        let loads = Loads::new("http://127.0.0.1:20000/hook");
        let (first, second) = (body(&loads, 1), body(&loads, 257));
        assert_ne!(first, second);
        for body in [first, second] {
            assert_eq!(body.len(), BODY);
            let read: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(read["callback_url"], "http://127.0.0.1:20000/hook");
        }
    }
}
