//! CPU seconds of each process between two readings.

use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::Result;
use crate::harness::measurement::cpu_time::{self, MachineCpuTime};
use crate::harness::measurement::statistics::round_to;

/// The processes whose CPU time is measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeasuredProcesses {
    pub longshored: Option<u32>,
    pub postgres: Option<u32>,
    pub redis: Option<u32>,
}

/// One reading of every process and of the machine.
#[derive(Debug, Clone, Copy)]
pub struct CpuReading {
    read_at: Instant,
    longshored: f64,
    postgres: f64,
    redis: f64,
    trials: f64,
    ended_tools: f64,
    machine: MachineCpuTime,
}

impl MeasuredProcesses {
    pub fn read_cpu(self) -> Result<CpuReading> {
        Ok(CpuReading {
            read_at: Instant::now(),
            longshored: self
                .longshored
                .map_or(Ok(0.0), cpu_time::process_cpu_seconds)?,
            postgres: self
                .postgres
                .map_or(Ok(0.0), cpu_time::process_tree_cpu_seconds)?,
            redis: self.redis.map_or(Ok(0.0), cpu_time::process_cpu_seconds)?,
            trials: cpu_time::own_cpu_seconds()?,
            ended_tools: cpu_time::ended_children_cpu_seconds()?,
            machine: MachineCpuTime::read()?,
        })
    }
}

/// CPU seconds between two readings.
#[derive(Debug, Clone, Copy)]
pub struct CpuUsage {
    pub seconds: f64,
    pub longshored: f64,
    pub postgres: f64,
    pub redis: f64,
    /// The load generator and the callback sink.
    pub trials: f64,
    /// Tools that have exited, such as pgbench.
    pub tools: f64,
    machine: MachineCpuTime,
}

impl CpuReading {
    pub fn usage_until(self, later: Self) -> CpuUsage {
        CpuUsage {
            seconds: later.read_at.duration_since(self.read_at).as_secs_f64(),
            longshored: later.longshored - self.longshored,
            postgres: later.postgres - self.postgres,
            redis: later.redis - self.redis,
            trials: later.trials - self.trials,
            tools: later.ended_tools - self.ended_tools,
            machine: later.machine - self.machine,
        }
    }
}

impl CpuUsage {
    /// The share of the machine that all other processes used.
    pub fn other_processes_share(&self) -> f64 {
        let known = self.longshored + self.postgres + self.redis + self.trials + self.tools;
        (self.machine.busy - known).max(0.0) / self.machine.total.max(f64::MIN_POSITIVE)
    }

    /// Each process as a share of the whole machine.
    pub fn machine_shares(&self) -> Value {
        let all = self.machine.total.max(f64::MIN_POSITIVE);
        let share = |seconds: f64| round_to(seconds / all, 3);
        json!({
            "longshored": share(self.longshored),
            "postgres": share(self.postgres),
            "redis": share(self.redis),
            "trials": share(self.trials),
            "pgbench": share(self.tools),
            "other_processes": round_to(self.other_processes_share(), 3),
            "stolen": share(self.machine.stolen),
        })
    }

    /// CPU seconds per thousand cargo.
    pub fn per_thousand_cargo(&self, cargo: f64) -> Value {
        let per = |seconds: f64| round_to(seconds * 1000.0 / cargo.max(1.0), 3);
        json!({
            "longshored": per(self.longshored),
            "postgres": per(self.postgres),
            "redis": per(self.redis),
            "trials": per(self.trials),
        })
    }
}
