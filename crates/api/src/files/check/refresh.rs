//! `POST /files/{file_id}/parts`: which parts are asked for.

use domain::upload::Form;
use serde_json::Value;
use serde_json::value::RawValue;

use super::values::list;
use super::{Fields, Wrong};
use crate::problem::FileProblem;

/// The numbers in order; nothing for what is one POST.
pub(crate) fn refresh(body: &[u8], form: Form) -> Result<Vec<u32>, FileProblem> {
    let mut fields = Fields::of(body)?;
    let Form::Multipart { parts } = form else {
        return Ok(Vec::new());
    };
    let asked = fields.optional("part_numbers", |raw| numbers(raw, parts));
    fields.finish(Some(asked.unwrap_or_else(|| (1..=parts).collect())))
}

fn numbers(raw: &RawValue, parts: u32) -> Result<Vec<u32>, Wrong> {
    let number = |value: &Value| {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (1..=parts).contains(number))
    };
    let read = list(raw)?.iter().map(number).collect::<Option<Vec<_>>>();
    let mut read = read.filter(|numbers| !numbers.is_empty()).ok_or_else(|| {
        Wrong::from(format!(
            "should be an array of whole numbers from 1 to {parts}; leave it out for every part"
        ))
    })?;
    read.sort_unstable();
    read.dedup();
    Ok(read)
}
