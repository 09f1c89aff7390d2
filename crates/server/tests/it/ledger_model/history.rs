//! Random histories: what is done next, and how it goes wrong.

use chrono::TimeDelta;
use domain::id::{BatchId, Berth, CargoId};
use domain::idempotency;
use domain::model::Kind;
use domain::money::Money;
use domain::outcome::Usage;
use domain::time::Timestamp;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use store::shard::credit::{Direction, Payment};

use super::operation::{Given, Load, OURS, Operation, Record, SOLD};
use super::oracle::Oracle;

/// With more than this in the queue something is gathered in every round.
const BACKLOG: usize = 1500;
/// With more batches than this one is worked on in every round, with twice as many two.
const BATCHES: usize = 15;
/// The most loads in a group.
const GROUP: usize = 40;

/// How a round is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Crash {
    Never,
    /// Clients are gone before they are answered.
    Gone,
    /// Connections are cut while everything is under way.
    Cut,
}

/// What becomes of one client of a disturbed round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Lives,
    /// It is gone after so many steps, and what it holds is dropped where it stands.
    GoneAfter(u32),
    /// It ends, but its answer is lost; of loads that of every other one.
    Unheard,
}

impl Fate {
    pub(super) const fn steps(self) -> Option<u32> {
        match self {
            Self::GoneAfter(steps) => Some(steps),
            Self::Lives | Self::Unheard => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct History {
    pub(super) random: StdRng,
    tags: u64,
}

impl History {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            tags: 0,
        }
    }

    pub(super) fn one_in(&mut self, many: u32) -> bool {
        self.random.random_ratio(1, many)
    }

    fn tag(&mut self, what: &str) -> String {
        self.tags += 1;
        format!("{what} {}", self.tags)
    }

    pub(super) fn crash(&mut self) -> Crash {
        match self.random.random_range(0..10) {
            0 => Crash::Cut,
            1 | 2 => Crash::Gone,
            _ => Crash::Never,
        }
    }

    pub(super) fn fate(&mut self, crash: Crash) -> Fate {
        match crash {
            Crash::Never | Crash::Cut => Fate::Lives,
            Crash::Gone if self.one_in(3) => Fate::Unheard,
            Crash::Gone => Fate::GoneAfter(self.random.random_range(1..40)),
        }
    }

    /// What happens at the same time, by one client or by several.
    pub(super) fn round(
        &mut self,
        oracle: &Oracle,
        crash: Crash,
        now: Timestamp,
    ) -> Vec<Operation> {
        let mut round = Vec::new();
        for _ in 0..self.random.random_range(1..=4) {
            match self.random.random_range(0..100) {
                0..35 => round.push(self.load(oracle, crash, now)),
                35..47 => {
                    for _ in 0..self.random.random_range(1..=4) {
                        round.push(self.pay(oracle));
                    }
                }
                47..80 => self.record(oracle, &mut round),
                80..83 => self.release(oracle, &mut round),
                83..87 => self.move_on(oracle, &mut round, now),
                _ => self.gather(&mut round, now),
            }
        }
        if oracle.waiting.len() > BACKLOG || oracle.batches.is_empty() {
            self.gather(&mut round, now);
        }
        if self.one_in(100) {
            round.push(Operation::Audit);
        }
        for _ in 0..oracle.batches.len() / BATCHES {
            self.record(oracle, &mut round);
        }
        round
    }

    fn load(&mut self, oracle: &Oracle, crash: Crash, now: Timestamp) -> Operation {
        let count = self.random.random_range(1..=GROUP);
        let mut loads: Vec<Load> = Vec::with_capacity(count);
        for _ in 0..count {
            if self.one_in(20)
                && let Some(repeated) = self.repeat(oracle, &loads, now)
            {
                loads.push(repeated);
                continue;
            }
            let mut load = self.fresh(oracle);
            // Without a name nobody could tell what became of it.
            if crash != Crash::Never || self.random.random() {
                load.key = Some(self.tag("key"));
            }
            loads.push(load);
        }
        Operation::Load(loads)
    }

    /// The same again under its key, from this group or from before; now and then with another body.
    fn repeat(&mut self, oracle: &Oracle, group: &[Load], now: Timestamp) -> Option<Load> {
        let mut load = if self.random.random() {
            // The oldest may be forgotten before this round is over.
            let name = oracle.named.iter().rev();
            let name = name.take(500).nth(self.random.random_range(0..500))?;
            let keyed = oracle.keys.get(name)?;
            // A key is kept for a day; near its end nobody knows.
            if now - keyed.at > idempotency::KEPT - TimeDelta::minutes(1) {
                return None;
            }
            keyed.load.clone()
        } else {
            group.choose(&mut self.random)?.clone()
        };
        load.key.as_ref()?;
        load.process = self.random.random_range(0..2);
        if self.one_in(10) {
            load.body.push(' ');
        }
        Some(load)
    }

    fn fresh(&mut self, oracle: &Oracle) -> Load {
        let sold = &SOLD[self.random.random_range(0..SOLD.len())];
        let length = self.random.random_range(1..300_usize);
        let text = "x".repeat(length);
        let bytes = u64::try_from(length).unwrap();
        let model = sold.id;
        let (body, hold) = match sold.kind {
            Kind::Chat => {
                let most = self.random.random_range(1..2000_u64);
                let body = format!(
                    r#"{{"params":{{"model":"{model}","max_tokens":{most},"messages":[{{"role":"user","content":"{text}"}}]}}}}"#
                );
                // The role is read too, and a text is said to stand around them all.
                (body, sold.hold(bytes + 4, 2, most))
            }
            Kind::Embedding => {
                let body = format!(
                    r#"{{"params":{{"model":"{model}","input_text":["{text}","{text}"]}}}}"#
                );
                (body, sold.hold(2 * bytes, 2, 0))
            }
        };
        Load {
            organization: self.organization(oracle),
            body,
            key: None,
            process: self.random.random_range(0..2),
            hold,
        }
    }

    /// One of them gets half of everything.
    fn organization(&mut self, oracle: &Oracle) -> usize {
        if self.random.random() {
            return 0;
        }
        self.random.random_range(0..oracle.accounts.len())
    }

    fn pay(&mut self, oracle: &Oracle) -> Operation {
        let organization = self.organization(oracle);
        let direction = if self.one_in(4) {
            Direction::Out
        } else {
            Direction::In
        };
        let amount = Money(self.random.random_range(1..4_000_000));
        let reference = match self.random.random_range(0..4) {
            // From few, so that some come again.
            0 => Some(format!("invoice {}", self.random.random_range(0..40))),
            1 => Some(self.tag("invoice")),
            _ => None,
        };
        let mut payment = Payment {
            amount,
            direction,
            reference,
            note: Some(self.tag("payment")),
        };
        let name = payment.reference.clone().map(|name| (organization, name));
        if let Some(earlier) = name.and_then(|name| oracle.references.get(&name))
            && self.random.random()
        {
            payment.amount = earlier.amount;
            payment.direction = earlier.direction;
        }
        Operation::Pay {
            organization,
            payment,
        }
    }

    /// Outcomes of a batch; sometimes by two at once.
    fn record(&mut self, oracle: &Oracle, round: &mut Vec<Operation>) {
        let batches: Vec<_> = oracle.batches.keys().copied().collect();
        let Some(batch) = batches.choose(&mut self.random).copied() else {
            return;
        };
        let cargo = &oracle.batches[&batch];
        let times = if self.one_in(5) { 2 } else { 1 };
        for _ in 0..times {
            let share = *[0.2, 0.6, 1.0].choose(&mut self.random).unwrap();
            let mut given = Vec::new();
            for id in cargo {
                let is_open = oracle.cargo[id].ended.is_none();
                // What has its outcome already is only given now and then.
                if self.random.random_bool(if is_open { share } else { 0.1 }) {
                    self.give(oracle, *id, &mut given);
                }
            }
            if given.is_empty() {
                continue;
            }
            let mut record = Record {
                batch: Some(batch),
                claim: OURS,
                given,
                tag: self.tag("record"),
            };
            match self.random.random_range(0..40) {
                0 => record.claim.epoch += 1,
                1 if !oracle.over.is_empty() => {
                    let late = self.random.random_range(0..oracle.over.len());
                    record.batch = Some(oracle.over[late]);
                }
                _ => {}
            }
            round.push(Operation::Record(record));
        }
        if cargo.iter().all(|id| oracle.cargo[id].ended.is_some()) {
            round.push(Operation::End(batch));
        }
    }

    /// An outcome in the right attempt, mostly; now and then late, or twice and not the same.
    fn give(&mut self, oracle: &Oracle, id: CargoId, given: &mut Vec<Given>) {
        let cargo = &oracle.cargo[&id];
        let most = cargo.hold.map_or(100, |hold| hold.tokens);
        let times = if self.one_in(30) { 2 } else { 1 };
        for _ in 0..times {
            let attempt = match self.random.random_range(0..30) {
                0 => cargo.attempt - 1,
                1 => cargo.attempt + 1,
                _ => cargo.attempt,
            };
            let most = match self.random.random_range(0..20) {
                0 => 0,
                1 => most * 3,
                2 => 1_000_000_000,
                _ => most / 2,
            };
            let usage = Usage {
                input_tokens: self.random.random_range(0..=most),
                output_tokens: self.random.random_range(0..=most),
            };
            given.push(Given {
                cargo: id,
                attempt,
                success: self.random.random_ratio(4, 5),
                usage,
            });
        }
    }

    /// Some of what waits fails, as at its deadline; who names a cargo that is under way is late.
    fn release(&mut self, oracle: &Oracle, round: &mut Vec<Operation>) {
        let mut given = Vec::new();
        let most = self.random.random_range(1..20);
        let skipped = self.random.random_range(0..=oracle.waiting.len());
        let waiting = oracle.waiting.iter().skip(skipped).take(most);
        let batched = oracle.batches.values().flatten().take(1);
        for id in waiting.chain(batched) {
            self.give(oracle, *id, &mut given);
        }
        for one in &mut given {
            one.success = false;
            one.usage = Usage::default();
        }
        let tag = self.tag("record");
        round.push(Operation::Record(Record {
            batch: None,
            claim: OURS,
            given,
            tag,
        }));
    }

    /// A batch ends before its outcomes, or is halved.
    fn move_on(&mut self, oracle: &Oracle, round: &mut Vec<Operation>, now: Timestamp) {
        let batches: Vec<_> = oracle.batches.iter().collect();
        let Some((batch, cargo)) = batches.choose(&mut self.random).copied() else {
            return;
        };
        if self.random.random() {
            round.push(Operation::End(*batch));
        } else {
            let halves = [self.batch(now), self.batch(now)];
            let (batch, cargo) = (*batch, cargo.clone());
            round.push(Operation::Halve {
                batch,
                cargo,
                halves,
            });
        }
    }

    fn gather(&mut self, round: &mut Vec<Operation>, now: Timestamp) {
        // Two would only be in each other's way.
        if round
            .iter()
            .any(|it| matches!(it, Operation::Gather { .. }))
        {
            return;
        }
        round.push(Operation::Gather {
            model: self.random.random_range(0..SOLD.len()),
            most: self.random.random_range(1..60),
            batch: self.batch(now),
        });
    }

    fn batch(&mut self, now: Timestamp) -> BatchId {
        BatchId::new(now, Berth::new(0).unwrap(), self.random.random())
    }
}
