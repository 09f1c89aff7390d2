//! Are these bodies of the Files routes? Every fault of one is told at once.
//!
//! Bodies are small and flat, so that each field is read by itself. Unknown
//! ones are ignored, and a null is a field that was not given.

mod change;
mod complete;
mod create;
mod query;
mod refresh;
#[cfg(test)]
mod tests;
mod values;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::problem::FileProblem;

pub(crate) use change::change;
pub(crate) use complete::complete;
pub(crate) use create::{Asked, create};
pub(crate) use query::{force, listing};
pub(crate) use refresh::refresh;

/// What is wrong with a value: `should be …`.
type Wrong = Cow<'static, str>;

/// More faults than this help nobody.
const MOST: usize = 20;

/// The fields of a body, and what is wrong with them so far.
#[derive(Debug)]
struct Fields<'b> {
    given: HashMap<String, &'b RawValue>,
    wrong: Vec<String>,
}

impl<'b> Fields<'b> {
    /// Nothing at all is read as `{}`.
    fn of(body: &'b [u8]) -> Result<Self, FileProblem> {
        let given = if body.is_empty() {
            HashMap::new()
        } else {
            serde_json::from_slice(body).map_err(|error| not_an_object(body, &error))?
        };
        Ok(Self {
            given,
            wrong: Vec::new(),
        })
    }

    fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&RawValue) -> Result<T, Wrong>,
    ) -> Option<T> {
        let given = self.given.get(name).copied();
        let given = given.filter(|value| value.get() != "null")?;
        match read(given) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.note(&format!("{name} {wrong}"));
                None
            }
        }
    }

    fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&RawValue) -> Result<T, Wrong>,
    ) -> Option<T> {
        let known = self.wrong.len();
        let value = self.optional(name, read);
        if value.is_none() && self.wrong.len() == known {
            self.note(&format!("{name} is required"));
        }
        value
    }

    fn note(&mut self, wrong: &str) {
        if self.wrong.len() < MOST {
            self.wrong.push(wrong.to_owned());
        }
    }

    fn finish<T>(self, value: Option<T>) -> Result<T, FileProblem> {
        match value {
            Some(value) if self.wrong.is_empty() => Ok(value),
            _ => Err(FileProblem::invalid(self.wrong.join("; ") + ".")),
        }
    }
}

fn not_an_object(body: &[u8], error: &serde_json::Error) -> FileProblem {
    let message = match serde_json::from_slice::<Value>(body) {
        Ok(_) => "The body should be a JSON object.".to_owned(),
        Err(_) => format!("The body is not JSON: {error}."),
    };
    FileProblem::invalid(message)
}
