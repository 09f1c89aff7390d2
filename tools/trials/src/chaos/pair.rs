//! Two processes that serve and share one Redis.

use crate::failure::Result;
use crate::http::Target;
use crate::process::{Longshored, Process};

/// How many answers came from a process's own buckets and not from Redis.
const FALLBACK: &str = "limiter_fallback_total";
/// 1 while a process does without Redis.
const BREAKER: &str = "limiter_breaker_open";

#[derive(Debug)]
pub struct Pair {
    processes: Vec<Process>,
    pub targets: Vec<Target>,
}

impl Pair {
    /// Starts both; when this returns they take traffic.
    pub async fn start(longshored: &Longshored, name: &str) -> Result<Self> {
        let mut processes = vec![
            longshored.process("serve", &format!("{name}-first"))?,
            longshored.process("serve", &format!("{name}-second"))?,
        ];
        for process in &mut processes {
            process.start()?;
        }
        for process in &mut processes {
            process.ready().await?;
        }
        let targets = processes.iter().map(Process::address).map(Target::new);
        Ok(Self {
            targets: targets.collect(),
            processes,
        })
    }

    pub async fn fallbacks(&self) -> Result<f64> {
        self.sum(FALLBACK).await
    }

    /// How many of them do without Redis at this moment.
    pub async fn open_breakers(&self) -> Result<f64> {
        self.sum(BREAKER).await
    }

    async fn sum(&self, metric: &str) -> Result<f64> {
        let mut sum = 0.0;
        for process in &self.processes {
            sum += process.metrics().await?.sum(metric);
        }
        Ok(sum)
    }
}
