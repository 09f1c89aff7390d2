//! How much an organization may load: by its plan, and for everyone by the platform.

use crate::organization::Plan;
use crate::storage::StorageQuota;

/// The largest burst whose arithmetic stays exact where the bucket is kept.
pub const MOST: u32 = 100_000_000;

/// A token bucket: so many at once, refilled at so many per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub burst: u32,
    pub per_minute: u32,
}

/// What a plan allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanLimits {
    pub rate: Rate,
    /// Tokens in a calendar month (UTC), unless the organization has an amount of its own.
    pub monthly_tokens: Option<u64>,
    pub storage: StorageQuota,
}

/// Every plan's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub free: PlanLimits,
    pub starter: PlanLimits,
    pub pro: PlanLimits,
    pub enterprise: PlanLimits,
}

/// Loads per project, whatever its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backstop {
    pub per_minute: u32,
    pub per_hour: u32,
}

impl Limits {
    pub const fn of(&self, plan: Plan) -> PlanLimits {
        match plan {
            Plan::Free => self.free,
            Plan::Starter => self.starter,
            Plan::Pro => self.pro,
            Plan::Enterprise => self.enterprise,
        }
    }
}

/// The contract's rates; the amounts of tokens and of storage are ours.
impl Default for Limits {
    fn default() -> Self {
        let plan = |burst, per_minute, monthly_tokens, files, gigabytes: Option<u64>| PlanLimits {
            rate: Rate { burst, per_minute },
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
