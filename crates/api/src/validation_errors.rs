//! Collects validation errors and warnings, so that a caller sees all of them at once.

use std::borrow::Cow;

use domain::load_warning::{LoadWarning, WarningCode};
use wire::error_body::{LocationStep, ValidationError};

use crate::json_budget::{JsonBudget, MAX_JSON_VALUES};

/// More errors do not help the caller, and a hostile body could have millions.
const MAX_REPORTED_ERRORS: usize = 100;
/// Warnings are stored with the cargo.
pub(crate) const MAX_REPORTED_WARNINGS: usize = 20;

/// The errors and warnings found so far, and the location in the request that is being read.
#[derive(Debug)]
pub(crate) struct ValidationErrors {
    location: Vec<LocationStep>,
    errors: Vec<ValidationError>,
    warnings: Vec<LoadWarning>,
    json_budget: JsonBudget,
    has_json_excess: bool,
}

impl ValidationErrors {
    pub(crate) fn at(place: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            location: place.into_iter().map(LocationStep::key).collect(),
            errors: Vec::new(),
            warnings: Vec::new(),
            json_budget: JsonBudget::new(MAX_JSON_VALUES),
            has_json_excess: false,
        }
    }

    /// A second list at the same location, for a field that may turn out not to matter. Such a field
    /// must not keep JSON: what it takes from the budget is not counted here.
    pub(crate) fn separate(&self) -> Self {
        Self {
            location: self.location.clone(),
            errors: Vec::new(),
            warnings: Vec::new(),
            json_budget: self.json_budget,
            has_json_excess: self.has_json_excess,
        }
    }

    /// Adds the errors and warnings of a separate list.
    pub(crate) fn merge(&mut self, other: Self) {
        let errors = MAX_REPORTED_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(other.errors.into_iter().take(errors));
        let warnings = MAX_REPORTED_WARNINGS.saturating_sub(self.warnings.len());
        self.warnings
            .extend(other.warnings.into_iter().take(warnings));
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
        self.within(LocationStep::key(key), |faults| faults.add(kind, msg));
    }

    /// How many more JSON values the load may keep.
    pub(crate) const fn json_budget(&mut self) -> &mut JsonBudget {
        &mut self.json_budget
    }

    /// Adds the error that the JSON budget ran out at the current location. Later fields exceed it,
    /// too, so only the first is reported.
    pub(crate) fn add_json_excess(&mut self) {
        if !self.has_json_excess {
            self.has_json_excess = true;
            let msg = format!(
                "Input should have at most {MAX_JSON_VALUES} JSON values in tools, schemas, tool \
                 inputs and options together"
            );
            self.add("too_long", msg);
        }
    }

    /// Adds a warning about the field at the current location.
    pub(crate) fn warn(&mut self, code: WarningCode, message: impl Into<String>) {
        if self.warnings.len() < MAX_REPORTED_WARNINGS {
            self.warnings.push(LoadWarning {
                field: self.field_path(),
                code,
                message: message.into(),
            });
        }
    }

    /// The current location below the body, such as `params.messages.0.name`.
    fn field_path(&self) -> String {
        let steps = self.location.iter().skip(1).map(|step| match step {
            LocationStep::Key(key) => key.to_string(),
            LocationStep::Index(index) => index.to_string(),
        });
        steps.collect::<Vec<_>>().join(".")
    }

    pub(crate) fn take_warnings(&mut self) -> Vec<LoadWarning> {
        std::mem::take(&mut self.warnings)
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
        faults.within(LocationStep::key("messages"), |faults| {
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
    fn warnings_name_the_path_of_their_field() {
        let mut faults = ValidationErrors::at(["body"]);
        for index in 0..MAX_REPORTED_WARNINGS + 5 {
            faults.within(LocationStep::Index(index), |faults| {
                let name = LocationStep::name("seen".to_owned());
                faults.within(name, |faults| faults.warn(WarningCode::UnknownField, "no"));
            });
        }
        let warnings = faults.take_warnings();
        assert_eq!(warnings.len(), MAX_REPORTED_WARNINGS);
        assert_eq!(warnings[7].field, "7.seen");
        assert_eq!(faults.into_result(Some(7)), Ok(7));
    }

    #[test]
    fn a_separate_list_counts_only_if_it_is_merged() {
        let mut faults = ValidationErrors::at(["body"]);
        let mut ignored = faults.separate();
        ignored.add("value_error", "no");
        let mut counted = faults.separate();
        counted.add_at("params", "missing", "Field required");
        drop(ignored);
        faults.merge(counted);
        let json = serde_json::to_string(&faults.into_result(Some(())).unwrap_err()).unwrap();
        insta::assert_snapshot!(json, @r#"[{"type":"missing","loc":["body","params"],"msg":"Field required"}]"#);
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
