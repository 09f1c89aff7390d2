//! `POST /files/{file_id}/parts`: the part numbers to refresh.

use domain::upload::UploadMethod;
use serde_json::Value;
use serde_json::value::RawValue;

use super::values::parse_array;
use super::{BodyFields, FieldMessage};
use crate::api_error::FileApiError;

/// The part numbers in order. None for a single-shot upload.
pub(crate) fn parse_refresh(body: &[u8], form: UploadMethod) -> Result<Vec<u32>, FileApiError> {
    let mut fields = BodyFields::parse(body)?;
    let UploadMethod::Multipart { parts } = form else {
        return Ok(Vec::new());
    };
    let numbers = fields.optional("part_numbers", |raw| parse_part_numbers(raw, parts));
    fields.finish(Some(numbers.unwrap_or_else(|| (1..=parts).collect())))
}

fn parse_part_numbers(raw: &RawValue, parts: u32) -> Result<Vec<u32>, FieldMessage> {
    let number = |value: &Value| {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (1..=parts).contains(number))
    };
    let read = parse_array(raw)?
        .iter()
        .map(number)
        .collect::<Option<Vec<_>>>();
    let mut read = read.filter(|numbers| !numbers.is_empty()).ok_or_else(|| {
        FieldMessage::from(format!(
            "should be an array of whole numbers from 1 to {parts}; omit it for all parts"
        ))
    })?;
    read.sort_unstable();
    read.dedup();
    Ok(read)
}
