//! Collects validation errors, so that a caller sees all of them at once.

use std::borrow::Cow;

use wire::error_body::{LocationStep, ValidationError};

/// More errors do not help the caller, and a hostile body could have millions.
const MAX_REPORTED_ERRORS: usize = 100;

/// The errors found so far, and the location in the request that is being read.
#[derive(Debug)]
pub(crate) struct ValidationErrors {
    location: Vec<LocationStep>,
    errors: Vec<ValidationError>,
}

impl ValidationErrors {
    pub(crate) fn at(place: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            location: place.into_iter().map(LocationStep::Key).collect(),
            errors: Vec::new(),
        }
    }

    /// Calls `read` one step deeper in the request.
    pub(crate) fn within<T>(&mut self, step: LocationStep, read: impl FnOnce(&mut Self) -> T) -> T {
        self.location.push(step);
        let value = read(self);
        self.location.pop();
        value
    }

    /// Adds an error at the current location.
    pub(crate) fn add(&mut self, kind: &'static str, msg: impl Into<Cow<'static, str>>) {
        if self.errors.len() < MAX_REPORTED_ERRORS {
            self.errors.push(ValidationError {
                kind,
                loc: self.location.clone(),
                msg: msg.into(),
            });
        }
    }

    /// Adds an error at `key` of the current location.
    pub(crate) fn add_at(
        &mut self,
        key: &'static str,
        kind: &'static str,
        msg: impl Into<Cow<'static, str>>,
    ) {
        self.within(LocationStep::Key(key), |faults| faults.add(kind, msg));
    }

    /// The value that was read, if there were no errors.
    pub(crate) fn into_result<T>(self, value: Option<T>) -> Result<T, Vec<ValidationError>> {
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            _ => Err(self.errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_know_their_location() {
        let mut faults = ValidationErrors::at(["body", "params"]);
        faults.within(LocationStep::Key("messages"), |faults| {
            faults.within(LocationStep::Index(2), |faults| {
                faults.add_at("role", "missing", "Field required");
            });
        });
        faults.add("value_error", "max_tokens is required for chat requests");
        let found = faults.into_result(Some(())).unwrap_err();
        let json = serde_json::to_string(&found).unwrap();
        insta::assert_snapshot!(json, @r#"[{"type":"missing","loc":["body","params","messages",2,"role"],"msg":"Field required"},{"type":"value_error","loc":["body","params"],"msg":"max_tokens is required for chat requests"}]"#);
    }

    #[test]
    fn without_errors_the_value_is_returned() {
        assert_eq!(ValidationErrors::at(["body"]).into_result(Some(7)), Ok(7));
    }

    #[test]
    fn the_list_of_errors_is_bounded() {
        let mut faults = ValidationErrors::at(["body"]);
        for _ in 0..100_000 {
            faults.add("value_error", "no");
        }
        assert_eq!(
            faults.into_result(Some(())).unwrap_err().len(),
            MAX_REPORTED_ERRORS
        );
    }
}
