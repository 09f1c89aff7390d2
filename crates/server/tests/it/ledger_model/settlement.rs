//! The oracle's rules for outcomes: which operation may store which, and how holds are settled.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::id::{BatchId, CargoId};
use domain::time::Timestamp;

use super::balance_window::BalanceWindow;
use super::operation::{
    GeneratedOutcome, LIVE_CLAIM, LedgerOperation, OperationResult, RecordOperation, TEST_MODELS,
};
use super::oracle::{ExpectedOutcome, ExpectedPosting, LedgerOracle, OracleCheckResult};

impl LedgerOracle {
    /// An operation stores all outcomes that it can store and that no other operation stored.
    pub(super) fn apply_records(
        &mut self,
        round: &[(LedgerOperation, OperationResult)],
        now: Timestamp,
        windows: &mut [BalanceWindow],
    ) -> OracleCheckResult {
        let leaving: HashSet<BatchId> = round.iter().filter_map(batch_that_ended).collect();
        let gathered: HashSet<CargoId> = round.iter().flat_map(gathered_cargo).collect();
        let mut stored: HashMap<CargoId, &RecordOperation> = HashMap::new();
        for (operation, result) in round {
            let (
                LedgerOperation::Record(record),
                OperationResult::Stored(outcomes) | OperationResult::StoredWithoutAnswer(outcomes),
            ) = (operation, result)
            else {
                continue;
            };
            for outcome in outcomes {
                if let Some(other) = stored.insert(outcome.cargo, record) {
                    return Err(format!(
                        "{outcome:?} was stored by {record:?} and {other:?}"
                    ));
                }
            }
        }
        let mut to_settle = Vec::new();
        for (operation, result) in round {
            let LedgerOperation::Record(record) = operation else {
                continue;
            };
            let by_others = |cargo: &CargoId| {
                let by = stored.get(cargo);
                gathered.contains(cargo) || by.is_some_and(|by| by.tag != record.tag)
            };
            let mut possible: HashSet<CargoId> =
                self.storable_outcomes(record).map(|it| it.cargo).collect();
            possible.retain(|cargo| !by_others(cargo));
            let (outcomes, may_be_empty) = match result {
                OperationResult::Stored(outcomes) if self.holds_claim(record) => {
                    (outcomes.as_slice(), false)
                }
                OperationResult::StoredWithoutAnswer(outcomes) => (outcomes.as_slice(), true),
                OperationResult::Fenced if !self.holds_claim(record) => continue,
                OperationResult::Fenced if record.batch.is_some_and(|it| leaving.contains(&it)) => {
                    continue;
                }
                OperationResult::Paid(_)
                | OperationResult::NotPaid
                | OperationResult::Loaded(_)
                | OperationResult::Stored(_)
                | OperationResult::Fenced
                | OperationResult::Gathered(_)
                | OperationResult::Ended
                | OperationResult::AuditPassed => {
                    return Err(format!("{record:?} returned {result:?}"));
                }
            };
            let correct = self
                .storable_outcomes(record)
                .filter(|it| outcomes.contains(it));
            let correct: HashSet<CargoId> = correct.map(|it| it.cargo).collect();
            let all = correct == possible && correct.len() == outcomes.len();
            if !(all || (may_be_empty && outcomes.is_empty())) {
                return Err(format!("{record:?} stored {outcomes:?} of {possible:?}"));
            }
            to_settle.push(outcomes);
        }
        for outcomes in to_settle {
            self.settle(outcomes, now, windows);
        }
        Ok(())
    }

    fn holds_claim(&self, record: &RecordOperation) -> bool {
        let holds = |batch| record.claim == LIVE_CLAIM && self.batches.contains_key(&batch);
        record.batch.is_none_or(holds)
    }

    /// The outcomes for the current attempt of open cargo in this batch.
    fn storable_outcomes(
        &self,
        record: &RecordOperation,
    ) -> impl Iterator<Item = GeneratedOutcome> {
        let holds = self.holds_claim(record);
        let outcomes = record.outcomes.iter().copied();
        outcomes.filter(move |outcome| {
            let cargo = &self.cargo[&outcome.cargo];
            holds
                && cargo.outcome.is_none()
                && cargo.attempt == outcome.attempt
                && cargo.batch == record.batch
        })
    }

    fn settle(
        &mut self,
        outcomes: &[GeneratedOutcome],
        now: Timestamp,
        windows: &mut [BalanceWindow],
    ) {
        let mut lines: BTreeMap<usize, ExpectedPosting> = BTreeMap::new();
        for outcome in outcomes {
            let cargo = self.cargo.get_mut(&outcome.cargo).unwrap();
            let settled = cargo
                .hold
                .map(|hold| (hold, hold.expected_settlement(outcome)));
            cargo.outcome = Some(ExpectedOutcome {
                generated: *outcome,
                charged: settled.map(|(_, (charged, ..))| charged),
                // A failure costs us what the provider bills, and the caller nothing.
                cost: TEST_MODELS[outcome.model].expected_cost(outcome.usage),
            });
            self.waiting.remove(&outcome.cargo);
            self.newly_ended.push(outcome.cargo);
            let Some((hold, (charged, lost, tokens))) = settled else {
                continue;
            };
            let account = &mut self.accounts[cargo.organization];
            account.held -= hold.amount;
            account.posted -= charged;
            let reserved_in = account
                .tokens_by_month
                .entry(cargo.loaded_in_month)
                .or_default();
            reserved_in.reserved -= hold.tokens;
            reserved_in.used += tokens;
            windows[cargo.organization].end_hold(&hold, charged, tokens, cargo.loaded_in_month);
            self.over_hold_count += usize::from(lost > 0);
            if (charged, lost) == (0, 0) {
                continue;
            }
            let line = lines
                .entry(cargo.organization)
                .or_insert_with(|| ExpectedPosting {
                    kind: "settlement",
                    at: now,
                    entries: [0; 4],
                    cargo: BTreeSet::new(),
                    reference: None,
                    note: None,
                });
            let change = [-charged, charged + lost, -lost, 0];
            line.entries
                .iter_mut()
                .zip(change)
                .for_each(|(entry, by)| *entry += by);
            line.cargo.insert(outcome.cargo);
        }
        for (organization, line) in lines {
            self.accounts[organization].expected_postings.push(line);
        }
    }
}

/// The batch that an operation ended or split.
fn batch_that_ended((operation, result): &(LedgerOperation, OperationResult)) -> Option<BatchId> {
    match (operation, result) {
        (
            LedgerOperation::End(batch) | LedgerOperation::Split { batch, .. },
            OperationResult::Ended,
        ) => Some(*batch),
        _ => None,
    }
}

fn gathered_cargo((_, result): &(LedgerOperation, OperationResult)) -> Vec<CargoId> {
    if let OperationResult::Gathered(cargo) = result {
        cargo.clone()
    } else {
        Vec::new()
    }
}
