//! Tokens of one request and its answer, as a provider counts them.

use std::ops::AddAssign;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimulatedUsage {
    /// All input, with the parts that a cache served or took.
    pub input: u64,
    /// Input that was read from a cache.
    pub cached: u64,
    /// Input that was written to a cache for minutes.
    pub cache_write: u64,
    /// Input that was written to a cache for an hour or longer.
    pub long_cache_write: u64,
    /// All output, with the thoughts.
    pub output: u64,
    pub thinking: u64,
}

impl SimulatedUsage {
    /// Input that no cache touched.
    pub fn fresh(self) -> u64 {
        self.input
            .saturating_sub(self.cached)
            .saturating_sub(self.writes())
    }

    pub fn writes(self) -> u64 {
        self.cache_write + self.long_cache_write
    }
}

impl AddAssign for SimulatedUsage {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.cached += more.cached;
        self.cache_write += more.cache_write;
        self.long_cache_write += more.long_cache_write;
        self.output += more.output;
        self.thinking += more.thinking;
    }
}
