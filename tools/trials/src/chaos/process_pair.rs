//! Two `serve` processes that share one Redis.

use crate::harness::{LongshoredProcess, LongshoredProgram, Result, ServiceClient};

/// How many loads a process decided with its local buckets instead of Redis.
const FALLBACK_METRIC: &str = "longshore_rate_limit_fallback_checks_total";
/// 1 while a process works without Redis.
const BREAKER_METRIC: &str = "longshore_rate_limit_circuit_breaker_open";

#[derive(Debug)]
pub struct ProcessPair {
    processes: Vec<LongshoredProcess>,
    pub clients: Vec<ServiceClient>,
}

impl ProcessPair {
    /// Starts both; they accept traffic when this returns.
    pub async fn start(longshored: &LongshoredProgram, name: &str) -> Result<Self> {
        let mut processes = vec![
            longshored.new_process("serve", &format!("{name}-first"))?,
            longshored.new_process("serve", &format!("{name}-second"))?,
        ];
        for process in &mut processes {
            process.start()?;
        }
        for process in &mut processes {
            process.wait_until_ready().await?;
        }
        let targets = processes
            .iter()
            .map(LongshoredProcess::address)
            .map(ServiceClient::new);
        Ok(Self {
            clients: targets.collect(),
            processes,
        })
    }

    pub async fn count_fallbacks(&self) -> Result<f64> {
        self.sum_metric(FALLBACK_METRIC).await
    }

    /// How many of the processes work without Redis now.
    pub async fn count_open_breakers(&self) -> Result<f64> {
        self.sum_metric(BREAKER_METRIC).await
    }

    async fn sum_metric(&self, metric: &str) -> Result<f64> {
        let mut sum = 0.0;
        for process in &self.processes {
            sum += process.scrape_metrics().await?.sum(metric);
        }
        Ok(sum)
    }
}
