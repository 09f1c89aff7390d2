//! Who used how much CPU between two moments.

use std::time::Instant;

use serde_json::{Value, json};

use crate::cpu::{self, Machine};
use crate::failure::Result;
use crate::figures::rounded;

/// The processes whose use is measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parties {
    pub longshored: Option<u32>,
    pub postgres: Option<u32>,
    pub redis: Option<u32>,
}

/// A reading of all meters.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    at: Instant,
    longshored: f64,
    postgres: f64,
    redis: f64,
    ourselves: f64,
    our_ended: f64,
    machine: Machine,
}

impl Parties {
    pub fn read(self) -> Result<Reading> {
        Ok(Reading {
            at: Instant::now(),
            longshored: self.longshored.map_or(Ok(0.0), cpu::of_process)?,
            postgres: self.postgres.map_or(Ok(0.0), cpu::of_family)?,
            redis: self.redis.map_or(Ok(0.0), cpu::of_process)?,
            ourselves: cpu::of_ourselves()?,
            our_ended: cpu::of_our_ended()?,
            machine: Machine::now()?,
        })
    }
}

/// CPU seconds between two readings.
#[derive(Debug, Clone, Copy)]
pub struct Used {
    pub seconds: f64,
    pub longshored: f64,
    pub postgres: f64,
    pub redis: f64,
    /// The loader and the receiver.
    pub ourselves: f64,
    /// Tools that ran to their end, such as pgbench.
    pub tools: f64,
    machine: Machine,
}

impl Reading {
    pub fn until(self, later: Self) -> Used {
        Used {
            seconds: later.at.duration_since(self.at).as_secs_f64(),
            longshored: later.longshored - self.longshored,
            postgres: later.postgres - self.postgres,
            redis: later.redis - self.redis,
            ourselves: later.ourselves - self.ourselves,
            tools: later.our_ended - self.our_ended,
            machine: later.machine - self.machine,
        }
    }
}

impl Used {
    /// The share of the machine that others had.
    pub fn strangers(&self) -> f64 {
        let known = self.longshored + self.postgres + self.redis + self.ourselves + self.tools;
        (self.machine.busy - known).max(0.0) / self.machine.all.max(f64::MIN_POSITIVE)
    }

    /// Each as a share of the whole machine, and how much strangers had of it.
    pub fn shares(&self) -> Value {
        let all = self.machine.all.max(f64::MIN_POSITIVE);
        let share = |seconds: f64| rounded(seconds / all, 3);
        json!({
            "longshored": share(self.longshored),
            "postgres": share(self.postgres),
            "redis": share(self.redis),
            "trials": share(self.ourselves),
            "pgbench": share(self.tools),
            "strangers": rounded(self.strangers(), 3),
            "stolen": share(self.machine.stolen),
        })
    }

    /// CPU seconds per thousand cargo.
    pub fn per_thousand(&self, cargo: f64) -> Value {
        let per = |seconds: f64| rounded(seconds * 1000.0 / cargo.max(1.0), 3);
        json!({
            "longshored": per(self.longshored),
            "postgres": per(self.postgres),
            "redis": per(self.redis),
            "trials": per(self.ourselves),
        })
    }
}
