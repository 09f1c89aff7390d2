//! The oracle: the expected rows, in the simplest form in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use chrono::NaiveDate;
use domain::account::first_day_of_month;
use domain::id::{BatchId, CargoId};
use domain::time::Timestamp;
use store::shard::credit::{Payment, PaymentDirection, PaymentResult};

use super::balance_window::{BalanceWindow, ObservedRefusal};
use super::operation::{
    ExpectedHold, GeneratedOutcome, LedgerLoadResult, LedgerOperation, LoadOperation,
    OperationResult,
};

/// How many ended batches are remembered, for writes that come too late.
const MAX_ENDED_BATCHES: usize = 64;
/// How many idempotency keys are remembered, for loads that repeat them.
const MAX_IDEMPOTENCY_KEYS: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct LedgerOracle {
    pub(super) accounts: Vec<ExpectedAccount>,
    pub(super) cargo: HashMap<CargoId, ExpectedCargo>,
    pub(super) waiting: BTreeSet<CargoId>,
    pub(super) batches: BTreeMap<BatchId, Vec<CargoId>>,
    pub(super) ended_batches: VecDeque<BatchId>,
    pub(super) keyed_loads: HashMap<(usize, String), KeyedLoad>,
    pub(super) key_order: VecDeque<(usize, String)>,
    pub(super) payments_by_reference: HashMap<(usize, String), Payment>,
    /// Cargo that ended since the last comparison.
    pub(super) newly_ended: Vec<CargoId>,
    /// How many outcomes cost more than their hold.
    pub(super) over_hold_count: usize,
}

