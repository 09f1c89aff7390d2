//! What the oracle says of outcomes: who may store which, and what becomes of the holds.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::id::{BatchId, CargoId};
use domain::time::Timestamp;

use super::operation::{Fact, Given, OURS, Operation, Record};
use super::oracle::{Checked, Ended, Line, Oracle};
use super::window::Window;

impl Oracle {
    /// Whoever wants to store outcomes stores all that can be stored and that no other had stored.
    pub(super) fn record(
        &mut self,
        round: &[(Operation, Fact)],
        now: Timestamp,
        windows: &mut [Window],
    ) -> Checked {
        let leaving: HashSet<BatchId> = round.iter().filter_map(leaves).collect();
        let gathered: HashSet<CargoId> = round.iter().flat_map(gathered).collect();
        let mut stored: HashMap<CargoId, &Record> = HashMap::new();
        for (operation, fact) in round {
            let (Operation::Record(record), Fact::Stored(given) | Fact::StoredOrNot(given)) =
                (operation, fact)
            else {
                continue;
            };
            for one in given {
                if let Some(other) = stored.insert(one.cargo, record) {
                    return Err(format!("{one:?} was stored by {record:?} and {other:?}"));
                }
            }
        }
        let mut to_settle = Vec::new();
        for (operation, fact) in round {
            let Operation::Record(record) = operation else {
                continue;
            };
            let by_others = |cargo: &CargoId| {
                let by = stored.get(cargo);
                gathered.contains(cargo) || by.is_some_and(|by| by.tag != record.tag)
            };
            let mut possible: HashSet<CargoId> = self.possible(record).map(|it| it.cargo).collect();
            possible.retain(|cargo| !by_others(cargo));
            let (given, nothing_too) = match fact {
                Fact::Stored(given) if self.holds(record) => (given.as_slice(), false),
                Fact::StoredOrNot(given) => (given.as_slice(), true),
                Fact::Moved if !self.holds(record) => continue,
                Fact::Moved if record.batch.is_some_and(|it| leaving.contains(&it)) => continue,
                Fact::Paid(_)
                | Fact::NotPaid
                | Fact::Loaded(_)
                | Fact::Stored(_)
                | Fact::Moved
                | Fact::Gathered(_)
                | Fact::Ended
                | Fact::Sound => return Err(format!("{record:?} came to {fact:?}")),
            };
            let right = self.possible(record).filter(|one| given.contains(one));
            let right: HashSet<CargoId> = right.map(|it| it.cargo).collect();
            let all = right == possible && right.len() == given.len();
            if !(all || (nothing_too && given.is_empty())) {
                return Err(format!("{record:?} stored {given:?} of {possible:?}"));
            }
            to_settle.push(given);
        }
        for given in to_settle {
            self.settle(given, now, windows);
        }
        Ok(())
    }

    fn holds(&self, record: &Record) -> bool {
        let theirs = |batch| record.claim == OURS && self.batches.contains_key(&batch);
        record.batch.is_none_or(theirs)
    }

    /// What of it belongs to open cargo that stands there in this very attempt.
    fn possible(&self, record: &Record) -> impl Iterator<Item = Given> {
        let holds = self.holds(record);
        let given = record.given.iter().copied();
        given.filter(move |one| {
            let cargo = &self.cargo[&one.cargo];
            holds
                && cargo.ended.is_none()
                && cargo.attempt == one.attempt
                && cargo.batch == record.batch
        })
    }

    fn settle(&mut self, given: &[Given], now: Timestamp, windows: &mut [Window]) {
        let mut lines: BTreeMap<usize, Line> = BTreeMap::new();
        for one in given {
            let cargo = self.cargo.get_mut(&one.cargo).unwrap();
            let settled = cargo.hold.map(|hold| (hold, hold.settled(one)));
            cargo.ended = Some(Ended {
                given: *one,
                charged: settled.map(|(_, (charged, ..))| charged),
            });
            self.waiting.remove(&one.cargo);
            self.ended.push(one.cargo);
            let Some((hold, (charged, lost, tokens))) = settled else {
                continue;
            };
            let account = &mut self.accounts[cargo.organization];
            account.held -= hold.amount;
            account.posted -= charged;
            let reserved_in = account.months.entry(cargo.loaded_at).or_default();
            reserved_in.reserved -= hold.tokens;
            reserved_in.used += tokens;
            windows[cargo.organization].ended(&hold, charged, tokens, cargo.loaded_at);
            self.beyond += usize::from(lost > 0);
            if (charged, lost) == (0, 0) {
                continue;
            }
            let line = lines.entry(cargo.organization).or_insert_with(|| Line {
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
            line.cargo.insert(one.cargo);
        }
        for (organization, line) in lines {
            self.accounts[organization].expected.push(line);
        }
    }
}

/// The batch that is no longer where it was.
fn leaves((operation, fact): &(Operation, Fact)) -> Option<BatchId> {
    match (operation, fact) {
        (Operation::End(batch) | Operation::Halve { batch, .. }, Fact::Ended) => Some(*batch),
        _ => None,
    }
}

fn gathered((_, fact): &(Operation, Fact)) -> Vec<CargoId> {
    if let Fact::Gathered(cargo) = fact {
        cargo.clone()
    } else {
        Vec::new()
    }
}
