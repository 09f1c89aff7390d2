//! Every question that the model's server was asked, and how it ended.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Nobody was there to hear it.
    NotAsked,
    /// One of the two was killed meanwhile.
    Cut,
    /// With a status that is no answer.
    TurnedAway(u16),
    Answered(Said),
}

/// What the model's server said of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub finish_reason: String,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
}

impl End {
    pub fn of(status: u16, body: &[u8]) -> Self {
        if status != 200 {
            return Self::TurnedAway(status);
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let count = |name: &str| body.pointer(&format!("/usage/{name}"))?.as_u64();
        let reason = body.pointer("/choices/0/finish_reason");
        Self::Answered(Said {
            finish_reason: reason
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            prompt_tokens: count("prompt_tokens").unwrap_or_default(),
            completion_tokens: count("completion_tokens").unwrap_or_default(),
        })
    }
}

#[derive(Debug, Default)]
struct Entries {
    /// By cargo; nothing while it is under way.
    ends: Vec<(u128, Option<End>)>,
    most_at_once: usize,
}

#[derive(Debug, Default)]
pub struct Register(Mutex<Entries>);

/// What the register comes to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// That reached the server.
    pub asked: usize,
    pub answered: usize,
    pub cut: usize,
    pub turned_away: usize,
    pub under_way: usize,
}

impl Register {
    /// A question that says which cargo it is of, and which attempt.
    pub fn begin(&self, id: &str) -> Question<'_> {
        let digits = id.strip_prefix("crg_").and_then(|it| it.split('-').next());
        let cargo = digits.and_then(|it| u128::from_str_radix(it, 16).ok());
        let mut entries = self.open();
        entries.ends.push((cargo.unwrap_or_default(), None));
        let under_way = entries.ends.iter().filter(|(_, end)| end.is_none()).count();
        entries.most_at_once = entries.most_at_once.max(under_way);
        Question {
            register: self,
            place: entries.ends.len() - 1,
        }
    }

    pub fn most_at_once(&self) -> usize {
        self.open().most_at_once
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (_, end) in &self.open().ends {
            counts.asked += usize::from(*end != Some(End::NotAsked));
            match end {
                None => counts.under_way += 1,
                Some(End::NotAsked) => {}
                Some(End::Cut) => counts.cut += 1,
                Some(End::TurnedAway(_)) => counts.turned_away += 1,
                Some(End::Answered(_)) => counts.answered += 1,
            }
        }
        counts
    }

    /// The cargo that had an answer.
    pub fn answered(&self) -> HashSet<u128> {
        self.said().into_keys().collect()
    }

    /// The answers to each cargo: two, if the first was lost with a worker.
    pub fn said(&self) -> HashMap<u128, Vec<Said>> {
        let mut said: HashMap<u128, Vec<Said>> = HashMap::new();
        for (cargo, end) in &self.open().ends {
            if let Some(End::Answered(one)) = end {
                said.entry(*cargo).or_default().push(one.clone());
            }
        }
        said
    }

    fn open(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that is under way; dropped without an end, it was cut.
#[derive(Debug)]
pub struct Question<'a> {
    register: &'a Register,
    place: usize,
}

impl Question<'_> {
    pub fn end(self, end: End) {
        self.note(end);
    }

    /// The first word counts.
    fn note(&self, end: End) {
        let mut entries = self.register.open();
        if let Some((_, place)) = entries.ends.get_mut(self.place) {
            place.get_or_insert(end);
        }
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.note(End::Cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_answered_was_cut_and_what_nobody_heard_was_not_asked() {
        let register = Register::default();
        let answer = br#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
        let id = |cargo: u128| format!("crg_{cargo:032x}-a1");
        let (first, second) = (register.begin(&id(1)), register.begin(&id(2)));
        first.end(End::of(200, answer));
        drop(second);
        register.begin(&id(2)).end(End::NotAsked);
        register.begin(&id(2)).end(End::of(503, b""));
        let _third = register.begin(&id(2));
        let expected = Counts {
            asked: 4,
            answered: 1,
            cut: 1,
            turned_away: 1,
            under_way: 1,
        };
        assert_eq!(register.counts(), expected);
        assert_eq!(register.most_at_once(), 2);
        assert_eq!(register.said()[&1][0].completion_tokens, 2);
    }
}
