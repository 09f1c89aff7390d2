//! What callers loaded, and the callbacks that arrived for it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::harness::http::keep_alive::find_cargo_id;
use crate::harness::lock::lock;
use crate::harness::measurement::statistics;
use crate::harness::sha256;
use crate::harness::verdict::TrialVerdict;

/// How much of a question the simulator repeats.
const REPEATED_CHARS: usize = 200;
const MAX_SHOWN: usize = 10;

/// An acknowledged cargo.
#[derive(Debug, Clone)]
pub struct LoadedQuestion {
    /// The answer that the simulator must give.
    expected_answer: String,
    model: &'static str,
    /// The index of its organization.
    organization: usize,
    loaded_at: Instant,
}

impl LoadedQuestion {
    pub fn loaded_now(text: &str, model: &'static str, organization: usize) -> Self {
        Self {
            expected_answer: simulator_answer(text),
            model,
            organization,
            loaded_at: Instant::now(),
        }
    }
}

/// The first callback of a cargo, and how many arrived.
#[derive(Debug, Clone)]
pub struct ReceivedAnswer {
    body: Bytes,
    count: u64,
    received_at: Instant,
}

#[derive(Debug, Default)]
pub struct CallbackLog {
    loaded: Mutex<HashMap<u128, LoadedQuestion>>,
    received: Mutex<HashMap<u128, ReceivedAnswer>>,
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
            .check("every cargo got its own answer", self.wrong.is_empty());
        if !self.wrong.is_empty() {
            let shown: Vec<&String> = self.wrong.iter().take(MAX_SHOWN).collect();
            verdict
                .record("wrong", self.wrong.len())
                .record("examples", json!(shown));
        }
    }
}

impl CallbackLog {
    pub fn record_load(&self, cargo: u128, loaded: LoadedQuestion) {
        lock(&self.loaded).insert(cargo, loaded);
    }

    pub fn count_loaded(&self) -> usize {
        lock(&self.loaded).len()
    }

    pub fn is_complete(&self) -> bool {
        let (loaded, received) = (lock(&self.loaded), lock(&self.received));
        received.len() >= loaded.len() && loaded.keys().all(|cargo| received.contains_key(cargo))
    }

    /// The number of different cargo with a callback.
    pub fn count_received(&self) -> usize {
        lock(&self.received).len()
    }

    /// The cargo of one organization.
    pub fn cargo_of(&self, organization: usize) -> Vec<u128> {
        let loaded = lock(&self.loaded);
        let of = loaded
            .iter()
            .filter(|(_, it)| it.organization == organization);
        of.map(|(cargo, _)| *cargo).collect()
    }

    /// Seconds from load to callback, for one organization.
    pub fn callback_seconds_of(&self, organization: usize) -> Vec<f64> {
        let (loaded, received) = (lock(&self.loaded), lock(&self.received));
        let of = loaded
            .iter()
            .filter(|(_, it)| it.organization == organization);
        let waited =
            of.filter_map(|(cargo, loaded)| Some(seconds_waited(loaded, received.get(cargo)?)));
        waited.collect()
    }

    /// From the first load to the last callback.
    pub fn total_seconds(&self) -> f64 {
        let (loaded, received) = (lock(&self.loaded), lock(&self.received));
        let first = loaded.values().map(|it| it.loaded_at).min();
        let last = received.values().map(|it| it.received_at).max();
        let between = first.zip(last);
        between.map_or(0.0, |(first, last)| {
            last.saturating_duration_since(first).as_secs_f64()
        })
    }

    pub fn record_callback(&self, body: Bytes) {
        let Some(cargo) = find_cargo_id(&body) else {
            return;
        };
        let mut received = lock(&self.received);
        let one = received.entry(cargo).or_insert_with(|| ReceivedAnswer {
            body,
            count: 0,
            received_at: Instant::now(),
        });
        one.count += 1;
    }

    pub fn count_successes(&self) -> usize {
        let received = lock(&self.received);
        received.values().filter(|it| is_success(&it.body)).count()
    }

    /// The first callback of each cargo.
    pub fn parse_bodies(&self) -> Vec<Value> {
        let received = lock(&self.received);
        received.values().map(|it| parse_body(&it.body)).collect()
    }

    /// `wrong` returns what is wrong with an answer, if anything.
    pub fn summarize(
        &self,
        wrong: impl Fn(u128, &LoadedQuestion, &Value) -> Option<String>,
    ) -> CallbackSummary {
        let (loaded, received) = (lock(&self.loaded), lock(&self.received));
        let mut sum = CallbackSummary {
            loaded: loaded.len(),
            ..CallbackSummary::default()
        };
        for (cargo, loaded) in loaded.iter() {
            let Some(one) = received.get(cargo) else {
                sum.lost += 1;
                continue;
            };
            sum.callback_seconds.push(seconds_waited(loaded, one));
            if let Some(wrong) = wrong(*cargo, loaded, &parse_body(&one.body)) {
                sum.wrong.push(format!("crg_{cargo:032x}: {wrong}"));
            }
        }
        for (cargo, one) in received.iter() {
            sum.repeated += one.count - 1;
            sum.successes += usize::from(is_success(&one.body));
            if !loaded.contains_key(cargo) {
                sum.wrong
                    .push(format!("crg_{cargo:032x}: callback for unknown cargo"));
            }
        }
        sum
    }
}

fn seconds_waited(loaded: &LoadedQuestion, received: &ReceivedAnswer) -> f64 {
    let waited = received
        .received_at
        .saturating_duration_since(loaded.loaded_at);
    waited.as_secs_f64()
}

fn is_success(body: &[u8]) -> bool {
    parse_body(body).get("success") == Some(&Value::Bool(true))
}

/// Parsed only for the verdict: during the run, the CPU time belongs to the service.
fn parse_body(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Whether the simulator answered another question.
pub fn find_wrong_answer(_: u128, loaded: &LoadedQuestion, body: &Value) -> Option<String> {
    let text = body.pointer("/response/content/0/text");
    let model = body.pointer("/response/model");
    let is_right = text.and_then(Value::as_str) == Some(&loaded.expected_answer)
        && model.and_then(Value::as_str) == Some(loaded.model);
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
    use super::*;

    #[test]
    fn an_answer_to_another_question_is_wrong() {
        let log = CallbackLog::default();
        for (cargo, text) in [(1, "one"), (2, "two"), (3, "three")] {
            log.record_load(cargo, LoadedQuestion::loaded_now(text, "m", 7));
        }
        for (cargo, text) in [(1_u128, "one"), (1, "one"), (2, "one")] {
            let text = simulator_answer(text);
            let body = format!(
                r#"{{"cargo_id":"crg_{cargo:032x}","success":true,"response":{{"model":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            );
            log.record_callback(Bytes::from(body));
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
