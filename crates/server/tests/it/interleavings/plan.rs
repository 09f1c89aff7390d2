//! What a seed draws before it begins: how large everything is, and what goes wrong how often.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// How often something happens: once in so many turns; never, if zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate(u32);

impl Rate {
    pub(super) const fn is_never(self) -> bool {
        self.0 == 0
    }

    pub(super) fn strikes(self, random: &mut StdRng) -> bool {
        self.0 > 0 && random.random_ratio(1, self.0)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Peers recognize the sessions of a dead node and end them. Not so behind a pooler of
    /// connections, which gives sessions names of its own.
    pub(super) has_named_sessions: bool,
    pub(super) is_labelled: bool,
    /// Of a batch.
    pub(super) most_items: usize,
    /// How long a new job is not listed, in seconds.
    pub(super) hidden_seconds: i64,
    /// One advance of the clock in so many is longer than a minute's half.
    pub(super) long_waits: u32,
    /// How many stages have done all their work before anything goes wrong.
    pub(super) stages_done: usize,
    pub(super) turns: u32,
    /// A statement is not sent, or its answer is lost.
    pub(super) faults: Rate,
    /// A call to a provider or receiver fails, or its answer is lost.
    pub(super) call_faults: Rate,
    pub(super) lapses: Rate,
    pub(super) freezes: Rate,
    /// The statements of a node wait in the middle.
    pub(super) pauses: Rate,
    pub(super) resends: Rate,
}

impl Plan {
    pub(super) fn draw(seed: u64) -> (Self, StdRng) {
        let mut random = StdRng::seed_from_u64(seed);
        let is_calm = random.random_ratio(1, 10);
        let mut rate = |choices: &[u32]| {
            let choice = choices[random.random_range(0..choices.len())];
            Rate(if is_calm { 0 } else { choice })
        };
        let faults = rate(&[0, 60, 25]);
        let call_faults = rate(&[0, 12, 5]);
        let lapses = rate(&[0, 60, 25]);
        let freezes = rate(&[0, 40, 20]);
        let pauses = rate(&[0, 25, 10]);
        // Longer than the grace, too: then the job is sent again.
        let hidden_seconds = [0, 40, 150][random.random_range(0..3)];
        let plan = Self {
            has_named_sessions: seed.is_multiple_of(2),
            is_labelled: random.random_ratio(2, 3),
            most_items: random.random_range(1..=2),
            hidden_seconds,
            long_waits: if hidden_seconds > 60 { 2 } else { 10 },
            stages_done: random.random_range(0..=6),
            turns: random.random_range(60..200),
            faults,
            call_faults,
            lapses,
            freezes,
            pauses,
            resends: Rate(10),
        };
        (plan, random)
    }

    /// Nothing goes wrong: then nothing is done twice, and no step fails.
    pub(super) fn is_calm(&self) -> bool {
        let rates = [
            self.faults,
            self.call_faults,
            self.lapses,
            self.freezes,
            self.pauses,
        ];
        rates.iter().all(|rate| rate.0 == 0)
    }
}
