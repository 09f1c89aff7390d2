//! Draws random histories: the next operations, and the faults that hit them.

use chrono::TimeDelta;
use domain::id::{BatchId, Berth, CargoId};
use domain::idempotency;
use domain::money::Money;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use store::shard::credit::{Payment, PaymentDirection};

use super::operation::{
    GeneratedOutcome, LIVE_CLAIM, LedgerOperation, LoadOperation, RecordOperation, TEST_MODELS,
};
use super::oracle::LedgerOracle;

/// With more waiting cargo than this, every round gathers.
const BACKLOG_THRESHOLD: usize = 1500;
/// For each this many open batches, every round records outcomes one more time.
const BATCHES_PER_RECORD: usize = 15;
const MAX_LOADS_PER_GROUP: usize = 40;

/// The fault of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundFault {
    None,
    /// Clients disconnect before they receive the answer.
    ClientsDropped,
    /// Connections to PostgreSQL are cut during the round.
    ConnectionsCut,
}

/// The fault of one client in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientFault {
    None,
    /// Its future is dropped after this many polls.
    DroppedAfter(u32),
    /// It ends, but its answer is lost. In a group of loads, every other answer is lost.
    AnswerLost,
}

impl ClientFault {
    pub(super) const fn polls_before_drop(self) -> Option<u32> {
        match self {
            Self::DroppedAfter(polls) => Some(polls),
            Self::None | Self::AnswerLost => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct HistoryGenerator {
    pub(super) random: StdRng,
    tag_count: u64,
}

impl HistoryGenerator {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            tag_count: 0,
        }
    }

    pub(super) fn one_in(&mut self, many: u32) -> bool {
        self.random.random_ratio(1, many)
    }

    fn next_tag(&mut self, what: &str) -> String {
        self.tag_count += 1;
        format!("{what} {}", self.tag_count)
    }

    pub(super) fn draw_round_fault(&mut self) -> RoundFault {
        match self.random.random_range(0..10) {
            0 => RoundFault::ConnectionsCut,
            1 | 2 => RoundFault::ClientsDropped,
            _ => RoundFault::None,
        }
    }

    pub(super) fn draw_client_fault(&mut self, fault: RoundFault) -> ClientFault {
        match fault {
            RoundFault::None | RoundFault::ConnectionsCut => ClientFault::None,
            RoundFault::ClientsDropped if self.one_in(3) => ClientFault::AnswerLost,
            RoundFault::ClientsDropped => {
                ClientFault::DroppedAfter(self.random.random_range(1..40))
            }
        }
    }

    /// Draws the operations that one or several clients run concurrently.
    pub(super) fn draw_round(
        &mut self,
        oracle: &LedgerOracle,
        fault: RoundFault,
        now: Timestamp,
    ) -> Vec<LedgerOperation> {
        let mut round = Vec::new();
        for _ in 0..self.random.random_range(1..=4) {
            match self.random.random_range(0..100) {
                0..35 => round.push(self.draw_loads(oracle, fault, now)),
                35..47 => {
                    for _ in 0..self.random.random_range(1..=4) {
                        round.push(self.draw_payment(oracle));
                    }
                }
                47..80 => self.draw_records(oracle, &mut round),
                80..83 => self.draw_releases(oracle, &mut round),
                83..87 => self.draw_batch_end(oracle, &mut round, now),
                _ => self.draw_gather(&mut round, now),
            }
        }
        if oracle.waiting.len() > BACKLOG_THRESHOLD || oracle.batches.is_empty() {
            self.draw_gather(&mut round, now);
        }
        if self.one_in(100) {
            round.push(LedgerOperation::Audit);
        }
        for _ in 0..oracle.batches.len() / BATCHES_PER_RECORD {
            self.draw_records(oracle, &mut round);
        }
        round
    }

    fn draw_loads(
        &mut self,
        oracle: &LedgerOracle,
        fault: RoundFault,
        now: Timestamp,
    ) -> LedgerOperation {
        let count = self.random.random_range(1..=MAX_LOADS_PER_GROUP);
        let mut loads: Vec<LoadOperation> = Vec::with_capacity(count);
        for _ in 0..count {
            if self.one_in(20)
                && let Some(repeated) = self.draw_repeated_load(oracle, &loads, now)
            {
                loads.push(repeated);
                continue;
            }
            let mut load = self.draw_new_load(oracle);
            // Without a key, the test could not find out whether the load was stored.
            if fault != RoundFault::None || self.random.random() {
                load.key = Some(self.next_tag("key"));
            }
            loads.push(load);
        }
        LedgerOperation::Load(loads)
    }

    /// Repeats a load of this group or an earlier round under its key, sometimes with another body.
    fn draw_repeated_load(
        &mut self,
        oracle: &LedgerOracle,
        group: &[LoadOperation],
        now: Timestamp,
    ) -> Option<LoadOperation> {
        let mut load = if self.random.random() {
            // The oracle may forget the oldest keys during this round.
            let name = oracle.key_order.iter().rev();
            let name = name.take(500).nth(self.random.random_range(0..500))?;
            let earlier = oracle.keyed_loads.get(name)?;
            // A key is stored for a day. Near its expiry the result is not certain.
            if now - earlier.at > idempotency::IDEMPOTENCY_KEY_RETENTION - TimeDelta::minutes(1) {
                return None;
            }
            earlier.load.clone()
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

    /// The first organization gets more than half of all operations.
    pub(super) fn draw_organization(&mut self, oracle: &LedgerOracle) -> usize {
        if self.random.random() {
            return 0;
        }
        self.random.random_range(0..oracle.accounts.len())
    }

    fn draw_payment(&mut self, oracle: &LedgerOracle) -> LedgerOperation {
        let organization = self.draw_organization(oracle);
        let direction = if self.one_in(4) {
            PaymentDirection::Out
        } else {
            PaymentDirection::In
        };
        let amount = Money(self.random.random_range(1..4_000_000));
        let reference = match self.random.random_range(0..4) {
            // From a small range, so that some references repeat.
            0 => Some(format!("invoice {}", self.random.random_range(0..40))),
            1 => Some(self.next_tag("invoice")),
            _ => None,
        };
        let mut payment = Payment {
            amount,
            direction,
            reference,
            note: Some(self.next_tag("payment")),
        };
        let name = payment.reference.clone().map(|name| (organization, name));
        if let Some(earlier) = name.and_then(|name| oracle.payments_by_reference.get(&name))
            && self.random.random()
        {
            payment.amount = earlier.amount;
            payment.direction = earlier.direction;
        }
        LedgerOperation::Pay {
            organization,
            payment,
        }
    }

    /// Draws outcomes of a batch, sometimes from two clients at once.
    fn draw_records(&mut self, oracle: &LedgerOracle, round: &mut Vec<LedgerOperation>) {
        let batches: Vec<_> = oracle.batches.keys().copied().collect();
        let Some(batch) = batches.choose(&mut self.random).copied() else {
            return;
        };
        let cargo = &oracle.batches[&batch];
        let times = if self.one_in(5) { 2 } else { 1 };
        for _ in 0..times {
            let share = *[0.2, 0.6, 1.0].choose(&mut self.random).unwrap();
            let mut outcomes = Vec::new();
            for id in cargo {
                let is_open = oracle.cargo[id].outcome.is_none();
                // Cargo that already has an outcome is drawn only sometimes.
                if self.random.random_bool(if is_open { share } else { 0.1 }) {
                    self.draw_outcomes(oracle, *id, &mut outcomes);
                }
            }
            if outcomes.is_empty() {
                continue;
            }
            let mut record = RecordOperation {
                batch: Some(batch),
                claim: LIVE_CLAIM,
                outcomes,
                tag: self.next_tag("record"),
            };
            match self.random.random_range(0..40) {
                0 => record.claim.epoch += 1,
                1 if !oracle.ended_batches.is_empty() => {
                    let index = self.random.random_range(0..oracle.ended_batches.len());
                    record.batch = Some(oracle.ended_batches[index]);
                }
                _ => {}
            }
            round.push(LedgerOperation::Record(record));
        }
        if cargo.iter().all(|id| oracle.cargo[id].outcome.is_some()) {
            round.push(LedgerOperation::End(batch));
        }
    }

    /// Usually draws one outcome of the current attempt; sometimes of another attempt, or two.
    fn draw_outcomes(
        &mut self,
        oracle: &LedgerOracle,
        id: CargoId,
        outcomes: &mut Vec<GeneratedOutcome>,
    ) {
        let cargo = &oracle.cargo[&id];
        let held = cargo.hold.map_or(100, |hold| hold.tokens);
        let times = if self.one_in(30) { 2 } else { 1 };
        for _ in 0..times {
            let attempt = match self.random.random_range(0..30) {
                0 => cargo.attempt - 1,
                1 => cargo.attempt + 1,
                _ => cargo.attempt,
            };
            let max_tokens = match self.random.random_range(0..20) {
                0 => 0,
                1 => held * 3,
                2 => 1_000_000_000,
                _ => held / 2,
            };
            outcomes.push(GeneratedOutcome {
                cargo: id,
                attempt,
                success: self.random.random_ratio(4, 5),
                usage: self.draw_usage(max_tokens),
                model: cargo.model,
            });
        }
    }

    /// Fails some waiting cargo, as sweep does at the deadline. It also names one cargo in a batch,
    /// which the store must skip.
    fn draw_releases(&mut self, oracle: &LedgerOracle, round: &mut Vec<LedgerOperation>) {
        let mut outcomes = Vec::new();
        let count = self.random.random_range(1..20);
        let skipped = self.random.random_range(0..=oracle.waiting.len());
        let waiting = oracle.waiting.iter().skip(skipped).take(count);
        let batched = oracle.batches.values().flatten().take(1);
        for id in waiting.chain(batched) {
            self.draw_outcomes(oracle, *id, &mut outcomes);
        }
        for outcome in &mut outcomes {
            outcome.success = false;
            outcome.usage = TokenBuckets::default();
        }
        let tag = self.next_tag("record");
        round.push(LedgerOperation::Record(RecordOperation {
            batch: None,
            claim: LIVE_CLAIM,
            outcomes,
            tag,
        }));
    }

    /// Ends a batch before all its outcomes, or splits it.
    fn draw_batch_end(
        &mut self,
        oracle: &LedgerOracle,
        round: &mut Vec<LedgerOperation>,
        now: Timestamp,
    ) {
        let batches: Vec<_> = oracle.batches.iter().collect();
        let Some((batch, cargo)) = batches.choose(&mut self.random).copied() else {
            return;
        };
        if self.random.random() {
            round.push(LedgerOperation::End(*batch));
        } else {
            let halves = [self.draw_batch_id(now), self.draw_batch_id(now)];
            let (batch, cargo) = (*batch, cargo.clone());
            round.push(LedgerOperation::Split {
                batch,
                cargo,
                halves,
            });
        }
    }

    fn draw_gather(&mut self, round: &mut Vec<LedgerOperation>, now: Timestamp) {
        // Two gathers in one round would block each other.
        if round
            .iter()
            .any(|it| matches!(it, LedgerOperation::Gather { .. }))
        {
            return;
        }
        round.push(LedgerOperation::Gather {
            model: self.random.random_range(0..TEST_MODELS.len()),
            max: self.random.random_range(1..60),
            batch: self.draw_batch_id(now),
        });
    }

    fn draw_batch_id(&mut self, now: Timestamp) -> BatchId {
        BatchId::new(now, Berth::new(0).unwrap(), self.random.random())
    }
}
