//! The oracle: what must stand in the rows, kept in memory in the simplest way.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use chrono::NaiveDate;
use domain::account::month;
use domain::id::{BatchId, CargoId};
use domain::time::Timestamp;
use store::shard::credit::{Direction, Paid, Payment};

use super::operation::{Fact, Given, Hold, Load, Loaded, Operation};
use super::window::{Refused, Window};

/// So many batches that are over are remembered, to be late for.
const BATCHES: usize = 64;
/// So many idempotency keys are remembered, to be used again.
const KEYS: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Oracle {
    pub(super) accounts: Vec<Account>,
    pub(super) cargo: HashMap<CargoId, Cargo>,
    pub(super) waiting: BTreeSet<CargoId>,
    pub(super) batches: BTreeMap<BatchId, Vec<CargoId>>,
    pub(super) over: VecDeque<BatchId>,
    pub(super) keys: HashMap<(usize, String), Keyed>,
    pub(super) named: VecDeque<(usize, String)>,
    pub(super) references: HashMap<(usize, String), Payment>,
    /// Ended since rows were last compared.
    pub(super) ended: Vec<CargoId>,
    /// How often the work came to more than was held.
    pub(super) beyond: usize,
}

/// A load that stands under an idempotency key.
#[derive(Debug)]
pub(super) struct Keyed {
    cargo: CargoId,
    pub(super) load: Load,
    pub(super) at: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) posted: i64,
    pub(super) held: i64,
    pub(super) quota: Option<u64>,
    pub(super) months: BTreeMap<NaiveDate, Month>,
    /// What has been seen in the ledger, and found right.
    pub(super) postings: u64,
    pub(super) balance: i64,
    /// What must come next there, in whatever order.
    pub(super) expected: Vec<Line>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Month {
    pub(super) used: u64,
    pub(super) reserved: u64,
}

/// A posting, as it must be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kind: &'static str,
    pub(super) at: Timestamp,
    /// Credit, revenue, loss, funding.
    pub(super) entries: [i64; 4],
    pub(super) cargo: BTreeSet<CargoId>,
    pub(super) reference: Option<String>,
    pub(super) note: Option<String>,
}

#[derive(Debug)]
pub(super) struct Cargo {
    pub(super) organization: usize,
    pub(super) hold: Option<Hold>,
    pub(super) loaded_at: NaiveDate,
    pub(super) attempt: u32,
    /// None while it waits.
    pub(super) batch: Option<BatchId>,
    pub(super) ended: Option<Ended>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) given: Given,
    pub(super) charged: Option<i64>,
}

pub(super) type Checked = Result<(), String>;

impl Account {
    pub(super) fn available(&self) -> i64 {
        self.posted - self.held
    }

    pub(super) fn month(&self, month: NaiveDate) -> Month {
        self.months.get(&month).copied().unwrap_or_default()
    }
}

impl Oracle {
    /// Follows what happened together at `now`, in whatever order it happened.
    pub(super) fn follow(&mut self, round: &[(Operation, Fact)], now: Timestamp) -> Checked {
        let windows = self.accounts.iter();
        let mut windows: Vec<_> = windows.map(|it| Window::of(it, month(now))).collect();
        for (operation, fact) in round {
            match (operation, fact) {
                (Operation::Load(loads), Fact::Loaded(loaded)) => {
                    self.load(loads, loaded, now, &mut windows)?;
                }
                (
                    Operation::Pay {
                        organization,
                        payment,
                    },
                    fact,
                ) => {
                    self.pay(*organization, payment, fact, now, &mut windows)?;
                }
                _ => {}
            }
        }
        for (operation, fact) in round {
            self.paid_before(operation, fact)?;
        }
        self.record(round, now, &mut windows)?;
        for (operation, fact) in round {
            match (operation, fact) {
                (Operation::End(batch), Fact::Ended) => self.end(*batch),
                (Operation::Halve { batch, halves, .. }, Fact::Ended) => {
                    self.halve(*batch, *halves);
                }
                _ => {}
            }
        }
        for (operation, fact) in round {
            if let (Operation::Gather { batch, .. }, Fact::Gathered(cargo)) = (operation, fact) {
                self.gather(*batch, cargo)?;
            }
        }
        for (operation, fact) in round {
            for (organization, refused) in Refused::of(operation, fact) {
                windows[organization].allows(&refused)?;
            }
        }
        for (number, account) in self.accounts.iter().enumerate() {
            if account.held < 0 || account.available() < 0 {
                return Err(format!("account {number} is overdrawn: {account:?}"));
            }
        }
        Ok(())
    }

