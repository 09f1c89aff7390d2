//! Reads `/ready` while a server is down: it must report degraded and name that server.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::build_profile;
use crate::harness::http::service_client;

const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// The responses of `/ready` during one outage.
#[derive(Debug, Default)]
pub struct ReadinessReport {
    pub probes: u64,
    /// When all processes first reported the outage correctly.
    pub noticed_after: Option<Duration>,
    /// Wrong responses after that.
    pub wrong: Vec<String>,
    /// Responses that name another server, too: one that answers late looks as if it was down.
    pub named_others: usize,
    /// Probes without a response after that.
    pub unanswered: usize,
}

/// What is wrong with the answer to a probe.
#[derive(Debug, PartialEq, Eq)]
enum ReadinessError {
    Unanswered,
    NamesOthers,
    Wrong(String),
}

/// Probes every process for `during`, and until all have reported the outage.
pub async fn watch_readiness(
    addresses: &[SocketAddr],
    missing: &str,
    during: Duration,
) -> ReadinessReport {
    let begun = Instant::now();
    let mut report = ReadinessReport::default();
    let is_over = |elapsed: Duration, report: &ReadinessReport| {
        elapsed >= during
            && (report.noticed_after.is_some() || elapsed >= build_profile::extend_timeout(during))
    };
    while !is_over(begun.elapsed(), &report) {
        let mut errors = Vec::new();
        for address in addresses {
            report.probes += 1;
            let error = match service_client::fetch_readiness(*address).await {
                Ok(answer) => find_readiness_error(answer.status, &answer.json(), missing),
                Err(_) => Some(ReadinessError::Unanswered),
            };
            errors.extend(error);
        }
        report.record(errors, begun.elapsed());
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
    report
}

impl ReadinessReport {
    /// The errors of one probe of each process.
    fn record(&mut self, errors: Vec<ReadinessError>, elapsed: Duration) {
        if self.noticed_after.is_none() {
            self.noticed_after = errors.is_empty().then_some(elapsed);
            return;
        }
        for error in errors {
            match error {
                ReadinessError::Unanswered => self.unanswered += 1,
                ReadinessError::NamesOthers => self.named_others += 1,
                ReadinessError::Wrong(response) => self.wrong.push(response),
            }
        }
    }
}

/// What is wrong with this response while `missing` is down.
fn find_readiness_error(status: u16, body: &Value, missing: &str) -> Option<ReadinessError> {
    let wrong = |what: &str| Some(ReadinessError::Wrong(format!("{what}: {body}")));
    if status != 200 {
        return wrong(&format!("status {status}"));
    }
    if body.get("status").and_then(Value::as_str) != Some("degraded") {
        return wrong("not degraded");
    }
    let rows = body
        .get("dependencies")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let is_named = |row: &Value| {
        let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
        name.split(|separator: char| !separator.is_alphanumeric())
            .any(|word| word == missing)
    };
    let is_well = |row: &Value| row.get("state").and_then(Value::as_str) == Some("ok");
    let named = rows.iter().any(|row| is_named(row) && !is_well(row));
    let others_well = rows.iter().filter(|row| !is_named(row)).all(is_well);
    if !named {
        return wrong(&format!("does not name {missing}"));
    }
    (!others_well).then_some(ReadinessError::NamesOthers)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_missing_one_alone_must_be_named() {
        let error_for = |north: &str, south: &str| {
            let rows = json!([
                {"name":"control","state":"ok","latency_ms":1},
                {"name":"shard north","state":north,"latency_ms":1},
                {"name":"shard south","state":south,"latency_ms":null},
            ]);
            find_readiness_error(
                200,
                &json!({"status":"degraded","dependencies":rows}),
                "south",
            )
        };
        assert_eq!(error_for("ok", "missing"), None);
        assert_eq!(
            error_for("missing", "missing"),
            Some(ReadinessError::NamesOthers)
        );
        assert!(error_for("missing", "ok").is_some());
        assert!(error_for("ok", "ok").is_some());
        assert!(find_readiness_error(503, &json!({}), "south").is_some());
        assert!(find_readiness_error(200, &json!({"status":"ok"}), "south").is_some());
    }

    #[test]
    fn only_wrong_responses_after_the_first_right_one_are_wrong() {
        let wrong = || ReadinessError::Wrong("not degraded".to_owned());
        let mut report = ReadinessReport::default();
        let second = Duration::from_secs(1);
        report.record(vec![wrong()], second);
        report.record(Vec::new(), 2 * second);
        report.record(
            vec![ReadinessError::Unanswered, ReadinessError::NamesOthers],
            3 * second,
        );
        assert_eq!(report.noticed_after, Some(2 * second));
        assert_eq!((report.unanswered, report.named_others), (1, 1));
        assert!(report.wrong.is_empty());
        report.record(vec![wrong()], 4 * second);
        assert_eq!(report.wrong.len(), 1);
    }
}
