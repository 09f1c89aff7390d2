//! Which events a history has covered: one without faults proves nothing.

use std::collections::BTreeMap;
use std::fmt;

use store::shard::credit::PaymentResult;

use super::client::ObservedResult;
use super::history::RoundFault;
use super::operation::{
    GeneratedOutcome, LedgerLoadResult, LedgerOperation, OperationResult, TEST_MODELS,
};

/// The events that a history of the default length must contain.
const REQUIRED_EVENTS: [&str; 26] = [
    LOADED_EVENT,
    "replayed",
    "found on retry",
    "key reused",
    "refused for credit",
    "refused for quota",
    "paid",
    "already posted",
    "reference used",
    "insufficient credit to withdraw",
    "settled",
    "released",
    "cost above the hold",
    "held for a cache write",
    "charged with cached tokens",
    "charged beyond a price step",
    "failure that cost us",
    "skipped",
    "fenced",
    "gathered",
    "batch ended or split",
    "answer lost",
    "committed without an answer",
    "not committed",
    "crossed a month",
    "audited during a round",
];
const LOADED_EVENT: &str = "loaded";
/// A write that PostgreSQL rolled back, or a load that its process answered with 503, although the
/// round has no fault.
const UNFINISHED_EVENT: &str = "unfinished in a round without a fault";

#[derive(Debug, Default)]
pub(super) struct EventCoverage(BTreeMap<&'static str, u64>);

impl EventCoverage {
    pub(super) fn count(&mut self, event: &'static str, times: usize) {
        *self.0.entry(event).or_default() += u64::try_from(times).unwrap();
    }

    /// How many operations were not finished in rounds without a fault.
    pub(super) fn unfinished(&self) -> u64 {
        self.0.get(UNFINISHED_EVENT).copied().unwrap_or_default()
    }

    pub(super) fn missing_events(&self) -> Vec<&'static str> {
        let never = |event: &&str| self.0.get(event).is_none_or(|count| *count == 0);
        REQUIRED_EVENTS.into_iter().filter(never).collect()
    }

    pub(super) fn count_observed(&mut self, observed: &[ObservedResult], fault: RoundFault) {
        for observed in observed {
            let lost = match observed {
                ObservedResult::Complete(_) => 0,
                ObservedResult::Loads(loads) => loads.iter().filter(|load| load.is_none()).count(),
                ObservedResult::Unknown => 1,
            };
            let event = match fault {
                RoundFault::None => UNFINISHED_EVENT,
                RoundFault::ClientsDropped | RoundFault::ConnectionsCut => "answer lost",
            };
            self.count(event, lost);
        }
    }

    pub(super) fn count_results(&mut self, round: &[(LedgerOperation, OperationResult)]) {
        for (operation, result) in round {
            self.count_marked_loads(operation, result);
            match result {
                OperationResult::Loaded(loads) => loads
                    .iter()
                    .for_each(|load| self.count(event_name(load), 1)),
                OperationResult::Paid(PaymentResult::Posted { .. }) => self.count("paid", 1),
                OperationResult::Paid(PaymentResult::AlreadyPosted { .. }) => {
                    self.count("already posted", 1);
                }
                OperationResult::Paid(PaymentResult::ReferenceUsed { .. }) => {
                    self.count("reference used", 1);
                }
                OperationResult::Paid(PaymentResult::InsufficientCredit { .. }) => {
                    self.count("insufficient credit to withdraw", 1);
                }
                OperationResult::Paid(
                    PaymentResult::BalanceOverflow | PaymentResult::NoAccount,
                ) => self.count("odd", 1),
                OperationResult::NotPaid => self.count("not committed", 1),
                OperationResult::Stored(outcomes)
                | OperationResult::StoredWithoutAnswer(outcomes) => {
                    let settled = outcomes.iter().filter(|it| it.success).count();
                    self.count("settled", settled);
                    self.count("released", outcomes.len() - settled);
                    self.count_buckets(outcomes);
                    if matches!(result, OperationResult::Stored(_)) {
                        let offered = usize::try_from(operation.size()).unwrap();
                        self.count("skipped", offered - outcomes.len());
                    } else if outcomes.is_empty() {
                        self.count("not committed", 1);
                    } else {
                        self.count("committed without an answer", 1);
                    }
                }
                OperationResult::Fenced => self.count("fenced", 1),
                OperationResult::Gathered(cargo) => self.count("gathered", cargo.len()),
                OperationResult::Ended => self.count("batch ended or split", 1),
                OperationResult::AuditPassed => self.count("audited during a round", 1),
            }
        }
    }
}

impl EventCoverage {
    fn count_marked_loads(&mut self, operation: &LedgerOperation, result: &OperationResult) {
        if let (LedgerOperation::Load(loads), OperationResult::Loaded(loaded)) = (operation, result)
        {
            let marked = loads.iter().zip(loaded).filter(|(load, loaded)| {
                matches!(loaded, LedgerLoadResult::New(_))
                    && load.hold.is_some()
                    && load.body.contains("cache_control")
            });
            self.count("held for a cache write", marked.count());
        }
    }

    fn count_buckets(&mut self, outcomes: &[GeneratedOutcome]) {
        for outcome in outcomes {
            let model = &TEST_MODELS[outcome.model];
            let (usage, success) = (outcome.usage, outcome.success);
            let is_cached = success && model.has_features() && usage.cached > 0;
            let is_stepped = success && model.is_beyond_step(usage);
            let is_costly = !success && model.expected_cost(usage).is_some_and(|cost| cost > 0);
            self.count("charged with cached tokens", usize::from(is_cached));
            self.count("charged beyond a price step", usize::from(is_stepped));
            self.count("failure that cost us", usize::from(is_costly));
        }
    }
}

const fn event_name(result: &LedgerLoadResult) -> &'static str {
    match result {
        LedgerLoadResult::New(_) => LOADED_EVENT,
        LedgerLoadResult::Replay(_) => "replayed",
        LedgerLoadResult::FoundOnRetry(_) => "found on retry",
        LedgerLoadResult::InsufficientCredit { .. } => "refused for credit",
        LedgerLoadResult::QuotaExceeded { .. } => "refused for quota",
        LedgerLoadResult::KeyReused => "key reused",
    }
}

impl fmt::Display for EventCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (event, count) in &self.0 {
            write!(f, "{event} {count}, ")?;
        }
        Ok(())
    }
}