    fn load(
        &mut self,
        loads: &[Load],
        loaded: &[Loaded],
        now: Timestamp,
        windows: &mut [Window],
    ) -> Checked {
        // Under one key the new one may be any of them.
        let mut answers: Vec<_> = loads.iter().zip(loaded).collect();
        answers.sort_by_key(|(_, loaded)| match loaded {
            Loaded::New(_) => 0,
            Loaded::Found(_) => 1,
            Loaded::Replay(_)
            | Loaded::NoCredit { .. }
            | Loaded::NoQuota { .. }
            | Loaded::KeyReused => 2,
        });
        for (load, loaded) in answers {
            let name = load
                .key
                .as_ref()
                .map(|key| (load.organization, key.clone()));
            let earlier = name.as_ref().and_then(|name| self.keys.get(name));
            let right = match (loaded, earlier) {
                (Loaded::New(_) | Loaded::Found(_), None) => true,
                (Loaded::Replay(id) | Loaded::Found(id), Some(first)) => {
                    *id == first.cargo && first.load.body == load.body
                }
                (Loaded::KeyReused, Some(first)) => first.load.body != load.body,
                (Loaded::Replay(_) | Loaded::KeyReused, None) | (Loaded::New(_), Some(_)) => false,
                // In this very round it may have been refused before it was taken.
                (Loaded::NoCredit { .. } | Loaded::NoQuota { .. }, earlier) => {
                    earlier.is_none_or(|first| first.at == now)
                }
            };
            if !right {
                return Err(format!("{load:?} came to {loaded:?} after {earlier:?}"));
            }
            let (Loaded::New(id) | Loaded::Found(id)) = *loaded else {
                continue;
            };
            if earlier.is_some() {
                continue;
            }
            if let Some(name) = name {
                self.remember(name, id, load, now);
            }
            let account = &mut self.accounts[load.organization];
            if let Some(hold) = load.hold {
                account.held += hold.amount;
                account.months.entry(month(now)).or_default().reserved += hold.tokens;
                windows[load.organization].placed(&hold);
            }
            let cargo = Cargo {
                organization: load.organization,
                hold: load.hold,
                loaded_at: month(now),
                attempt: 1,
                batch: None,
                ended: None,
            };
            self.waiting.insert(id);
            if self.cargo.insert(id, cargo).is_some() {
                return Err(format!("{id} was given twice"));
            }
        }
        Ok(())
    }

    fn remember(&mut self, name: (usize, String), cargo: CargoId, load: &Load, at: Timestamp) {
        let load = load.clone();
        self.named.push_back(name.clone());
        self.keys.insert(name, Keyed { cargo, load, at });
        if self.named.len() > KEYS {
            let oldest = self.named.pop_front().unwrap();
            self.keys.remove(&oldest);
        }
    }

    /// What was not posted must have been posted before, or be another payment's reference.
    fn paid_before(&self, operation: &Operation, fact: &Fact) -> Checked {
        let (
            Operation::Pay {
                organization,
                payment,
            },
            Fact::Paid(paid),
        ) = (operation, fact)
        else {
            return Ok(());
        };
        let name = payment.reference.clone().map(|name| (*organization, name));
        let first = name.and_then(|name| self.references.get(&name));
        let same = first
            .map(|first| (first.amount, first.direction) == (payment.amount, payment.direction));
        let right = match paid {
            Paid::Posted { .. } => true,
            Paid::Before { .. } => same == Some(true),
            Paid::ReferenceUsed { .. } => same == Some(false),
            // In this very round it may have been refused before another one came.
            Paid::TooLittle { .. } => payment.direction == Direction::Out,
            Paid::TooMuch | Paid::NoAccount => false,
        };
        if right {
            Ok(())
        } else {
            Err(format!("{payment:?} came to {paid:?} after {first:?}"))
        }
    }

    fn pay(
        &mut self,
        organization: usize,
        payment: &Payment,
        fact: &Fact,
        now: Timestamp,
        windows: &mut [Window],
    ) -> Checked {
        let name = payment.reference.as_ref();
        let name = name.map(|reference| (organization, reference.clone()));
        if !matches!(fact, Fact::Paid(Paid::Posted { .. })) {
            return Ok(());
        }
        if let Some(name) = name
            && let Some(earlier) = self.references.insert(name, payment.clone())
        {
            return Err(format!("{payment:?} was posted after {earlier:?}"));
        }
        let amount = payment.amount.nanos();
        let (kind, credit) = match payment.direction {
            Direction::In => ("deposit", amount),
            Direction::Out => ("withdrawal", -amount),
        };
        let account = &mut self.accounts[organization];
        account.posted += credit;
        windows[organization].paid(credit);
        account.expected.push(Line {
            kind,
            at: now,
            entries: [credit, 0, 0, -credit],
            cargo: BTreeSet::new(),
            reference: payment.reference.clone(),
            note: payment.note.clone(),
        });
        Ok(())
    }

    fn end(&mut self, batch: BatchId) {
        for id in self.forget(batch) {
            let cargo = self.cargo.get_mut(&id).unwrap();
            if cargo.ended.is_none() && cargo.batch == Some(batch) {
                cargo.batch = None;
                cargo.attempt += 1;
                self.waiting.insert(id);
            }
        }
    }

    fn halve(&mut self, batch: BatchId, halves: [BatchId; 2]) {
        let cargo = self.forget(batch);
        let (first, second) = cargo.split_at(cargo.len() / 2);
        for (half, part) in halves.into_iter().zip([first, second]) {
            for id in part {
                let cargo = self.cargo.get_mut(id).unwrap();
                if cargo.ended.is_none() && cargo.batch == Some(batch) {
                    cargo.batch = Some(half);
                }
            }
            self.batches.insert(half, part.to_vec());
        }
    }

    fn forget(&mut self, batch: BatchId) -> Vec<CargoId> {
        self.over.push_back(batch);
        if self.over.len() > BATCHES {
            self.over.pop_front();
        }
        self.batches.remove(&batch).unwrap_or_default()
    }

    fn gather(&mut self, batch: BatchId, picked: &[CargoId]) -> Checked {
        for id in picked {
            if !self.waiting.remove(id) {
                return Err(format!("{id} was gathered and did not wait"));
            }
            self.cargo.get_mut(id).unwrap().batch = Some(batch);
        }
        if !picked.is_empty() {
            self.batches.insert(batch, picked.to_vec());
        }
        Ok(())
    }
}
