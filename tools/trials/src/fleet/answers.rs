//! The callers' side: what was asked, and what came back for it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::connection::cargo_id;
use crate::digest;
use crate::figures;
use crate::verdict::Verdict;

/// How much of a question the simulator repeats.
const REPEATED: usize = 200;
/// So many of what is wrong are shown.
const SHOWN: usize = 10;

/// An acknowledged cargo.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What the simulator says to it.
    answer: String,
    model: &'static str,
    /// Its organization's place in the list.
    organization: usize,
    at: Instant,
}

impl Asked {
    /// Asked at this moment.
    pub fn now(text: &str, model: &'static str, organization: usize) -> Self {
        Self {
            answer: answer_to(text),
            model,
            organization,
            at: Instant::now(),
        }
    }
}

/// What came for a cargo: the first callback, and how often it came.
#[derive(Debug, Clone)]
pub struct Came {
    body: Bytes,
    count: u64,
    at: Instant,
}

#[derive(Debug, Default)]
pub struct Book {
    asked: Mutex<HashMap<u128, Asked>>,
    came: Mutex<HashMap<u128, Came>>,
}

/// What the book comes to.
#[derive(Debug, Default)]
pub struct Sum {
    pub asked: usize,
    pub lost: usize,
    pub successes: usize,
    pub repeated: u64,
    /// Answers to another question, failures, callbacks for nobody.
    pub wrong: Vec<String>,
    pub seconds: Vec<f64>,
}

impl Sum {
    pub fn judge(&mut self, verdict: &mut Verdict) {
        verdict
            .note("loaded", self.asked)
            .note("lost", self.lost)
            .note("successes", self.successes)
            .note("callbacks_repeated", self.repeated)
            .note("seconds_to_callback", figures::spread(&mut self.seconds))
            .promise("something was loaded", self.asked > 0)
            .promise("no cargo is lost", self.lost == 0)
            .promise("every cargo got its own answer", self.wrong.is_empty());
        if !self.wrong.is_empty() {
            let shown: Vec<&String> = self.wrong.iter().take(SHOWN).collect();
            verdict
                .note("wrong", self.wrong.len())
                .note("some_of_them", json!(shown));
        }
    }
}

impl Book {
    pub fn ask(&self, cargo: u128, asked: Asked) {
        open(&self.asked).insert(cargo, asked);
    }

    pub fn asked(&self) -> usize {
        open(&self.asked).len()
    }

    pub fn is_complete(&self) -> bool {
        let (asked, came) = (open(&self.asked), open(&self.came));
        came.len() >= asked.len() && asked.keys().all(|cargo| came.contains_key(cargo))
    }

    /// Different cargo that a callback came for.
    pub fn came(&self) -> usize {
        open(&self.came).len()
    }

    /// What was loaded for an organization.
    pub fn of(&self, organization: usize) -> Vec<u128> {
        let asked = open(&self.asked);
        let of = asked
            .iter()
            .filter(|(_, it)| it.organization == organization);
        of.map(|(cargo, _)| *cargo).collect()
    }

    /// From load to callback, for an organization.
    pub fn seconds_of(&self, organization: usize) -> Vec<f64> {
        let (asked, came) = (open(&self.asked), open(&self.came));
        let of = asked
            .iter()
            .filter(|(_, it)| it.organization == organization);
        let waited = of.filter_map(|(cargo, asked)| Some(waited(asked, came.get(cargo)?)));
        waited.collect()
    }

    /// From the first load to the last callback.
    pub fn seconds(&self) -> f64 {
        let (asked, came) = (open(&self.asked), open(&self.came));
        let first = asked.values().map(|it| it.at).min();
        let last = came.values().map(|it| it.at).max();
        let between = first.zip(last);
        between.map_or(0.0, |(first, last)| {
            last.saturating_duration_since(first).as_secs_f64()
        })
    }

    pub fn take(&self, body: Bytes) {
        let Some(cargo) = cargo_id(&body) else {
            return;
        };
        let mut came = open(&self.came);
        let one = came.entry(cargo).or_insert_with(|| Came {
            body,
            count: 0,
            at: Instant::now(),
        });
        one.count += 1;
    }

    pub fn successes(&self) -> usize {
        let came = open(&self.came);
        came.values().filter(|it| is_success(&it.body)).count()
    }

    /// The first callback of each cargo.
    pub fn bodies(&self) -> Vec<Value> {
        let came = open(&self.came);
        came.values().map(|it| read(&it.body)).collect()
    }

    /// `wrong` says what is wrong with an answer, if anything is.
    pub fn sum(&self, wrong: impl Fn(u128, &Asked, &Value) -> Option<String>) -> Sum {
        let (asked, came) = (open(&self.asked), open(&self.came));
        let mut sum = Sum {
            asked: asked.len(),
            ..Sum::default()
        };
        for (cargo, asked) in asked.iter() {
            let Some(one) = came.get(cargo) else {
                sum.lost += 1;
                continue;
            };
            sum.seconds.push(waited(asked, one));
            if let Some(wrong) = wrong(*cargo, asked, &read(&one.body)) {
                sum.wrong.push(format!("crg_{cargo:032x}: {wrong}"));
            }
        }
        for (cargo, one) in came.iter() {
            sum.repeated += one.count - 1;
            sum.successes += usize::from(is_success(&one.body));
            if !asked.contains_key(cargo) {
                sum.wrong.push(format!("crg_{cargo:032x}: nobody asked"));
            }
        }
        sum
    }
}

fn waited(asked: &Asked, came: &Came) -> f64 {
    let waited = came.at.saturating_duration_since(asked.at);
    waited.as_secs_f64()
}

fn is_success(body: &[u8]) -> bool {
    read(body).get("success") == Some(&Value::Bool(true))
}

/// Read when it is judged: while callbacks come, others need the time.
fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Whether the simulator answered another question.
pub fn wrong(_: u128, asked: &Asked, body: &Value) -> Option<String> {
    let text = body.pointer("/response/content/0/text");
    let model = body.pointer("/response/model");
    let is_right = text.and_then(Value::as_str) == Some(&asked.answer)
        && model.and_then(Value::as_str) == Some(asked.model);
    (!is_right).then(|| body.to_string())
}

/// The simulator's rule of answers: see docs/simulator.md.
fn answer_to(question: &str) -> String {
    let digest = digest::hex_of(question.as_bytes());
    let beginning: String = question.chars().take(REPEATED).collect();
    format!("sim:{} {beginning}", digest.get(..16).unwrap_or_default())
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_another_question_is_wrong() {
        let book = Book::default();
        for (cargo, text) in [(1, "one"), (2, "two"), (3, "three")] {
            book.ask(cargo, Asked::now(text, "m", 7));
        }
        for (cargo, text) in [(1_u128, "one"), (1, "one"), (2, "one")] {
            let text = answer_to(text);
            let body = format!(
                r#"{{"cargo_id":"crg_{cargo:032x}","success":true,"response":{{"model":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            );
            book.take(Bytes::from(body));
        }
        let sum = book.sum(wrong);
        assert_eq!((sum.asked, sum.lost, sum.repeated), (3, 1, 1));
        assert_eq!((sum.successes, sum.wrong.len()), (2, 1));
        assert_eq!((book.of(7).len(), book.seconds_of(7).len()), (3, 2));
        assert_eq!(book.of(8).len(), 0);
        assert!(!book.is_complete());
    }
}
