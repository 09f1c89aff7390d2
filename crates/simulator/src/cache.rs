//! The prompt caches of an account. Accounts share none.

use std::collections::HashMap;

use crate::clock::SimulatorTime;
use crate::prompt::CacheMark;

/// When each prefix is forgotten.
#[derive(Debug, Default)]
pub struct PromptCaches(HashMap<String, SimulatorTime>);

/// Tokens of one request that a cache served or took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounts {
    pub read: u64,
    pub write: u64,
    pub long_write: u64,
}

impl PromptCaches {
    /// Reads the longest known prefix, and writes the longer ones.
    pub fn apply(&mut self, marks: &[CacheMark], now: SimulatorTime) -> CacheCounts {
        let is_known =
            |mark: &&CacheMark| self.0.get(&mark.prefix).is_some_and(|until| *until > now);
        let known = marks.iter().rev().find(is_known);
        let mut counts = CacheCounts {
            read: known.map_or(0, |mark| mark.tokens),
            ..CacheCounts::default()
        };
        let mut covered = counts.read;
        for mark in marks {
            // A read extends the life of a prefix too.
            let until = now + mark.lifetime.duration();
            self.0.insert(mark.prefix.clone(), until);
            let more = mark.tokens.saturating_sub(covered);
            covered += more;
            if mark.lifetime.is_long() {
                counts.long_write += more;
            } else {
                counts.write += more;
            }
        }
        counts
    }
}
