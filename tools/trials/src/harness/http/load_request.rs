//! Load requests of one kilobyte, each with a unique body.

use std::fmt::Write as _;
use std::ops::Range;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use rand::RngExt as _;

use crate::harness::TrialOrganization;
use crate::harness::http::http_client::HttpRequest;

pub const BODY_BYTES: usize = 1024;
const LOAD_PATH: &str = "/cargo/load";
const BULK_PATH: &str = "/cargo/bulk";
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

    /// The `number`th load.
    pub fn build(&self, organization: &TrialOrganization, number: u64) -> HttpRequest {
        let mut body = String::with_capacity(BODY_BYTES);
        self.write_body(&mut body, number);
        load(organization, body)
    }

    /// A bulk load of the loads with these numbers, as NDJSON.
    pub fn build_bulk(&self, organization: &TrialOrganization, numbers: Range<u64>) -> HttpRequest {
        let mut body = String::new();
        for number in numbers {
            self.write_body(&mut body, number);
            body.push('\n');
        }
        let mut request = build(Method::POST, BULK_PATH, Some(organization), body.into());
        let ndjson = HeaderValue::from_static("application/x-ndjson");
        request.headers_mut().insert(CONTENT_TYPE, ndjson);
        request
    }

    /// The `number`th load with an idempotency key, for retries.
    pub fn build_keyed(&self, organization: &TrialOrganization, number: u64) -> HttpRequest {
        let mut request = self.build(organization, number);
        insert_key(&mut request, &format!("trial-{number}"));
        request
    }

    /// Writes the `number`th load with its head into `buffer`, for a generator that shares the
    /// machine's cores with the service.
    pub fn write(&self, buffer: &mut String, organization: &TrialOrganization, number: u64) {
        buffer.clear();
        // Writing to a string cannot fail.
        let _ = write!(
            buffer,
            "POST {LOAD_PATH} HTTP/1.1\r\nhost: trial\r\nx-api-key: {}\r\n\
             content-type: application/json\r\ncontent-length: {BODY_BYTES}\r\n\r\n",
            organization.api_key,
        );
        self.write_body(buffer, number);
    }

    fn write_body(&self, buffer: &mut String, number: u64) {
        let place = usize::try_from(number).unwrap_or_default() % FILLER_COUNT;
        let filling = self.fillers.get(place).map_or("", String::as_str);
        let beginning = self.beginning(number);
        let room = BODY_BYTES.saturating_sub(beginning.len() + COUNTER_DIGITS + self.end.len());
        buffer.push_str(beginning);
        // Writing to a string cannot fail.
        let _ = write!(buffer, "{number:0COUNTER_DIGITS$x}");
        buffer.push_str(filling.get(..room).unwrap_or_default());
        buffer.push_str(&self.end);
    }
}

/// Gives a load an idempotency key of its own, for retries.
pub fn add_idempotency_key(request: &mut HttpRequest) {
    insert_key(request, &format!("trial-{:032x}", rand::random::<u128>()));
}

fn insert_key(request: &mut HttpRequest, key: &str) {
    if let Ok(key) = HeaderValue::from_str(key) {
        request.headers_mut().insert("idempotency-key", key);
    }
}

/// A load with a custom body.
pub fn load(organization: &TrialOrganization, body: impl Into<Bytes>) -> HttpRequest {
    build(Method::POST, LOAD_PATH, Some(organization), body.into())
}

/// A POST with a key and an empty object.
pub fn post(path: &str, organization: &TrialOrganization) -> HttpRequest {
    let body = Bytes::from_static(b"{}");
    build(Method::POST, path, Some(organization), body)
}

/// A GET with a key.
pub fn get(path: &str, organization: &TrialOrganization) -> HttpRequest {
    build(Method::GET, path, Some(organization), Bytes::new())
}

/// A GET without a key.
pub fn get_without_key(path: &str) -> HttpRequest {
    build(Method::GET, path, None, Bytes::new())
}

pub fn tracking_path(cargo: u128) -> String {
    format!("/cargo/crg_{cargo:032x}/tracking")
}

/// A path or a key that is not valid is left out: then the service refuses the request.
fn build(
    method: Method,
    path: &str,
    organization: Option<&TrialOrganization>,
    body: Bytes,
) -> HttpRequest {
    let mut request = HttpRequest::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap_or_default();
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(Ok(key)) = organization.map(|it| HeaderValue::from_str(&it.api_key)) {
        headers.insert("x-api-key", key);
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(loads: &LoadRequests, number: u64) -> String {
        let mut body = String::new();
        loads.write_body(&mut body, number);
        body
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
