//! What the provider would bill: tokens by model, tier and price.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::usage::SimulatedUsage;

/// The price list that a request falls under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SimulatedTier {
    Batch,
    Flex,
    Standard,
}

/// The sum of one model in one tier. The first five counts are disjoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulatedBillLine {
    pub model: String,
    pub tier: SimulatedTier,
    pub requests: u64,
    /// Input that no cache touched.
    pub fresh: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
    /// Output with thoughts.
    pub output: u64,
    /// The part of `output` that is thoughts.
    pub thinking: u64,
}

/// Sums by model and tier.
#[derive(Debug, Clone, Default)]
pub struct SimulatedBill(BTreeMap<(String, SimulatedTier), (u64, SimulatedUsage)>);

impl SimulatedBill {
    pub fn add(&mut self, model: &str, tier: SimulatedTier, usage: SimulatedUsage) {
        let (requests, sum) = self.0.entry((model.to_owned(), tier)).or_default();
        *requests += 1;
        *sum += usage;
    }

    pub fn lines(&self) -> Vec<SimulatedBillLine> {
        let line = |((model, tier), (requests, sum)): (
            &(String, SimulatedTier),
            &(u64, SimulatedUsage),
        )| SimulatedBillLine {
            model: model.clone(),
            tier: *tier,
            requests: *requests,
            fresh: sum.fresh(),
            cached: sum.cached,
            cache_write: sum.cache_write,
            cache_write_1h: sum.long_cache_write,
            output: sum.output,
            thinking: sum.thinking,
        };
        self.0.iter().map(line).collect()
    }
}
