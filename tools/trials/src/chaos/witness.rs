//! Reads `/ready` while a server is away: it must say degraded and name the missing one.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http;

const PROBE: Duration = Duration::from_millis(500);

/// What `/ready` said during one outage.
#[derive(Debug, Default)]
pub struct Testimony {
    pub probes: u64,
    /// When every process had it right for the first time.
    pub noticed: Option<Duration>,
    /// What was said after that, where it was wrong.
    pub wrong: Vec<String>,
}

/// Probes every process for so long.
pub async fn watch(addresses: &[SocketAddr], missing: &str, during: Duration) -> Testimony {
    let begun = Instant::now();
    let mut testimony = Testimony::default();
    while begun.elapsed() < during {
        let mut complaint = None;
        for address in addresses {
            testimony.probes += 1;
            let said = match http::readiness(*address).await {
                Ok(answer) => complaint_about(answer.status, &answer.json(), missing),
                Err(error) => Some(error.to_string()),
            };
            complaint = complaint.or(said);
        }
        match (complaint, testimony.noticed) {
            (None, None) => testimony.noticed = Some(begun.elapsed()),
            (Some(complaint), Some(_)) => testimony.wrong.push(complaint),
            (None, Some(_)) | (Some(_), None) => {}
        }
        tokio::time::sleep(PROBE).await;
    }
    testimony
}

/// What is wrong with this answer while `missing` is away.
fn complaint_about(status: u16, body: &Value, missing: &str) -> Option<String> {
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
        let said = |north: &str, south: &str| {
            let rows = json!([
                {"name":"control","state":"ok","latency_ms":1},
                {"name":"shard north","state":north,"latency_ms":1},
                {"name":"shard south","state":south,"latency_ms":null},
            ]);
            complaint_about(
                200,
                &json!({"status":"degraded","dependencies":rows}),
                "south",
            )
        };
        assert_eq!(said("ok", "missing"), None);
        assert!(said("missing", "missing").is_some());
        assert!(said("missing", "ok").is_some());
        assert!(said("ok", "ok").is_some());
        assert!(complaint_about(503, &json!({}), "south").is_some());
        assert!(complaint_about(200, &json!({"status":"ok"}), "south").is_some());
    }
}
