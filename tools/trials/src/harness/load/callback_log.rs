//! What callers loaded, and the callbacks that arrived for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::harness::load::load_log::{LoadLog, LoadRecord};
use crate::harness::measurement::statistics;
use crate::harness::sha256;
use crate::harness::{CallbackReceipts, TrialVerdict};

/// How much of a question the simulator repeats.
const REPEATED_CHARS: usize = 200;

/// The answer that the simulator must give to an acknowledged cargo.
#[derive(Debug, Clone)]
pub struct ExpectedAnswer {
    text: String,
    model: &'static str,
}

#[derive(Debug)]
pub struct CallbackLog {
    pub load_log: LoadLog,
    expected: Mutex<HashMap<u128, ExpectedAnswer>>,
    /// Of a sink that keeps bodies.
    receipts: Arc<CallbackReceipts>,
}

#[derive(Debug, Default)]
pub struct CallbackSummary {
    pub loaded: usize,
    pub lost: usize,
    pub successes: usize,
    pub repeated: u64,
    /// Answers to another question, failures, and callbacks for unknown cargo.
    pub wrong: Vec<String>,
    pub callback_seconds: Vec<f64>,
}

impl CallbackSummary {
    pub fn judge(&mut self, verdict: &mut TrialVerdict) {
        verdict
            .record("loaded", self.loaded)
            .record("lost", self.lost)
            .record("successes", self.successes)
            .record("callbacks_repeated", self.repeated)
            .record(
                "seconds_to_callback",
                statistics::summarize(&mut self.callback_seconds),
            )
            .check("something was loaded", self.loaded > 0)
            .check("no cargo is lost", self.lost == 0)
            .check_none("every cargo got its own answer", "wrong", &self.wrong);
    }
}

impl CallbackLog {
    pub fn new(receipts: &Arc<CallbackReceipts>) -> Self {
        Self {
            load_log: LoadLog::default(),
            expected: Mutex::default(),
            receipts: Arc::clone(receipts),
        }
    }

    /// Records a load with this question; its label is the model.
    pub fn record_load(&self, load: LoadRecord, question: &str) {
        if let Some(cargo) = load.cargo {
            let expected = ExpectedAnswer {
                text: simulator_answer(question),
                model: load.source.label,
            };
            self.expected.lock().insert(cargo, expected);
        }
        self.load_log.record(load);
    }

    pub fn count_loaded(&self) -> usize {
        self.expected.lock().len()
    }

    pub fn is_complete(&self) -> bool {
        let expected = self.expected.lock();
        self.count_received() >= expected.len()
            && expected.keys().all(|it| self.receipts.find(*it).is_some())
    }

    /// The number of different cargo with a callback.
    pub fn count_received(&self) -> usize {
        usize::try_from(self.receipts.count_cargo()).unwrap_or(usize::MAX)
    }

    /// Every cargo with a callback.
    pub fn received_cargo(&self) -> HashSet<u128> {
        self.receipts.bodies().into_keys().collect()
    }

    /// The cargo of one organization.
    pub fn cargo_of(&self, organization: usize) -> Vec<u128> {
        let loads = self.loads_of(organization);
        loads.iter().filter_map(|load| load.cargo).collect()
    }

    /// Seconds from load to callback, for one organization.
    pub fn callback_seconds_of(&self, organization: usize) -> Vec<f64> {
        let loads = self.loads_of(organization);
        loads
            .iter()
            .filter_map(|it| self.seconds_waited(it))
            .collect()
    }

    fn loads_of(&self, organization: usize) -> Vec<LoadRecord> {
        let load_log = &self.load_log;
        load_log.select(|load| load.source.organization == organization)
    }

    /// From load to callback, if it has arrived.
    fn seconds_waited(&self, load: &LoadRecord) -> Option<f64> {
        let receipt = self.receipts.find(load.cargo?)?;
        let waited = receipt.first_at.saturating_duration_since(load.began_at);
        Some(waited.as_secs_f64())
    }

    /// From the first load to the last callback.
    pub fn total_seconds(&self) -> f64 {
        let loads = self.load_log.acknowledged();
        let first = loads.values().map(|load| load.began_at).min();
        let received = loads.keys().filter_map(|cargo| self.receipts.find(*cargo));
        let between = first.zip(received.map(|receipt| receipt.first_at).max());
        between.map_or(0.0, |(first, last)| {
            last.saturating_duration_since(first).as_secs_f64()
        })
    }

