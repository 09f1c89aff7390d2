//! What a history has been through: one in which nothing went wrong proves nothing.

use std::collections::BTreeMap;
use std::fmt;

use store::shard::credit::Paid;

use super::operation::{Fact, Loaded, Operation};
use super::world::Known;

/// Everything that a history of the usual length must have met.
const ALL: [&str; 22] = [
    LOADED,
    "replayed",
    "found when asked again",
    "key reused",
    "refused for credit",
    "refused for quota",
    "paid",
    "paid before",
    "reference used",
    "too little to withdraw",
    "settled",
    "released",
    "beyond the hold",
    "passed over",
    "claim was gone",
    "gathered",
    "batch ended or halved",
    "cut off",
    "had happened",
    "had not happened",
    "crossed a month",
    "audited meanwhile",
];
const LOADED: &str = "loaded";

#[derive(Debug, Default)]
pub(super) struct Seen(BTreeMap<&'static str, u64>);

impl Seen {
    pub(super) fn count(&mut self, what: &'static str, times: usize) {
        *self.0.entry(what).or_default() += u64::try_from(times).unwrap();
    }

    pub(super) fn missing(&self) -> Vec<&'static str> {
        let never = |what: &&str| self.0.get(what).is_none_or(|count| *count == 0);
        ALL.into_iter().filter(never).collect()
    }

    pub(super) fn known(&mut self, known: &[Known]) {
        for known in known {
            let lost = match known {
                Known::Fact(_) => 0,
                Known::Loads(loads) => loads.iter().filter(|load| load.is_none()).count(),
                Known::Nothing => 1,
            };
            self.count("cut off", lost);
        }
    }

    pub(super) fn facts(&mut self, round: &[(Operation, Fact)]) {
        for (operation, fact) in round {
            match fact {
                Fact::Loaded(loads) => loads.iter().for_each(|load| self.count(named(load), 1)),
                Fact::Paid(Paid::Posted { .. }) => self.count("paid", 1),
                Fact::Paid(Paid::Before { .. }) => self.count("paid before", 1),
                Fact::Paid(Paid::ReferenceUsed { .. }) => self.count("reference used", 1),
                Fact::Paid(Paid::TooLittle { .. }) => self.count("too little to withdraw", 1),
                Fact::Paid(Paid::TooMuch | Paid::NoAccount) => self.count("odd", 1),
                Fact::NotPaid => self.count("had not happened", 1),
                Fact::Stored(given) | Fact::StoredOrNot(given) => {
                    let settled = given.iter().filter(|it| it.success).count();
                    self.count("settled", settled);
                    self.count("released", given.len() - settled);
                    if matches!(fact, Fact::Stored(_)) {
                        let offered = usize::try_from(operation.size()).unwrap();
                        self.count("passed over", offered - given.len());
                    } else if given.is_empty() {
                        self.count("had not happened", 1);
                    } else {
                        self.count("had happened", 1);
                    }
                }
                Fact::Moved => self.count("claim was gone", 1),
                Fact::Gathered(cargo) => self.count("gathered", cargo.len()),
                Fact::Ended => self.count("batch ended or halved", 1),
                Fact::Sound => self.count("audited meanwhile", 1),
            }
        }
    }
}

const fn named(loaded: &Loaded) -> &'static str {
    match loaded {
        Loaded::New(_) => LOADED,
        Loaded::Replay(_) => "replayed",
        Loaded::Found(_) => "found when asked again",
        Loaded::NoCredit { .. } => "refused for credit",
        Loaded::NoQuota { .. } => "refused for quota",
        Loaded::KeyReused => "key reused",
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.0 {
            write!(f, "{what} {count}, ")?;
        }
        Ok(())
    }
}