/// The first load with an idempotency key.
#[derive(Debug)]
pub(super) struct KeyedLoad {
    cargo: CargoId,
    pub(super) load: LoadOperation,
    pub(super) at: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct ExpectedAccount {
    pub(super) posted: i64,
    pub(super) held: i64,
    pub(super) quota: Option<u64>,
    pub(super) tokens_by_month: BTreeMap<NaiveDate, ExpectedMonthlyTokens>,
    /// The number of postings that were compared.
    pub(super) postings: u64,
    pub(super) balance: i64,
    /// The postings that must follow, in any order.
    pub(super) expected_postings: Vec<ExpectedPosting>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ExpectedMonthlyTokens {
    pub(super) used: u64,
    pub(super) reserved: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedPosting {
    pub(super) kind: &'static str,
    pub(super) at: Timestamp,
    /// Credit, revenue, loss, funding.
    pub(super) entries: [i64; 4],
    pub(super) cargo: BTreeSet<CargoId>,
    pub(super) reference: Option<String>,
    pub(super) note: Option<String>,
}

#[derive(Debug)]
pub(super) struct ExpectedCargo {
    pub(super) organization: usize,
    pub(super) model: usize,
    pub(super) hold: Option<ExpectedHold>,
    pub(super) loaded_in_month: NaiveDate,
    pub(super) attempt: u32,
    /// None while it waits.
    pub(super) batch: Option<BatchId>,
    pub(super) outcome: Option<ExpectedOutcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedOutcome {
    pub(super) generated: GeneratedOutcome,
    pub(super) charged: Option<i64>,
    pub(super) cost: Option<i64>,
}

pub(super) type OracleCheckResult = Result<(), String>;

impl ExpectedAccount {
    pub(super) fn available(&self) -> i64 {
        self.posted - self.held
    }

    pub(super) fn tokens_in_month(&self, month: NaiveDate) -> ExpectedMonthlyTokens {
        self.tokens_by_month
            .get(&month)
            .copied()
            .unwrap_or_default()
    }
}

impl LedgerOracle {
    /// Applies the operations of a round, which ran concurrently, and checks their results.
    pub(super) fn apply_round(
        &mut self,
        round: &[(LedgerOperation, OperationResult)],
        now: Timestamp,
    ) -> OracleCheckResult {
        let windows = self.accounts.iter();
        let mut windows: Vec<_> = windows
            .map(|it| BalanceWindow::new(it, first_day_of_month(now)))
            .collect();
        for (operation, result) in round {
            match (operation, result) {
                (LedgerOperation::Load(loads), OperationResult::Loaded(loaded)) => {
                    self.apply_loads(loads, loaded, now, &mut windows)?;
                }
                (
                    LedgerOperation::Pay {
                        organization,
                        payment,
                    },
                    result,
                ) => {
                    self.apply_payment(*organization, payment, result, now, &mut windows)?;
                }
                _ => {}
            }
        }
        for (operation, result) in round {
            self.check_payment(operation, result)?;
        }
        self.apply_records(round, now, &mut windows)?;
        for (operation, result) in round {
            match (operation, result) {
                (LedgerOperation::End(batch), OperationResult::Ended) => self.end_batch(*batch),
                (LedgerOperation::Split { batch, halves, .. }, OperationResult::Ended) => {
                    self.split_batch(*batch, *halves);
                }
                _ => {}
            }
        }
        for (operation, result) in round {
            if let (LedgerOperation::Gather { batch, .. }, OperationResult::Gathered(cargo)) =
                (operation, result)
            {
                self.apply_gather(*batch, cargo)?;
            }
        }
        for (operation, result) in round {
            for (organization, refused) in ObservedRefusal::from_result(operation, result) {
                windows[organization].check_refusal(&refused)?;
            }
        }
        for (number, account) in self.accounts.iter().enumerate() {
            if account.held < 0 || account.available() < 0 {
                return Err(format!("account {number} is overdrawn: {account:?}"));
            }
        }
        Ok(())
    }

    fn apply_loads(
        &mut self,
        loads: &[LoadOperation],
        loaded: &[LedgerLoadResult],
        now: Timestamp,
        windows: &mut [BalanceWindow],
    ) -> OracleCheckResult {
        // Of several loads with one key, any can be the new one.
        let mut answers: Vec<_> = loads.iter().zip(loaded).collect();
        answers.sort_by_key(|(_, loaded)| match loaded {
            LedgerLoadResult::New(_) => 0,
            LedgerLoadResult::FoundOnRetry(_) => 1,
            LedgerLoadResult::Replay(_)
            | LedgerLoadResult::InsufficientCredit { .. }
            | LedgerLoadResult::QuotaExceeded { .. }
            | LedgerLoadResult::KeyReused => 2,
        });
        for (load, loaded) in answers {
            let name = load
                .key
                .as_ref()
                .map(|key| (load.organization, key.clone()));
            let earlier = name.as_ref().and_then(|name| self.keyed_loads.get(name));
            let is_right = match (loaded, earlier) {
                (LedgerLoadResult::New(_) | LedgerLoadResult::FoundOnRetry(_), None) => true,
                (
                    LedgerLoadResult::Replay(id) | LedgerLoadResult::FoundOnRetry(id),
                    Some(first),
                ) => *id == first.cargo && first.load.body == load.body,
                (LedgerLoadResult::KeyReused, Some(first)) => first.load.body != load.body,
                (LedgerLoadResult::Replay(_) | LedgerLoadResult::KeyReused, None)
                | (LedgerLoadResult::New(_), Some(_)) => false,
                // In the same round it may have been refused before the other load was stored.
                (
                    LedgerLoadResult::InsufficientCredit { .. }
                    | LedgerLoadResult::QuotaExceeded { .. },
                    earlier,
                ) => earlier.is_none_or(|first| first.at == now),
            };
            if !is_right {
                return Err(format!("{load:?} returned {loaded:?} after {earlier:?}"));
            }
            let (LedgerLoadResult::New(id) | LedgerLoadResult::FoundOnRetry(id)) = *loaded else {
                continue;
            };
            if earlier.is_some() {
                continue;
            }
            if let Some(name) = name {
                self.remember_key(name, id, load, now);
            }
            let account = &mut self.accounts[load.organization];
            if let Some(hold) = load.hold {
                account.held += hold.amount;
                account
                    .tokens_by_month
                    .entry(first_day_of_month(now))
                    .or_default()
                    .reserved += hold.tokens;
                windows[load.organization].place_hold(&hold);
            }
            let cargo = ExpectedCargo {
                organization: load.organization,
                model: load.model,
                hold: load.hold,
                loaded_in_month: first_day_of_month(now),
                attempt: 1,
                batch: None,
                outcome: None,
            };
            self.waiting.insert(id);
            if self.cargo.insert(id, cargo).is_some() {
                return Err(format!("the id {id} was returned for two loads"));
            }
        }
        Ok(())
    }

    fn remember_key(
        &mut self,
        name: (usize, String),
        cargo: CargoId,
        load: &LoadOperation,
        at: Timestamp,
    ) {
        let load = load.clone();
        self.key_order.push_back(name.clone());
        self.keyed_loads.insert(name, KeyedLoad { cargo, load, at });
        if self.key_order.len() > MAX_IDEMPOTENCY_KEYS {
            let oldest = self.key_order.pop_front().unwrap();
            self.keyed_loads.remove(&oldest);
        }
    }

    /// A payment that was not posted must be a repetition, or must reuse a reference.
    fn check_payment(
        &self,
        operation: &LedgerOperation,
        result: &OperationResult,
    ) -> OracleCheckResult {
        let (
            LedgerOperation::Pay {
                organization,
                payment,
            },
            OperationResult::Paid(paid),
        ) = (operation, result)
        else {
            return Ok(());
        };
        let name = payment.reference.clone().map(|name| (*organization, name));
        let first = name.and_then(|name| self.payments_by_reference.get(&name));
        let same = first
            .map(|first| (first.amount, first.direction) == (payment.amount, payment.direction));
        let is_right = match paid {
            PaymentResult::Posted { .. } => true,
            PaymentResult::AlreadyPosted { .. } => same == Some(true),
            PaymentResult::ReferenceUsed { .. } => same == Some(false),
            // In the same round it may have been refused before another payment was posted.
            PaymentResult::InsufficientCredit { .. } => payment.direction == PaymentDirection::Out,
            PaymentResult::BalanceOverflow | PaymentResult::NoAccount => false,
        };
        if is_right {
            Ok(())
        } else {
            Err(format!("{payment:?} returned {paid:?} after {first:?}"))
        }
    }

    fn apply_payment(
        &mut self,
        organization: usize,
        payment: &Payment,
        result: &OperationResult,
        now: Timestamp,
        windows: &mut [BalanceWindow],
    ) -> OracleCheckResult {
        let name = payment.reference.as_ref();
        let name = name.map(|reference| (organization, reference.clone()));
        if !matches!(result, OperationResult::Paid(PaymentResult::Posted { .. })) {
            return Ok(());
        }
        if let Some(name) = name
            && let Some(earlier) = self.payments_by_reference.insert(name, payment.clone())
        {
            return Err(format!("{payment:?} was posted after {earlier:?}"));
        }
        let amount = payment.amount.nanos();
        let (kind, credit) = match payment.direction {
            PaymentDirection::In => ("deposit", amount),
            PaymentDirection::Out => ("withdrawal", -amount),
        };
        let account = &mut self.accounts[organization];
        account.posted += credit;
        windows[organization].apply_payment(credit);
        account.expected_postings.push(ExpectedPosting {
            kind,
            at: now,
            entries: [credit, 0, 0, -credit],
            cargo: BTreeSet::new(),
            reference: payment.reference.clone(),
            note: payment.note.clone(),
        });
        Ok(())
    }

    fn end_batch(&mut self, batch: BatchId) {
        for id in self.remove_batch(batch) {
            let cargo = self.cargo.get_mut(&id).unwrap();
            if cargo.outcome.is_none() && cargo.batch == Some(batch) {
                cargo.batch = None;
                cargo.attempt += 1;
                self.waiting.insert(id);
            }
        }
    }

    fn split_batch(&mut self, batch: BatchId, halves: [BatchId; 2]) {
        let cargo = self.remove_batch(batch);
        let (first, second) = cargo.split_at(cargo.len() / 2);
        for (half, part) in halves.into_iter().zip([first, second]) {
            for id in part {
                let cargo = self.cargo.get_mut(id).unwrap();
                if cargo.outcome.is_none() && cargo.batch == Some(batch) {
                    cargo.batch = Some(half);
                }
            }
            self.batches.insert(half, part.to_vec());
        }
    }

    fn remove_batch(&mut self, batch: BatchId) -> Vec<CargoId> {
        self.ended_batches.push_back(batch);
        if self.ended_batches.len() > MAX_ENDED_BATCHES {
            self.ended_batches.pop_front();
        }
        self.batches.remove(&batch).unwrap_or_default()
    }

    fn apply_gather(&mut self, batch: BatchId, picked: &[CargoId]) -> OracleCheckResult {
        for id in picked {
            if !self.waiting.remove(id) {
                return Err(format!("{id} was gathered but was not waiting"));
            }
            self.cargo.get_mut(id).unwrap().batch = Some(batch);
        }
        if !picked.is_empty() {
            self.batches.insert(batch, picked.to_vec());
        }
        Ok(())
    }
}
