//! Reads `/ready` while a server is down: it must report degraded and name that server.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

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
}

/// Probes every process for `during`.
pub async fn watch_readiness(
    addresses: &[SocketAddr],
    missing: &str,
    during: Duration,
) -> ReadinessReport {
    let begun = Instant::now();
    let mut report = ReadinessReport::default();
    while begun.elapsed() < during {
        let mut complaint = None;
        for address in addresses {
            report.probes += 1;
            let error = match service_client::fetch_readiness(*address).await {
                Ok(answer) => find_readiness_error(answer.status, &answer.json(), missing),
                Err(error) => Some(error.to_string()),
            };
            complaint = complaint.or(error);
        }
        match (complaint, report.noticed_after) {
            (None, None) => report.noticed_after = Some(begun.elapsed()),
            (Some(complaint), Some(_)) => report.wrong.push(complaint),
            (None, Some(_)) | (Some(_), None) => {}
        }
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
    report
}

/// What is wrong with this response while `missing` is down.
fn find_readiness_error(status: u16, body: &Value, missing: &str) -> Option<String> {
    if status != 200 {
        return Some(format!("status {status}: {body}"));
    }
    if body.get("status").and_then(Value::as_str) != Some("degraded") {
        return Some(format!("not degraded: {body}"));
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
    (!named || !others_well).then(|| format!("does not name {missing} alone: {body}"))
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
        assert!(error_for("missing", "missing").is_some());
        assert!(error_for("missing", "ok").is_some());
        assert!(error_for("ok", "ok").is_some());
        assert!(find_readiness_error(503, &json!({}), "south").is_some());
        assert!(find_readiness_error(200, &json!({"status":"ok"}), "south").is_some());
    }
}
