//! Compares what the restored database knows, what the report names, and every 202 of the trial.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::harness::{FailureContext as _, Result, TrialVerdict, judge, round_to, to_f64};

/// What `longshored admin recovery report` printed.
#[derive(Debug, Default)]
pub struct RecoveryReport {
    pub cargo: HashSet<u128>,
    /// Ids at providers.
    pub jobs: HashSet<String>,
    /// Keys in the bucket.
    pub objects: HashSet<String>,
    pub summary: Value,
}

impl RecoveryReport {
    pub fn parse(text: &str) -> Result<Self> {
        let mut report = Self::default();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).context("reading the report")?;
            let field = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
            match field("kind") {
                "cargo" => {
                    report.cargo.extend(parse_cargo_id(field("cargo_id")));
                }
                "job" => {
                    report.jobs.insert(field("job").to_owned());
                }
                "object" => {
                    report.objects.insert(field("key").to_owned());
                }
                "summary" => report.summary = line,
                _ => {}
            }
        }
        Ok(report)
    }
}

fn parse_cargo_id(text: &str) -> Option<u128> {
    u128::from_str_radix(text.strip_prefix("crg_")?, 16).ok()
}

/// Cargo that was answered with 202 and has no row after the restore.
#[derive(Debug, Default)]
pub struct LostCargo {
    /// By model, which is the cause: where the cargo was.
    lost: BTreeMap<&'static str, usize>,
    unnamed: BTreeMap<&'static str, usize>,
}

impl LostCargo {
    pub fn add(&mut self, model: &'static str, is_named: bool) {
        *self.lost.entry(model).or_default() += 1;
        *self.unnamed.entry(model).or_default() += usize::from(!is_named);
    }

    pub fn count(&self) -> usize {
        self.lost.values().sum()
    }

    fn unnamed_share(&self) -> f64 {
        let unnamed: usize = self.unnamed.values().sum();
        round_to(to_f64(unnamed) / to_f64(self.count().max(1)), 3)
    }

    pub fn judge(&self, report: &RecoveryReport, verdict: &mut TrialVerdict) {
        let unnamed: usize = self.unnamed.values().sum();
        judge! { verdict;
            record "lost" => self.count(),
            record "lost_by_model" => json!(self.lost),
            record "unnamed" => unnamed,
            record "unnamed_share" => self.unnamed_share(),
            record "unnamed_by_model" => json!(self.unnamed),
            record "report" => report.summary.clone(),
            check "cargo of the later half is lost" => self.count() > 0,
            check "the report names jobs without rows" => !report.jobs.is_empty(),
            check "the report names cargo of these jobs" => unnamed < self.count(),
        }
    }
}
