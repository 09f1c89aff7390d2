//! One way of loading, measured round after round beside the others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::account::Parties;
use crate::bench::closed::{self, Loader};
use crate::failure::Result;
use crate::figures::{median, percentile, rounded, spread};
use crate::progress::say;

/// What is loaded where, and what came of it so far.
#[derive(Debug)]
pub struct Variant {
    pub name: &'static str,
    pub loader: Arc<Loader>,
    /// The process that it loads on.
    pub longshored: Option<u32>,
    pub rates: Vec<f64>,
    milliseconds: Vec<f64>,
    failures: BTreeMap<String, u64>,
    shares: Vec<Value>,
}

impl Variant {
    pub fn new(name: &'static str, loader: Loader, longshored: Option<u32>) -> Self {
        Self {
            name,
            loader: Arc::new(loader),
            longshored,
            rates: Vec::new(),
            milliseconds: Vec::new(),
            failures: BTreeMap::new(),
            shares: Vec::new(),
        }
    }

    /// One round of it.
    pub async fn measure(
        &mut self,
        parties: Parties,
        connections: usize,
        length: Duration,
    ) -> Result<()> {
        let parties = Parties {
            longshored: self.longshored,
            ..parties
        };
        let before = parties.read()?;
        let seen = closed::run(&self.loader, connections, length).await?;
        self.shares.push(before.until(parties.read()?).shares());
        say(format!("  {:>8.0} a second: {}", seen.rate(), self.name));
        self.rates.push(seen.rate());
        self.milliseconds.extend(seen.milliseconds);
        for (reason, count) in seen.failures {
            *self.failures.entry(reason).or_default() += count;
        }
        Ok(())
    }

    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Its rate as a share of others measured in the same rounds: the median of all rounds.
    pub fn share_of(&self, others: &[f64]) -> f64 {
        median(&mut self.shares_of(others)).unwrap_or_default()
    }

    fn shares_of(&self, others: &[f64]) -> Vec<f64> {
        let pairs = self.rates.iter().zip(others);
        pairs.map(|(ours, other)| ours / other.max(1.0)).collect()
    }

    /// One row of the table.
    pub fn figures(&self, bare: &[f64]) -> Value {
        let by_round: Vec<f64> = self.rates.iter().map(|rate| rounded(*rate, 0)).collect();
        let ratios: Vec<f64> = self
            .shares_of(bare)
            .iter()
            .map(|it| rounded(*it, 3))
            .collect();
        json!({
            "name": self.name,
            "organizations": self.loader.organizations.len(),
            "loads_per_second": median(&mut self.rates.clone()).map(|rate| rounded(rate, 0)),
            "ratio": rounded(self.share_of(bare), 3),
            "milliseconds": spread(&mut self.milliseconds.clone()),
            "loads_by_round": by_round,
            "ratios": ratios,
            "cpu_shares_by_round": self.shares,
            "failed": self.failures,
        })
    }

    /// The same for people.
    pub fn line(&self, bare: &[f64]) -> String {
        let rate = median(&mut self.rates.clone()).unwrap_or_default();
        let mut milliseconds = self.milliseconds.clone();
        let mut at = |thousandths| percentile(&mut milliseconds, thousandths).unwrap_or_default();
        let (usual, slow) = (at(500), at(990));
        format!(
            "{:<40} {rate:>7.0} {:>6.3} {:>8.1} {:>8.1}",
            self.name,
            self.share_of(bare),
            usual,
            slow,
        )
    }
}
