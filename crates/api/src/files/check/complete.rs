//! `POST /files/{file_id}/complete`: every part once, as the store took it.

use std::collections::BTreeMap;

use domain::upload::Form;
use serde_json::Value;
use store::shard::file::Part;

use super::values::{base64_sha256, list};
use super::{Fields, Wrong};
use crate::problem::FileProblem;

/// Longer than any store's.
const LONGEST_ETAG: usize = 256;

/// The tag and checksum of each part in order; nothing for what is one POST.
pub(crate) fn complete(body: &[u8], form: Form) -> Result<Option<Vec<Part>>, FileProblem> {
    let mut fields = Fields::of(body)?;
    let Form::Multipart { parts } = form else {
        return Ok(None);
    };
    let given = fields.required("parts", list);
    let listed = given.map(|given| in_order(&mut fields, &given, parts));
    fields.finish(listed).map(Some)
}

fn in_order(fields: &mut Fields<'_>, given: &[Value], parts: u32) -> Vec<Part> {
    let mut listed = BTreeMap::new();
    for (index, part) in given.iter().enumerate() {
        match one(part, parts) {
            Ok((number, part)) => {
                if listed.insert(number, part).is_some() {
                    fields.note(&format!("parts lists part {number} twice"));
                }
            }
            Err((name, wrong)) => fields.note(&format!("parts[{index}]{name} {wrong}")),
        }
    }
    let missing: Vec<_> = (1..=parts)
        .filter(|number| !listed.contains_key(number))
        .map(|number| number.to_string())
        .collect();
    if fields.wrong.is_empty() && !missing.is_empty() {
        let missing = missing.join(", ");
        fields.note(&format!(
            "parts should list every part of the {parts}; missing: {missing}"
        ));
    }
    listed.into_values().collect()
}

/// Nothing but a part of ours is looked at further.
fn one(part: &Value, parts: u32) -> Result<(u32, Part), (&'static str, Wrong)> {
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
        .filter(|etag| (1..=LONGEST_ETAG).contains(&etag.len()))
        .filter(|etag| etag.bytes().all(|byte| byte.is_ascii_graphic()))
        .ok_or((
            ".etag",
            Wrong::from("should be the ETag that the store answered"),
        ))?;
    let checksum = part.get("checksum_sha256").and_then(Value::as_str);
    let checksum = base64_sha256(checksum).map_err(|wrong| (".checksum_sha256", wrong))?;
    let part = Part {
        etag: etag.to_owned(),
        checksum: Some(checksum),
    };
    Ok((number, part))
}
