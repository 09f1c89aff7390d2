//! Errors in a file that an operator wrote, one line per error.

use std::ops::RangeInclusive;

/// Collects the errors of one entry; each line names the entry.
#[derive(Debug)]
pub struct EntryErrors<'a> {
    subject: String,
    errors: &'a mut Vec<String>,
}

impl<'a> EntryErrors<'a> {
    /// `noun` and `name` name the entry, such as "model" and its id.
    pub fn for_entry(noun: &str, name: &str, errors: &'a mut Vec<String>) -> Self {
        Self {
            subject: format!("{noun} `{name}`"),
            errors,
        }
    }

    /// The number of errors so far, of all entries.
    pub const fn count(&self) -> usize {
        self.errors.len()
    }

    pub fn add(&mut self, text: &str) {
        self.errors.push(format!("{}: {text}", self.subject));
    }

    /// The number if it is given and in its range; a number out of range is an error.
    pub fn whole_number(
        &mut self,
        field: &str,
        number: Option<i64>,
        range: RangeInclusive<i64>,
    ) -> Option<u64> {
        let number = number?;
        if range.contains(&number) {
            return u64::try_from(number).ok();
        }
        let (min, max) = range.into_inner();
        self.add(&format!(
            "{field} {number} is not a whole number from {min} to {max}"
        ));
        None
    }
}
