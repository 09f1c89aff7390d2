//! `POST /files/{file_id}/complete`: the list of all uploaded parts.

use std::collections::BTreeMap;

use domain::upload::UploadMethod;
use serde_json::Value;
use store::shard::file::UploadPart;

use super::values::{parse_array, parse_base64_sha256};
use super::{BodyFields, FieldMessage};
use crate::api_error::FileApiError;

/// Longer than the `ETag` of any object store.
const MAX_ETAG_BYTES: usize = 256;

/// The `ETag` and checksum of each part, in order. Nothing for a single-shot upload.
pub(crate) fn parse_complete(
    body: &[u8],
    form: UploadMethod,
) -> Result<Option<Vec<UploadPart>>, FileApiError> {
    let mut fields = BodyFields::parse(body)?;
    let UploadMethod::Multipart { parts } = form else {
        return Ok(None);
    };
    let given = fields.required("parts", parse_array);
    let listed = given.map(|given| ordered_parts(&mut fields, &given, parts));
    fields.finish(listed).map(Some)
}

fn ordered_parts(fields: &mut BodyFields<'_>, given: &[Value], parts: u32) -> Vec<UploadPart> {
    let mut listed = BTreeMap::new();
    for (index, part) in given.iter().enumerate() {
        match parse_part(part, parts) {
            Ok((number, part)) => {
                if listed.insert(number, part).is_some() {
                    fields.add_error(&format!("parts lists part {number} twice"));
                }
            }
            Err((name, wrong)) => fields.add_error(&format!("parts[{index}]{name} {wrong}")),
        }
    }
    let missing: Vec<_> = (1..=parts)
        .filter(|number| !listed.contains_key(number))
        .map(|number| number.to_string())
        .collect();
    if fields.errors.is_empty() && !missing.is_empty() {
        let missing = missing.join(", ");
        fields.add_error(&format!(
            "parts should list all {parts} parts; missing: {missing}"
        ));
    }
    listed.into_values().collect()
}

/// Only the first error of a part is reported.
fn parse_part(part: &Value, parts: u32) -> Result<(u32, UploadPart), (&'static str, FieldMessage)> {
    let Value::Object(part) = part else {
        return Err(("", "should be an object".into()));
    };
    let number = part.get("part_number").and_then(Value::as_u64);
    let number = number.and_then(|number| u32::try_from(number).ok());
    let number = number
        .filter(|number| (1..=parts).contains(number))
        .ok_or_else(|| {
            let wrong = format!("should be a whole number from 1 to {parts}");
            (".part_number", wrong.into())
        })?;
    let etag = part.get("etag").and_then(Value::as_str);
    let etag = etag
        .filter(|etag| (1..=MAX_ETAG_BYTES).contains(&etag.len()))
        .filter(|etag| etag.bytes().all(|byte| byte.is_ascii_graphic()))
        .ok_or((
            ".etag",
            FieldMessage::from("should be the ETag that the object store returned"),
        ))?;
    let checksum = part.get("checksum_sha256").and_then(Value::as_str);
    let checksum = parse_base64_sha256(checksum).map_err(|wrong| (".checksum_sha256", wrong))?;
    let part = UploadPart {
        etag: etag.to_owned(),
        checksum: Some(checksum),
    };
    Ok((number, part))
}
