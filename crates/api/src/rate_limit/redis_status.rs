//! Whether Redis is reachable, for `/ready` and the metrics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The result of the last call to Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisReachability {
    Unknown,
    Reachable { latency: Duration },
    Unreachable,
}

const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct RedisStatus {
    is_configured: bool,
    is_unreachable: AtomicBool,
    /// Microseconds of the last call.
    latency_micros: AtomicU64,
    fallbacks: AtomicU64,
}

impl RedisStatus {
    pub(super) fn new(is_wanted: bool) -> Self {
        metrics::gauge!("longshore_rate_limit_circuit_breaker_open").set(0.0);
        Self {
            is_configured: is_wanted,
            is_unreachable: AtomicBool::new(false),
            latency_micros: AtomicU64::new(NEVER),
            fallbacks: AtomicU64::new(0),
        }
    }

    pub(super) fn reachability(&self) -> Option<RedisReachability> {
        let latency = self.latency_micros.load(Ordering::Relaxed);
        let contact = if self.is_unreachable.load(Ordering::Relaxed) {
            RedisReachability::Unreachable
        } else if latency == NEVER {
            RedisReachability::Unknown
        } else {
            let latency = Duration::from_micros(latency);
            RedisReachability::Reachable { latency }
        };
        self.is_configured.then_some(contact)
    }

    pub(super) fn fallbacks(&self) -> u64 {
        self.fallbacks.load(Ordering::Relaxed)
    }

    pub(super) fn record_answer(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(NEVER - 1);
        self.latency_micros.store(micros, Ordering::Relaxed);
    }

    pub(super) fn record_unreachable(&self) {
        self.is_unreachable.store(true, Ordering::Relaxed);
        metrics::gauge!("longshore_rate_limit_circuit_breaker_open").set(1.0);
    }

    pub(super) fn record_recovered(&self) {
        self.is_unreachable.store(false, Ordering::Relaxed);
        metrics::gauge!("longshore_rate_limit_circuit_breaker_open").set(0.0);
    }

    /// Counts checks that were answered locally.
    pub(super) fn record_fallbacks(&self, checks: u64) {
        if self.is_configured {
            self.fallbacks.fetch_add(checks, Ordering::Relaxed);
            metrics::counter!("longshore_rate_limit_fallback_checks_total").increment(checks);
        }
    }
}
