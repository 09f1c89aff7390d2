//! Load requests of one kilobyte, each with a unique body.

use std::fmt::Write as _;
use std::net::SocketAddr;

use rand::RngExt as _;

use crate::harness::organization::TrialOrganization;

pub const BODY_BYTES: usize = 1024;
/// Texts that repeat; a counter makes each body unique.
const FILLER_COUNT: usize = 256;
/// Digits of the counter.
const COUNTER_DIGITS: usize = 16;

/// Prepared parts of the bodies.
#[derive(Debug)]
pub struct LoadRequests {
    /// The beginning of a body, for each model in turn.
    beginnings: Vec<String>,
    end: String,
    fillers: Vec<String>,
}

impl LoadRequests {
    /// Loads for these models in turn, so that every organization loads for every model.
    pub fn new(callback_url: &str, models: &[&str]) -> Self {
        let beginnings = models.iter().map(|model| {
            format!(
                r#"{{"params":{{"model":"{model}","max_tokens":64,"messages":[{{"role":"user","content":""#
            )
        });
        // Text that compresses about as well as prose.
        let mut random = rand::rng();
        let mut filling = || {
            (0..BODY_BYTES)
                .map(|_| char::from(random.random_range(b'a'..=b'p')))
                .collect()
        };
        Self {
            beginnings: beginnings.collect(),
            end: format!(r#""}}]}},"callback_url":"{callback_url}"}}"#),
            fillers: (0..FILLER_COUNT).map(|_| filling()).collect(),
        }
    }

    fn beginning(&self, number: u64) -> &str {
        let turn = usize::try_from(number + number / 32).unwrap_or_default();
        let place = turn % self.beginnings.len().max(1);
        self.beginnings.get(place).map_or("", String::as_str)
    }

    /// Writes the `number`th load into `buffer`, ready to send.
    pub fn write(&self, buffer: &mut String, organization: &TrialOrganization, number: u64) {
        self.write_with(buffer, organization, number, format_args!(""));
    }

    /// The same with an idempotency key, for retries.
    pub fn write_keyed(&self, buffer: &mut String, organization: &TrialOrganization, number: u64) {
        let header = format_args!("idempotency-key: trial-{number}\r\n");
        self.write_with(buffer, organization, number, header);
    }

    fn write_with(
        &self,
        buffer: &mut String,
        organization: &TrialOrganization,
        number: u64,
        header: std::fmt::Arguments<'_>,
    ) {
        buffer.clear();
        // Writing to a string cannot fail.
        let _ = write!(
            buffer,
            "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-api-key: {}\r\n\
             content-type: application/json\r\n{header}content-length: {BODY_BYTES}\r\n\r\n",
            organization.api_key,
        );
        let place = usize::try_from(number).unwrap_or_default() % FILLER_COUNT;
        let filling = self.fillers.get(place).map_or("", String::as_str);
        let beginning = self.beginning(number);
        let room = BODY_BYTES.saturating_sub(beginning.len() + COUNTER_DIGITS + self.end.len());
        buffer.push_str(beginning);
        let _ = write!(buffer, "{number:0COUNTER_DIGITS$x}");
        buffer.push_str(filling.get(..room).unwrap_or_default());
        buffer.push_str(&self.end);
    }
}

/// A load with a custom body.
pub fn format_load(organization: &TrialOrganization, body: &str) -> String {
    format!(
        "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-api-key: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        organization.api_key,
        body.len()
    )
}

/// A GET with a key.
pub fn format_get(path: &str, organization: &TrialOrganization) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: trial\r\nx-api-key: {}\r\n\r\n",
        organization.api_key
    )
}

pub fn tracking_path(cargo: u128) -> String {
    format!("/cargo/crg_{cargo:032x}/tracking")
}

/// A GET without a key.
pub fn format_get_without_key(path: &str, address: SocketAddr) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(loads: &LoadRequests, number: u64) -> String {
        let organization = TrialOrganization {
            id: String::new(),
            shard: String::new(),
            api_key: "svc_sk_x".to_owned(),
        };
        let mut buffer = String::new();
        loads.write(&mut buffer, &organization, number);
        buffer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    #[test]
    fn every_load_is_a_different_kilobyte_of_json() {
        let loads = LoadRequests::new("http://127.0.0.1:20000/hook", &["svc-mock", "trial-priced"]);
        let (first, second) = (body(&loads, 1), body(&loads, 257));
        assert_ne!(first, second);
        for body in [first, second] {
            assert_eq!(body.len(), BODY_BYTES);
            let read: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(read["callback_url"], "http://127.0.0.1:20000/hook");
        }
    }

    #[test]
    fn every_organization_loads_for_every_model() {
        let models = ["a", "a", "a", "b"];
        let loads = LoadRequests::new("http://127.0.0.1:20000/hook", &models);
        for organization in 0..20 {
            let numbers = (0..400).map(|turn| organization + 20 * turn);
            let free = numbers.filter(|number| loads.beginning(*number).contains("\"b\""));
            let free = free.count();
            assert!((80..=120).contains(&free), "{free}");
        }
    }
}
