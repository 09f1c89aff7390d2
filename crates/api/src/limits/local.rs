//! The buckets of this process, for when Redis is away: each node grants its share of the limit.
//!
//! A request weighs as much as there are nodes, so burst and refill are divided
//! without a remainder. A bucket begins at the level that Redis last told.

use domain::bucket::{Bucket, Level};
use domain::id::{OrganizationId, ProjectId};
use domain::limit::Rate;
use domain::window::Windows;
use outbound::counters::{Asks, Grants, Taken};
use quick_cache::unsync::Cache;

/// How many organizations and projects are remembered; those not heard of for long go first.
const KEPT: usize = 100_000;

#[derive(Debug)]
pub(super) struct Local {
    buckets: Cache<OrganizationId, Bucket>,
    windows: Cache<ProjectId, Windows>,
}

impl Default for Local {
    fn default() -> Self {
        Self {
            buckets: Cache::new(KEPT),
            windows: Cache::new(KEPT),
        }
    }
}

/// What a request weighs. A share of less than one request would grant none, ever.
pub(super) fn weight(nodes: u32, rate: Rate) -> u32 {
    nodes.min(rate.burst).max(1)
}

impl Local {
    /// What Redis says is in a bucket.
    pub(super) fn learn(&mut self, organization: OrganizationId, level: Level, now: i64) {
        let bucket = Bucket { level, at: now };
        self.buckets.insert(organization, bucket);
    }

    pub(super) fn grant(&mut self, asks: &Asks, nodes: u32, now: i64) -> Grants {
        let buckets = asks.buckets.iter().map(|ask| {
            let mut bucket = self.bucket(ask.organization, ask.rate, now);
            let granted = bucket.take(ask.wanted, weight(nodes, ask.rate));
            self.buckets.insert(ask.organization, bucket);
            let level = bucket.level;
            Taken { granted, level }
        });
        let buckets = buckets.collect();
        let windows = asks.windows.iter().map(|ask| {
            let mut windows = self.windows.get(&ask.project).copied().unwrap_or_default();
            let granted = windows.count(ask.backstop, ask.wanted, nodes, now);
            self.windows.insert(ask.project, windows);
            granted
        });
        Grants {
            buckets,
            windows: windows.collect(),
        }
    }

    pub(super) fn give_back(
        &mut self,
        organization: OrganizationId,
        rate: Rate,
        count: u32,
        nodes: u32,
        now: i64,
    ) {
        let mut bucket = self.bucket(organization, rate, now);
        bucket.give_back(rate, count, weight(nodes, rate));
        self.buckets.insert(organization, bucket);
    }

    fn bucket(&self, organization: OrganizationId, rate: Rate, now: i64) -> Bucket {
        let known = self.buckets.get(&organization).copied();
        let mut bucket = known.unwrap_or_else(|| Bucket::full(rate, now));
        bucket.refill(rate, now);
        bucket
    }
}