    pub fn count_successes(&self) -> u64 {
        let bodies = self.receipts.bodies();
        bodies
            .values()
            .map(|body| u64::from(is_success(body)))
            .sum()
    }

    /// The first callback of each cargo.
    pub fn parse_bodies(&self) -> Vec<Value> {
        let bodies = self.receipts.bodies();
        bodies.values().map(|body| parse_body(body)).collect()
    }

    /// `wrong` returns what is wrong with an answer, if anything.
    pub fn summarize(
        &self,
        wrong: impl Fn(u128, &ExpectedAnswer, &Value) -> Option<String>,
    ) -> CallbackSummary {
        let (loaded, bodies) = (self.load_log.acknowledged(), self.receipts.bodies());
        let expected = self.expected.lock();
        let mut sum = CallbackSummary {
            loaded: expected.len(),
            repeated: self.receipts.count_duplicates(),
            callback_seconds: loaded
                .values()
                .filter_map(|it| self.seconds_waited(it))
                .collect(),
            ..CallbackSummary::default()
        };
        for (cargo, expected) in expected.iter() {
            let Some(body) = bodies.get(cargo) else {
                sum.lost += 1;
                continue;
            };
            if let Some(wrong) = wrong(*cargo, expected, &parse_body(body)) {
                sum.wrong.push(format!("crg_{cargo:032x}: {wrong}"));
            }
        }
        for (cargo, body) in &bodies {
            sum.successes += usize::from(is_success(body));
            if !expected.contains_key(cargo) {
                sum.wrong
                    .push(format!("crg_{cargo:032x}: callback for unknown cargo"));
            }
        }
        sum
    }
}

fn is_success(body: &[u8]) -> bool {
    parse_body(body).get("success") == Some(&Value::Bool(true))
}

/// Parsed only for the verdict: during the run, the CPU time belongs to the service.
fn parse_body(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Whether the simulator answered another question.
pub fn find_wrong_answer(_: u128, expected: &ExpectedAnswer, body: &Value) -> Option<String> {
    let text = body.pointer("/response/content/0/text");
    let model = body.pointer("/response/model");
    let is_right = text.and_then(Value::as_str) == Some(&expected.text)
        && model.and_then(Value::as_str) == Some(expected.model);
    (!is_right).then(|| body.to_string())
}

/// The simulator's rule for answers: see docs/simulator.md.
fn simulator_answer(question: &str) -> String {
    let digest = sha256::sha256_hex(question.as_bytes());
    let beginning: String = question.chars().take(REPEATED_CHARS).collect();
    format!("sim:{} {beginning}", digest.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::harness::load::load_log::LoadSource;

    #[test]
    fn an_answer_to_another_question_is_wrong() {
        let receipts = Arc::new(CallbackReceipts::new(true));
        let log = CallbackLog::new(&receipts);
        for (cargo, text) in [(1, "one"), (2, "two"), (3, "three")] {
            let load = LoadRecord {
                source: LoadSource {
                    organization: 7,
                    client: None,
                    label: "m",
                },
                began_at: Instant::now(),
                duration: Duration::ZERO,
                answer: "202".to_owned(),
                cargo: Some(cargo),
            };
            log.record_load(load, text);
        }
        for (cargo, text) in [(1_u128, "one"), (1, "one"), (2, "one")] {
            let text = simulator_answer(text);
            let body = format!(
                r#"{{"cargo_id":"crg_{cargo:032x}","success":true,"response":{{"model":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            );
            receipts.record_callback(&body.into());
        }
        let sum = log.summarize(find_wrong_answer);
        assert_eq!((sum.loaded, sum.lost, sum.repeated), (3, 1, 1));
        assert_eq!((sum.successes, sum.wrong.len()), (2, 1));
        assert_eq!(
            (log.cargo_of(7).len(), log.callback_seconds_of(7).len()),
            (3, 2)
        );
        assert_eq!(log.cargo_of(8).len(), 0);
        assert!(!log.is_complete());
    }
}
