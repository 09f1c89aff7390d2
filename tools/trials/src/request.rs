//! Load requests of one kilobyte, each different from every other.

use std::fmt::Write as _;
use std::net::SocketAddr;

use rand::RngExt as _;

use crate::organization::Organization;

/// The size of every body.
pub const BODY: usize = 1024;
/// So many different texts go round; a counter makes each body unique.
const FILLINGS: usize = 256;
/// Digits of the counter.
const COUNTER: usize = 16;

/// Prepared bodies.
#[derive(Debug)]
pub struct Loads {
    /// How a body begins, for each model in turn.
    beginnings: Vec<String>,
    end: String,
    fillings: Vec<String>,
}

impl Loads {
    /// Loads for these models in turn; an organization's own turn does not choose the model.
    pub fn new(callback_url: &str, models: &[&str]) -> Self {
        let beginnings = models.iter().map(|model| {
            format!(
                r#"{{"params":{{"model":"{model}","max_tokens":64,"messages":[{{"role":"user","content":""#
            )
        });
        // Text that compresses about as well as prose does.
        let mut random = rand::rng();
        let mut filling = || {
            (0..BODY)
                .map(|_| char::from(random.random_range(b'a'..=b'p')))
                .collect()
        };
        Self {
            beginnings: beginnings.collect(),
            end: format!(r#""}}]}},"callback_url":"{callback_url}"}}"#),
            fillings: (0..FILLINGS).map(|_| filling()).collect(),
        }
    }

    fn beginning(&self, number: u64) -> &str {
        let turn = usize::try_from(number + number / 32).unwrap_or_default();
        let place = turn % self.beginnings.len().max(1);
        self.beginnings.get(place).map_or("", String::as_str)
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
        let beginning = self.beginning(number);
        let room = BODY.saturating_sub(beginning.len() + COUNTER + self.end.len());
        buffer.push_str(beginning);
        let _ = write!(buffer, "{number:0COUNTER$x}");
        buffer.push_str(filling.get(..room).unwrap_or_default());
        buffer.push_str(&self.end);
    }
}

/// A load with a body of one's own.
pub fn load(organization: &Organization, body: &str) -> String {
    format!(
        "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-api-key: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        organization.key,
        body.len()
    )
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
            id: String::new(),
            shard: String::new(),
            key: "svc_sk_x".to_owned(),
        };
        let mut buffer = String::new();
        loads.write(&mut buffer, &organization, number);
        buffer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    #[test]
    fn every_load_is_a_different_kilobyte_of_json() {
        let loads = Loads::new("http://127.0.0.1:20000/hook", &["svc-mock", "trial-priced"]);
        let (first, second) = (body(&loads, 1), body(&loads, 257));
        assert_ne!(first, second);
        for body in [first, second] {
            assert_eq!(body.len(), BODY);
            let read: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(read["callback_url"], "http://127.0.0.1:20000/hook");
        }
    }

    #[test]
    fn every_organization_loads_for_every_model() {
        let models = ["a", "a", "a", "b"];
        let loads = Loads::new("http://127.0.0.1:20000/hook", &models);
        for organization in 0..20 {
            let numbers = (0..400).map(|turn| organization + 20 * turn);
            let free = numbers.filter(|number| loads.beginning(*number).contains("\"b\""));
            let free = free.count();
            assert!((80..=120).contains(&free), "{free}");
        }
    }
}
