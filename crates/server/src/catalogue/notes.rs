//! What is wrong with a catalogue, a line for each fault.

use std::ops::RangeInclusive;

/// What is wrong with one model, in lines that name it.
#[derive(Debug)]
pub(super) struct Notes<'a> {
    id: &'a str,
    faults: &'a mut Vec<String>,
}

impl<'a> Notes<'a> {
    pub(super) const fn of(id: &'a str, faults: &'a mut Vec<String>) -> Self {
        Self { id, faults }
    }

    /// How many faults there are by now, of all models.
    pub(super) const fn count(&self) -> usize {
        self.faults.len()
    }

    pub(super) fn fault(&mut self, text: &str) {
        self.faults.push(format!("model `{}`: {text}", self.id));
    }

    /// A number that is given and in its range; one that is not is a fault.
    pub(super) fn whole(
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
