//! Debian's Prometheus for one trial: it scrapes, evaluates rules and answers queries.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::Request;
use serde_json::Value;

use crate::harness::servers::child_process::ChildProgram;
use crate::harness::servers::child_server::ChildServer;
use crate::harness::servers::free_port;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{
    FailureContext as _, HttpClient, PollLimits, Result, TrialFailure, string_field,
};

const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(100));

/// One alerting rule, and whether it fires.
#[derive(Debug, Clone)]
pub struct AlertRuleState {
    pub name: String,
    /// The long window of a rule on a service level; empty for other rules.
    pub window: String,
    pub is_firing: bool,
    /// Why it could not be evaluated; empty when it could.
    pub error: String,
}

/// It is killed on drop.
#[derive(Debug)]
pub struct TrialPrometheusServer {
    pub child: ChildServer,
    address: SocketAddr,
    http: HttpClient,
}

impl TrialPrometheusServer {
    pub async fn start(scratch: &ScratchFolder, config: &str) -> Result<Self> {
        let file = scratch.join("prometheus.yml");
        fs::write(&file, config).context("writing prometheus.yml")?;
        let address = free_port::find_free_address()?;
        let program = ChildProgram::new("prometheus").with_arguments([
            format!("--config.file={}", file.display()),
            format!(
                "--storage.tsdb.path={}",
                scratch.join("prometheus").display()
            ),
            format!("--web.listen-address={address}"),
            "--log.level=warn".to_owned(),
        ]);
        let log_file = scratch.join("prometheus.log");
        let mut started = Self {
            child: ChildServer::new("prometheus", log_file, START_LIMITS),
            address,
            http: HttpClient::default(),
        };
        started.child.spawn(&program)?;
        let (http, url) = (started.http.clone(), format!("http://{address}/-/ready"));
        let ask = async || http.call(Request::get(&url), "").await.map(drop);
        started.child.wait_until_answering(ask).await?;
        Ok(started)
    }

    /// Every alerting rule.
    pub async fn read_alert_rules(&self) -> Result<Vec<AlertRuleState>> {
        let data = self.get("rules?type=alert").await?;
        let groups = data.get("groups").and_then(Value::as_array);
        let groups = groups.context("Prometheus answers without groups of rules")?;
        let rules = groups
            .iter()
            .filter_map(|group| group.get("rules")?.as_array());
        rules.flatten().map(parse_rule).collect()
    }

    /// The values of a query that are numbers.
    pub async fn query(&self, expression: &str) -> Result<Vec<f64>> {
        let data = self
            .get(&format!("query?query={}", percent_encode(expression)))
            .await?;
        let series = data.get("result").and_then(Value::as_array);
        let series = series.context("Prometheus answers without a result")?;
        let values = series.iter().filter_map(|it| {
            let value = it.get("value")?.get(1)?.as_str()?;
            value.parse::<f64>().ok().filter(|it| it.is_finite())
        });
        Ok(values.collect())
    }

    async fn get(&self, path: &str) -> Result<Value> {
        let url = format!("http://{}/api/v1/{path}", self.address);
        let response = self.http.call(Request::get(&url), "").await?;
        let body = response.json();
        if body.get("status").and_then(Value::as_str) != Some("success") {
            return Err(TrialFailure::new(format!("{url}: {body}")));
        }
        let data = body.get("data").cloned();
        data.context(format!("{url}: the answer has no data"))
    }
}

fn parse_rule(rule: &Value) -> Result<AlertRuleState> {
    let window = rule.get("labels").and_then(|it| it.get("window"));
    Ok(AlertRuleState {
        name: string_field(rule, "name")?,
        window: window
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        is_firing: string_field(rule, "state")? == "firing",
        error: string_field(rule, "lastError").unwrap_or_default(),
    })
}

/// Everything but letters and digits.
fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_query_is_encoded_for_a_url() {
        assert_eq!(
            percent_encode("rate(a{b=\"c\"}[5s])"),
            "rate%28a%7Bb%3D%22c%22%7D%5B5s%5D%29"
        );
    }

    #[test]
    fn a_rule_is_read_with_its_window() {
        let rule = json!({"name": "LoadsFail", "state": "firing", "labels": {"window": "1h"}});
        let parsed = parse_rule(&rule).unwrap();
        assert_eq!(
            (parsed.name.as_str(), parsed.window.as_str()),
            ("LoadsFail", "1h")
        );
        assert!(parsed.is_firing && parsed.error.is_empty());
        assert!(parse_rule(&json!({"state": "firing"})).is_err());
    }
}
