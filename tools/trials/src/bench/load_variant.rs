//! One variant of loading, measured in turns with the others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::load::closed_loop;
use crate::harness::{
    ClosedLoopLoader, LoadRound, MeasuredProcesses, Result, median, report_progress, round_to,
    summarize,
};

/// What is loaded where, and the results so far.
#[derive(Debug)]
pub struct LoadVariant {
    pub name: &'static str,
    pub loader: Arc<ClosedLoopLoader>,
    /// The process that receives the loads.
    pub longshored_pid: Option<u32>,
    pub rates: Vec<f64>,
    all_rounds: LoadRound,
    cpu_shares: Vec<Value>,
}

impl LoadVariant {
    pub fn new(name: &'static str, loader: ClosedLoopLoader, longshored: Option<u32>) -> Self {
        Self {
            name,
            loader: Arc::new(loader),
            longshored_pid: longshored,
            rates: Vec::new(),
            all_rounds: LoadRound::default(),
            cpu_shares: Vec::new(),
        }
    }

    /// Runs one round.
    pub async fn measure(
        &mut self,
        processes: MeasuredProcesses,
        connections: usize,
        length: Duration,
    ) -> Result<()> {
        let processes = MeasuredProcesses {
            longshored: self.longshored_pid,
            ..processes
        };
        let before = processes.read_cpu()?;
        let seen = closed_loop::run(&self.loader, connections, length).await?;
        self.cpu_shares
            .push(before.usage_until(processes.read_cpu()?).machine_shares());
        report_progress(format!(
            "  {:>8.0} a second: {}",
            seen.loads_per_second(),
            self.name
        ));
        self.rates.push(seen.loads_per_second());
        self.all_rounds.merge(seen);
        Ok(())
    }

    pub const fn failures(&self) -> &BTreeMap<String, u64> {
        &self.all_rounds.failures
    }

    /// Its rate as a share of other rates from the same rounds: the median.
    pub fn median_share_of(&self, others: &[f64]) -> f64 {
        median(&mut self.shares_of(others)).unwrap_or_default()
    }

    fn shares_of(&self, others: &[f64]) -> Vec<f64> {
        let pairs = self.rates.iter().zip(others);
        pairs.map(|(ours, other)| ours / other.max(1.0)).collect()
    }

    pub fn to_json(&self, bare: &[f64]) -> Value {
        let by_round: Vec<f64> = self.rates.iter().map(|rate| round_to(*rate, 0)).collect();
        let ratios: Vec<f64> = self
            .shares_of(bare)
            .iter()
            .map(|it| round_to(*it, 3))
            .collect();
        json!({
            "name": self.name,
            "organizations": self.loader.organizations.len(),
            "loads_per_second": median(&mut self.rates.clone()).map(|rate| round_to(rate, 0)),
            "ratio": round_to(self.median_share_of(bare), 3),
            "milliseconds": summarize(&mut self.all_rounds.milliseconds.clone()),
            "loads_by_round": by_round,
            "ratios": ratios,
            "cpu_shares_by_round": self.cpu_shares,
            "failed": self.all_rounds.failures,
        })
    }
}
