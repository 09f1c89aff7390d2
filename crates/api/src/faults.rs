//! Checks that go on after the first fault, so that a caller sees every one.

use std::borrow::Cow;

use wire::detail::{Fault, Step};

/// More faults than this help nobody, and a hostile body could have millions.
const MOST: usize = 100;

/// Faults found so far, and the place in the request that is being read.
#[derive(Debug)]
pub(crate) struct Faults {
    place: Vec<Step>,
    found: Vec<Fault>,
}

impl Faults {
    pub(crate) fn under(place: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            place: place.into_iter().map(Step::Key).collect(),
            found: Vec::new(),
        }
    }

    /// Goes one step further into the request, and back.
    pub(crate) fn within<T>(&mut self, step: Step, read: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(step);
        let value = read(self);
        self.place.pop();
        value
    }

    /// Something is wrong with the place as a whole.
    pub(crate) fn note(&mut self, kind: &'static str, msg: impl Into<Cow<'static, str>>) {
        if self.found.len() < MOST {
            self.found.push(Fault {
                kind,
                loc: self.place.clone(),
                msg: msg.into(),
            });
        }
    }

    /// Something is wrong with what stands at `key` of the place.
    pub(crate) fn note_at(
        &mut self,
        key: &'static str,
        kind: &'static str,
        msg: impl Into<Cow<'static, str>>,
    ) {
        self.within(Step::Key(key), |faults| faults.note(kind, msg));
    }

    /// What was read, if nothing was wrong with it.
    pub(crate) fn into_result<T>(self, value: Option<T>) -> Result<T, Vec<Fault>> {
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(self.found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_know_their_place() {
        let mut faults = Faults::under(["body", "params"]);
        faults.within(Step::Key("messages"), |faults| {
            faults.within(Step::Index(2), |faults| {
                faults.note_at("role", "missing", "Field required");
            });
        });
        faults.note("value_error", "max_tokens is required for chat requests");
        let found = faults.into_result(Some(())).unwrap_err();
        let json = serde_json::to_string(&found).unwrap();
        insta::assert_snapshot!(json, @r#"[{"type":"missing","loc":["body","params","messages",2,"role"],"msg":"Field required"},{"type":"value_error","loc":["body","params"],"msg":"max_tokens is required for chat requests"}]"#);
    }

    #[test]
    fn without_faults_the_value_stands() {
        assert_eq!(Faults::under(["body"]).into_result(Some(7)), Ok(7));
    }

    #[test]
    fn there_is_an_end_to_the_list() {
        let mut faults = Faults::under(["body"]);
        for _ in 0..100_000 {
            faults.note("value_error", "no");
        }
        assert_eq!(faults.into_result(Some(())).unwrap_err().len(), MOST);
    }
}
