//! Watches Prometheus: which rules fire, and which queries of the dashboards return data.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chaos::alerts::early_alerts::{self, FaultStart};
use crate::chaos::alerts::fault_table::{AlertFault, alert_of};
use crate::harness::measurement::statistics;
use crate::harness::{
    AlertRuleState, FailureContext as _, Result, TrialPrometheusServer, TrialVerdict, judge,
    report_progress,
};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Longer than any alert needs, so that a slow machine does not fail the trial.
const FIRE_TIMEOUT: Duration = Duration::from_mins(3);
/// What Grafana calls `$__rate_interval`: some scrapes.
const RATE_INTERVAL: &str = "10s";

/// The rules that fired during one fault.
#[derive(Debug)]
struct FaultRecord {
    fault: &'static str,
    seconds: f64,
    fired: BTreeSet<String>,
    silent: BTreeSet<String>,
}

/// A fault that is about to be caused.
#[derive(Debug)]
pub struct ExpectedAlerts {
    fault: AlertFault,
    began_at: Instant,
}

#[derive(Debug)]
pub struct AlertMonitor {
    prometheus: TrialPrometheusServer,
    rules: BTreeSet<String>,
    rule_errors: BTreeSet<String>,
    queries: usize,
    /// Queries that have not returned a number yet.
    unanswered: BTreeSet<String>,
    /// In the order of the faults.
    starts: Vec<FaultStart>,
    records: Vec<FaultRecord>,
}

impl AlertMonitor {
    /// For the dashboards in this folder.
    pub fn new(prometheus: TrialPrometheusServer, dashboards: &Path) -> Result<Self> {
        let unanswered = read_queries(dashboards)?;
        Ok(Self {
            prometheus,
            rules: BTreeSet::new(),
            rule_errors: BTreeSet::new(),
            queries: unanswered.len(),
            unanswered,
            starts: Vec::new(),
            records: Vec::new(),
        })
    }

    /// Called before a fault.
    pub async fn expect(&mut self, fault: AlertFault) -> Result<ExpectedAlerts> {
        report_progress(format!("fault: {}", fault.name));
        let firing = self.observe().await?;
        self.starts.push(FaultStart { fault, firing });
        for alert in fault.alerts {
            if !self.rules.iter().any(|rule| alert_of(rule) == *alert) {
                self.rule_errors.insert(format!("{alert} has no rule"));
            }
        }
        Ok(ExpectedAlerts {
            fault,
            began_at: Instant::now(),
        })
    }

