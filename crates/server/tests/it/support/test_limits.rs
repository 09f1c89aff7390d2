//! The rate limits of a test's service. The defaults are so high that no test reaches them.

use std::sync::Arc;
use std::time::Duration;

use api::rate_limit::{RateLimiterOptions, RouteLimits};
use domain::plan_limits::{Backstop, LimitsByPlan, RateLimit};
use outbound::rate_limits::RedisRateLimiter;
use store::control::node::ServingNode;
use test_support::clock::ManualClock;

/// Of the pool of each shard.
pub(crate) const SHARD_CONNECTIONS: u32 = 8;

#[derive(Debug, Clone)]
pub(crate) struct TestLimits {
    /// The URL of Redis. Without it, each process enforces its own share of every limit.
    pub(crate) redis: Option<String>,
    pub(crate) plan_limits: LimitsByPlan,
    pub(crate) backstop: Backstop,
    pub(crate) route_limits: RouteLimits,
    /// Long enough that no call times out on a busy machine.
    pub(crate) redis_timeout: Duration,
    /// At most three quarters of them may wait.
    pub(crate) max_connections: usize,
    /// Whether the listen tunnel is on.
    pub(crate) allows_listeners: bool,
}

const UNLIMITED_RATE: u32 = 10_000_000;

impl Default for TestLimits {
    fn default() -> Self {
        let mut limits = LimitsByPlan::default();
        let LimitsByPlan {
            free,
            starter,
            pro,
            enterprise,
        } = &mut limits;
        for plan in [free, starter, pro, enterprise] {
            plan.rate = RateLimit {
                burst: UNLIMITED_RATE,
                per_minute: UNLIMITED_RATE,
            };
        }
        Self {
            redis: None,
            plan_limits: limits,
            backstop: Backstop {
                per_minute: UNLIMITED_RATE,
                per_hour: UNLIMITED_RATE,
            },
            route_limits: RouteLimits {
                reads_per_minute: UNLIMITED_RATE,
                file_writes_per_minute: UNLIMITED_RATE,
            },
            redis_timeout: Duration::from_secs(20),
            max_connections: 8192,
            allows_listeners: true,
        }
    }
}

impl TestLimits {
    /// The contract's limits for each plan, counted in this Redis.
    pub(crate) fn with_redis(url: String) -> Self {
        Self {
            redis: Some(url),
            plan_limits: LimitsByPlan::default(),
            ..Self::default()
        }
    }

    pub(super) fn redis_rate_limiter(&self) -> Option<RedisRateLimiter> {
        let url = self.redis.as_ref()?;
        Some(RedisRateLimiter::new(url).unwrap())
    }

    /// The token buckets use the manual clock too.
    pub(super) fn rate_limiter_options(&self, clock: &Arc<ManualClock>) -> RateLimiterOptions {
        RateLimiterOptions {
            backstop: self.backstop,
            redis_timeout: self.redis_timeout,
            clock: Some(clock.clone()),
        }
    }
}

pub(super) fn serving_node() -> ServingNode {
    ServingNode {
        id: uuid::Uuid::from_u64_pair(rand::random(), rand::random()),
        name: "test".to_owned(),
    }
}
