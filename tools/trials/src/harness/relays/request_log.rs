//! Every request to the model's server, and how it ended.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use serde_json::Value;

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEnd {
    /// The model's server was not reachable.
    NotReceived,
    /// One side was killed meanwhile.
    Cut,
    /// With a status other than 200.
    Refused(u16),
    Answered(LoggedAnswer),
}

/// The finish reason and the usage in the model's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedAnswer {
    pub finish_reason: String,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
}

impl RequestEnd {
    pub fn from_response(status: u16, body: &[u8]) -> Self {
        if status != 200 {
            return Self::Refused(status);
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let count = |name: &str| body.pointer(&format!("/usage/{name}"))?.as_u64();
        let reason = body.pointer("/choices/0/finish_reason");
        Self::Answered(LoggedAnswer {
            finish_reason: reason
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            prompt_tokens: count("prompt_tokens").unwrap_or_default(),
            completion_tokens: count("completion_tokens").unwrap_or_default(),
        })
    }
}

/// Whether this is the id of a probe: a worker asks what the server can do, without a cargo.
pub fn is_probe(id: &str) -> bool {
    parse_cargo(id) == Some(0)
}

fn parse_cargo(id: &str) -> Option<u128> {
    let digits = id.strip_prefix("crg_").and_then(|it| it.split('-').next());
    digits.and_then(|it| u128::from_str_radix(it, 16).ok())
}

#[derive(Debug, Default)]
struct LogEntries {
    /// By cargo; none while it is in flight.
    ends: Vec<(u128, Option<RequestEnd>)>,
    max_in_flight: usize,
}

#[derive(Debug, Default)]
pub struct RequestLog(Mutex<LogEntries>);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests that reached the server.
    pub received: usize,
    pub answered: usize,
    pub cut: usize,
    pub refused: usize,
    pub in_flight: usize,
}

impl RequestLog {
    /// Starts a request; `id` names its cargo and its attempt.
    pub fn begin_request(&self, id: &str) -> OpenRequest<'_> {
        let cargo = parse_cargo(id);
        let mut entries = self.0.lock();
        entries.ends.push((cargo.unwrap_or_default(), None));
        let under_way = entries.ends.iter().filter(|(_, end)| end.is_none()).count();
        entries.max_in_flight = entries.max_in_flight.max(under_way);
        OpenRequest {
            log: self,
            index: entries.ends.len() - 1,
        }
    }

    pub fn max_in_flight(&self) -> usize {
        self.0.lock().max_in_flight
    }

    pub fn counts(&self) -> RequestCounts {
        let mut counts = RequestCounts::default();
        for (_, end) in &self.0.lock().ends {
            counts.received += usize::from(*end != Some(RequestEnd::NotReceived));
            match end {
                None => counts.in_flight += 1,
                Some(RequestEnd::NotReceived) => {}
                Some(RequestEnd::Cut) => counts.cut += 1,
                Some(RequestEnd::Refused(_)) => counts.refused += 1,
                Some(RequestEnd::Answered(_)) => counts.answered += 1,
            }
        }
        counts
    }

    pub fn answered_cargo(&self) -> HashSet<u128> {
        self.answers_by_cargo().into_keys().collect()
    }

    /// The answers to each cargo: two, if a killed worker lost the first.
    pub fn answers_by_cargo(&self) -> HashMap<u128, Vec<LoggedAnswer>> {
        let mut answers: HashMap<u128, Vec<LoggedAnswer>> = HashMap::new();
        for (cargo, end) in &self.0.lock().ends {
            if let Some(RequestEnd::Answered(one)) = end {
                answers.entry(*cargo).or_default().push(one.clone());
            }
        }
        answers
    }
}

/// A request in flight; if it is dropped without an end, it counts as cut.
#[derive(Debug)]
pub struct OpenRequest<'a> {
    log: &'a RequestLog,
    index: usize,
}

impl OpenRequest<'_> {
    pub fn end(self, end: RequestEnd) {
        self.record_end(end);
    }

    /// Only the first end counts.
    fn record_end(&self, end: RequestEnd) {
        let mut entries = self.log.0.lock();
        if let Some((_, place)) = entries.ends.get_mut(self.index) {
            place.get_or_insert(end);
        }
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.record_end(RequestEnd::Cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_request_was_cut_and_a_failed_connection_was_not_received() {
        let register = RequestLog::default();
        let answer = br#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
        let id = |cargo: u128| format!("crg_{cargo:032x}-a1");
        let (first, second) = (
            register.begin_request(&id(1)),
            register.begin_request(&id(2)),
        );
        first.end(RequestEnd::from_response(200, answer));
        drop(second);
        register.begin_request(&id(2)).end(RequestEnd::NotReceived);
        register
            .begin_request(&id(2))
            .end(RequestEnd::from_response(503, b""));
        let _third = register.begin_request(&id(2));
        let expected = RequestCounts {
            received: 4,
            answered: 1,
            cut: 1,
            refused: 1,
            in_flight: 1,
        };
        assert_eq!(register.counts(), expected);
        assert_eq!(register.max_in_flight(), 2);
        assert_eq!(register.answers_by_cargo()[&1][0].completion_tokens, 2);
        assert!(is_probe(&id(0)) && !is_probe(&id(1)) && !is_probe(""));
    }
}