    /// Waits until every rule of the fault's alerts fires. A rule that stays silent is part of the
    /// verdict.
    pub async fn wait_until_firing(&mut self, expected: ExpectedAlerts) -> Result<()> {
        let ExpectedAlerts { fault, began_at } = expected;
        let mut fired = BTreeSet::new();
        loop {
            let firing = self.observe().await?;
            fired.extend(firing.into_iter().filter(|it| fault.covers(it)));
            let silent = self.rules.difference(&fired);
            let silent: BTreeSet<String> = silent.filter(|it| fault.covers(it)).cloned().collect();
            if silent.is_empty() || began_at.elapsed() > FIRE_TIMEOUT {
                self.records.push(FaultRecord {
                    fault: fault.name,
                    seconds: statistics::round_to(began_at.elapsed().as_secs_f64(), 1),
                    fired,
                    silent,
                });
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until none of the fault's alerts fires.
    pub async fn wait_until_silent(&mut self, fault: AlertFault) -> Result<()> {
        let began_at = Instant::now();
        while self.observe().await?.iter().any(|it| fault.covers(it)) {
            if began_at.elapsed() > FIRE_TIMEOUT {
                let still = format!("{}: its alerts do not end after the repair", fault.name);
                self.rule_errors.insert(still);
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Waits until every query has returned a number once.
    pub async fn wait_for_queries(&mut self, limit: Duration) -> Result<()> {
        let began_at = Instant::now();
        while !self.unanswered.is_empty() && began_at.elapsed() < limit {
            self.observe().await?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    pub fn has_unanswered_queries(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Reads all rules, and asks the queries that have returned nothing yet. Returns the rules that
    /// fire.
    async fn observe(&mut self) -> Result<BTreeSet<String>> {
        let mut firing = BTreeSet::new();
        for rule in self.prometheus.read_alert_rules().await? {
            let name = rule_name(&rule);
            if !rule.error.is_empty() {
                self.rule_errors.insert(format!("{name}: {}", rule.error));
            }
            if rule.is_firing {
                firing.insert(name.clone());
            }
            self.rules.insert(name);
        }
        let mut unanswered = BTreeSet::new();
        for query in std::mem::take(&mut self.unanswered) {
            if self.prometheus.query(&query).await?.is_empty() {
                unanswered.insert(query);
            }
        }
        self.unanswered = unanswered;
        Ok(firing)
    }

    /// A full run has a fault for every rule.
    pub fn judge(&self, verdict: &mut TrialVerdict, is_full: bool) {
        let fired: BTreeSet<&String> = self.records.iter().flat_map(|it| &it.fired).collect();
        let silent = self.records.iter().flat_map(|it| it.silent.iter().cloned());
        let untried = self.rules.iter().filter(|it| !fired.contains(it)).cloned();
        let silent: BTreeSet<String> = if is_full {
            silent.chain(untried).collect()
        } else {
            silent.collect()
        };
        let list = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<String>>();
        judge! { verdict;
            record "rules" => self.rules.len(),
            record "rules_that_fired" => fired.len(),
            record "queries" => self.queries,
            record "queries_with_data" => self.queries - self.unanswered.len(),
            record "faults" => self.records.iter().map(FaultRecord::to_json).collect::<Value>(),
            record "firing_before" => self.starts.iter().map(FaultStart::to_json).collect::<Value>(),
            check "rules were loaded" => !self.rules.is_empty(),
        }
        verdict
            .check_none(
                "every alert fires when its fault happens",
                "silent",
                &list(&silent),
            )
            .check_none(
                "no alert fires before its fault",
                "early",
                &list(&early_alerts::find(&self.starts)),
            )
            .check_none(
                "every rule is evaluated, and ends after the repair",
                "rule_errors",
                &list(&self.rule_errors),
            )
            .check_none(
                "every query of the dashboards returns data",
                "queries_without_data",
                &list(&self.unanswered),
            );
    }
}

impl FaultRecord {
    fn to_json(&self) -> Value {
        json!({
            "fault": self.fault,
            "seconds": self.seconds,
            "fired": self.fired,
        })
    }
}

/// An alert on a service level has a rule for each window.
fn rule_name(rule: &AlertRuleState) -> String {
    let AlertRuleState { name, window, .. } = rule;
    if window.is_empty() {
        return name.clone();
    }
    format!("{name} {window}")
}

/// The expressions of all panels.
fn read_queries(folder: &Path) -> Result<BTreeSet<String>> {
    let mut queries = BTreeSet::new();
    let files = fs::read_dir(folder).context("listing the dashboards")?;
    for file in files {
        let file = file.context("listing the dashboards")?.path();
        let text = fs::read_to_string(&file).context("reading a dashboard")?;
        let here = parse_queries(&text).context(file.display())?;
        queries.extend(here);
    }
    Ok(queries)
}

fn parse_queries(dashboard: &str) -> Result<Vec<String>> {
    let dashboard: Value = serde_json::from_str(dashboard).context("reading a dashboard")?;
    let panels = dashboard.get("panels").and_then(Value::as_array);
    let panels = panels.context("a dashboard has no panels")?;
    let targets = panels
        .iter()
        .filter_map(|panel| panel.get("targets")?.as_array());
    let expressions = targets
        .flatten()
        .filter_map(|target| target.get("expr")?.as_str());
    let queries = expressions.map(|it| it.replace("$__rate_interval", RATE_INTERVAL));
    Ok(queries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::alerts::fault_table::{DAY_LOST, REDIS_KILLED};

    #[test]
    fn a_rule_belongs_to_the_fault_of_its_alert() {
        let rule = AlertRuleState {
            name: "LongshoreCallbacksLate".to_owned(),
            window: "1h".to_owned(),
            is_firing: true,
            error: String::new(),
        };
        assert_eq!(rule_name(&rule), "LongshoreCallbacksLate 1h");
        assert!(DAY_LOST.covers(&rule_name(&rule)));
        assert!(!REDIS_KILLED.covers(&rule_name(&rule)));
    }

    #[test]
    fn a_dashboard_has_queries_without_variables() {
        let overview = include_str!("../../../../../monitoring/grafana/overview.json");
        let queries = parse_queries(overview).unwrap();
        assert!(queries.len() >= 10, "{}", queries.len());
        assert!(!queries.iter().any(|query| query.contains('$')));
        assert!(parse_queries("{}").is_err());
    }
}
