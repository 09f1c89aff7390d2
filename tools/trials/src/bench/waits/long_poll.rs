//! One caller that waits for its cargo, with a long-poll after the other.

use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::harness::http::load_request;
use crate::harness::{HttpClient, TrialOrganization, find_bytes};

/// How long a poll is repeated that is answered with 503.
const REPEAT_TIMEOUT: Duration = Duration::from_mins(2);
const REPEAT_DELAY: Duration = Duration::from_millis(200);
/// Longer than the service waits.
const WAIT_QUERY: &str = "?wait=60";
const NOT_COMPLETED: &[u8] = b"\"completed_at\":null";

#[derive(Debug)]
pub(super) struct AwaitedCargo {
    pub(super) cargo: u128,
    pub(super) organization: TrialOrganization,
}

#[derive(Debug)]
pub(super) struct PollEnd {
    pub(super) requests: u64,
    /// Milliseconds from the completion of the cargo to the answer, or what went wrong.
    pub(super) result: Result<f64, String>,
}

/// Repeats the request until its answer has the completed cargo.
pub(super) async fn poll_until_completed(
    client: &HttpClient,
    host: &str,
    awaited: &AwaitedCargo,
) -> PollEnd {
    let path = load_request::tracking_path(awaited.cargo) + WAIT_QUERY;
    let (mut requests, began) = (0, Instant::now());
    let result = loop {
        requests += 1;
        let request = load_request::get(&path, &awaited.organization);
        let response = match client.send_to(host, request).await {
            Ok(response) => response,
            Err(error) => break Err(error.to_string()),
        };
        if response.status == 503 && began.elapsed() < REPEAT_TIMEOUT {
            tokio::time::sleep(REPEAT_DELAY).await;
            continue;
        }
        if response.status != 200 {
            break Err(format!("{}: {}", response.status, response.text()));
        }
        if response.retry_after().is_some() {
            break Err("too many requests wait".to_owned());
        }
        if find_bytes(&response.body, NOT_COMPLETED).is_none() {
            let now = DateTime::<Utc>::from(SystemTime::now());
            let record = response.json();
            let completed = record.get("completed_at").and_then(Value::as_str);
            let completed = completed.unwrap_or_default();
            break DateTime::parse_from_rfc3339(completed)
                .map(|completed| (now - completed.to_utc()).as_seconds_f64() * 1000.0)
                .map_err(|error| format!("completed_at {completed:?}: {error}"));
        }
    };
    PollEnd { requests, result }
}
