//! Limits on loads: rates and quotas by plan, and the platform's backstop for every project.

use crate::organization::Plan;
use crate::storage_quota::StorageQuota;

/// The largest burst for which the arithmetic of the Redis script is exact.
pub const MAX_BURST: u32 = 100_000_000;

/// The rate limit of a token bucket: its burst, and its refill per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub burst: u32,
    pub per_minute: u32,
}

/// What a plan allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanLimits {
    pub rate: RateLimit,
    /// Tokens in a calendar month (UTC), unless the organization has a custom quota.
    pub monthly_tokens: Option<u64>,
    pub storage: StorageQuota,
}

/// Every plan's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitsByPlan {
    pub free: PlanLimits,
    pub starter: PlanLimits,
    pub pro: PlanLimits,
    pub enterprise: PlanLimits,
}

/// Loads per project, for every plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backstop {
    pub per_minute: u32,
    pub per_hour: u32,
}

impl LimitsByPlan {
    pub const fn for_plan(&self, plan: Plan) -> PlanLimits {
        match plan {
            Plan::Free => self.free,
            Plan::Starter => self.starter,
            Plan::Pro => self.pro,
            Plan::Enterprise => self.enterprise,
        }
    }
}

/// The rates are the contract's; the quotas of tokens and storage are ours.
impl Default for LimitsByPlan {
    fn default() -> Self {
        let plan = |burst, per_minute, monthly_tokens, files, gigabytes: Option<u64>| PlanLimits {
            rate: RateLimit { burst, per_minute },
            monthly_tokens,
            storage: StorageQuota {
                files,
                bytes: gigabytes.map(|count| count << 30),
            },
        };
        Self {
            free: plan(100, 30, Some(5_000_000), Some(100), Some(1)),
            starter: plan(1_000, 120, Some(100_000_000), Some(10_000), Some(50)),
            pro: plan(5_000, 600, Some(1_000_000_000), Some(100_000), Some(500)),
            enterprise: plan(10_000, 60_000, None, None, None),
        }
    }
}

impl Default for Backstop {
    fn default() -> Self {
        Self {
            per_minute: 6_000,
            per_hour: 60_000,
        }
    }
}
