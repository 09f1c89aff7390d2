//! What is wrong with a file that an operator wrote, a line for each fault.

use std::ops::RangeInclusive;

/// What is wrong with one entry of it, in lines that name the entry.
#[derive(Debug)]
pub struct Notes<'a> {
    subject: String,
    faults: &'a mut Vec<String>,
}

impl<'a> Notes<'a> {
    /// Such as "model" and its id.
    pub fn of(noun: &str, name: &str, faults: &'a mut Vec<String>) -> Self {
        Self {
            subject: format!("{noun} `{name}`"),
            faults,
        }
    }

    /// How many faults there are by now, of all entries.
    pub const fn count(&self) -> usize {
        self.faults.len()
    }

    pub fn fault(&mut self, text: &str) {
        self.faults.push(format!("{}: {text}", self.subject));
    }

    /// A number that is given and in its range; one that is not is a fault.
    pub fn whole(
        &mut self,
        field: &str,
        given: Option<i64>,
        range: RangeInclusive<i64>,
    ) -> Option<u64> {
        let number = given?;
        if range.contains(&number) {
            return u64::try_from(number).ok();
        }
        let (least, most) = range.into_inner();
        self.fault(&format!(
            "{field} {number} is not a whole number from {least} to {most}"
        ));
        None
    }
}
