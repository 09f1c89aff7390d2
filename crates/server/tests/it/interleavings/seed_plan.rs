//! What a seed draws before it starts: the sizes, and how often each fault happens.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// An event happens once in this many turns on average. Zero means never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventRate(u32);

impl EventRate {
    pub(super) const fn is_never(self) -> bool {
        self.0 == 0
    }

    pub(super) fn happens(self, random: &mut StdRng) -> bool {
        self.0 > 0 && random.random_ratio(1, self.0)
    }
}

#[derive(Debug, Clone)]
pub(super) struct SeedPlan {
    /// Whether peers recognize the sessions of a dead node and end them. Behind a connection
    /// pooler, which sets other session names, they cannot.
    pub(super) has_named_sessions: bool,
    pub(super) supports_labels: bool,
    /// The most items of a batch.
    pub(super) max_items: usize,
    /// How many seconds a new job is not listed.
    pub(super) hidden_seconds: i64,
    /// One advance of the clock in this many is 30 seconds or longer.
    pub(super) long_advance_odds: u32,
    /// How many steps of the path run before the first fault.
    pub(super) undisturbed_steps: usize,
    pub(super) turns: u32,
    /// How often a statement is not sent, or its answer is lost.
    pub(super) statement_faults: EventRate,
    /// How often a call to a provider or receiver fails, or its answer is lost.
    pub(super) call_faults: EventRate,
    pub(super) lease_lapses: EventRate,
    pub(super) freezes: EventRate,
    /// How often the statements of a node pause in the middle.
    pub(super) statement_pauses: EventRate,
    pub(super) resends: EventRate,
    pub(super) cancellations: EventRate,
}

impl SeedPlan {
    pub(super) fn draw(seed: u64) -> (Self, StdRng) {
        let mut random = StdRng::seed_from_u64(seed);
        let is_calm = random.random_ratio(1, 10);
        let mut rate = |choices: &[u32]| {
            let choice = choices[random.random_range(0..choices.len())];
            EventRate(if is_calm { 0 } else { choice })
        };
        let faults = rate(&[0, 60, 25]);
        let call_faults = rate(&[0, 12, 5]);
        let lapses = rate(&[0, 60, 25]);
        let freezes = rate(&[0, 40, 20]);
        let pauses = rate(&[0, 25, 10]);
        // The last is longer than the grace period: the job is then submitted again.
        let hidden_seconds = [0, 40, 150][random.random_range(0..3)];
        let plan = Self {
            has_named_sessions: seed.is_multiple_of(2),
            supports_labels: random.random_ratio(2, 3),
            max_items: random.random_range(1..=2),
            hidden_seconds,
            long_advance_odds: if hidden_seconds > 60 { 2 } else { 10 },
            undisturbed_steps: random.random_range(0..=6),
            turns: random.random_range(60..200),
            statement_faults: faults,
            call_faults,
            lease_lapses: lapses,
            freezes,
            statement_pauses: pauses,
            resends: EventRate(10),
            cancellations: EventRate(40),
        };
        (plan, random)
    }

    /// Whether no fault can happen. Then no work is repeated, and no step fails.
    pub(super) fn is_calm(&self) -> bool {
        let rates = [
            self.statement_faults,
            self.call_faults,
            self.lease_lapses,
            self.freezes,
            self.statement_pauses,
        ];
        rates.iter().all(|rate| rate.0 == 0)
    }
}
