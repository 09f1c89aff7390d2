//! Splits the body of a bulk load into its items, without a copy.

use std::fmt;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::api_error::{ApiError, ErrorCode};

pub(super) const MAX_BULK_ITEMS: usize = 1_000;
/// The media type of NDJSON has no registration, so clients spell it in several ways.
const NDJSON_TYPES: [&str; 5] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonl",
    "application/x-jsonlines",
];

pub(in crate::cargo) fn is_ndjson(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let media_type = value.and_then(|value| value.split(';').next());
    media_type.is_some_and(|given| {
        let given = given.trim();
        NDJSON_TYPES.iter().any(|it| it.eq_ignore_ascii_case(given))
    })
}

/// Whether a JSON body is a bulk load and not a single one. One that is not JSON is neither.
pub(in crate::cargo) fn is_bulk_object(body: &[u8]) -> bool {
    let envelope = serde_json::from_slice::<CargoField<'_>>(body);
    envelope.is_ok_and(|it| it.cargo.is_some())
}

/// The loads, each as the bytes that the caller sent. An item that is not a load is refused later,
/// alone.
pub(in crate::cargo) fn split(body: &Bytes, is_ndjson: bool) -> Result<Vec<Bytes>, ApiError> {
    let items = if is_ndjson {
        split_lines(body)
    } else {
        split_object(body)?
    };
    if items.len() > MAX_BULK_ITEMS {
        return Err(too_many_items());
    }
    Ok(items)
}

/// Lines without content are skipped. Stops after one item too many.
fn split_lines(body: &Bytes) -> Vec<Bytes> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .take(MAX_BULK_ITEMS + 1)
        .map(|line| body.slice_ref(line))
        .collect()
}

fn split_object(body: &Bytes) -> Result<Vec<Bytes>, ApiError> {
    let envelope: BulkEnvelope<'_> =
        serde_json::from_slice(body).map_err(|error| not_a_bulk_load(&error.to_string()))?;
    let BulkEnvelope {
        cargo: BoundedItems(items),
    } = envelope;
    let items = items.into_iter();
    let items = items.map(|item| body.slice_ref(item.get().as_bytes()));
    Ok(items.collect())
}

pub(crate) fn not_a_bulk_load(fault: &str) -> ApiError {
    let detail = format!(
        "The body is not a bulk load: {fault}. Send the JSON object {{\"cargo\": [load, …]}}, or \
         one load per line with Content-Type: application/x-ndjson."
    );
    ApiError::with_text(StatusCode::BAD_REQUEST, detail)
}

pub(crate) fn too_many_items() -> ApiError {
    let message = format!(
        "A bulk load has at most {MAX_BULK_ITEMS} items. Nothing was loaded. Send the items in \
         several requests."
    );
    ApiError::with_code(ErrorCode::TooManyItems, message).with_field("max_items", MAX_BULK_ITEMS)
}

#[derive(Debug, Deserialize)]
struct BulkEnvelope<'a> {
    #[serde(borrow)]
    cargo: BoundedItems<'a>,
}

#[derive(Debug, Deserialize)]
struct CargoField<'a> {
    #[serde(borrow)]
    cargo: Option<&'a RawValue>,
}

/// The first items of the array, and at most one too many: the array may have millions.
#[derive(Debug)]
struct BoundedItems<'a>(Vec<&'a RawValue>);

struct BoundedItemsVisitor;

impl<'de: 'a, 'a> Deserialize<'de> for BoundedItems<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_seq(BoundedItemsVisitor)
    }
}

impl<'de> Visitor<'de> for BoundedItemsVisitor {
    type Value = BoundedItems<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of loads")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() <= MAX_BULK_ITEMS
            && let Some(item) = list.next_element()?
        {
            items.push(item);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(BoundedItems(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_text(text: &str, is_ndjson: bool) -> Result<Vec<String>, u16> {
        let items = split(&Bytes::from(text.to_owned()), is_ndjson);
        let items = items.map_err(|error| error.status().as_u16())?;
        let text = |item: Bytes| String::from_utf8(item.to_vec()).unwrap();
        Ok(items.into_iter().map(text).collect())
    }

    #[test]
    fn items_are_lines_or_elements_and_their_bytes_are_unchanged() {
        let lines = split_text("{\"a\": 1}\r\n\n  nonsense\n[2]", true).unwrap();
        assert_eq!(lines, ["{\"a\": 1}", "nonsense", "[2]"]);
        let elements = split_text(r#"{"x": 1, "cargo": [{"a": 1 }, null, "b"]}"#, false).unwrap();
        assert_eq!(elements, ["{\"a\": 1 }", "null", "\"b\""]);
        assert_eq!(split_text("", true), Ok(Vec::new()));
        assert_eq!(split_text(r#"{"cargo": []}"#, false), Ok(Vec::new()));
    }

    #[test]
    fn anything_else_is_no_bulk_load() {
        for wrong in ["", "[]", "{}", "{\"cargo\": 1}", "{\"cargo\": [1,]}", "{"] {
            assert_eq!(split_text(wrong, false), Err(400), "{wrong}");
        }
    }

    #[test]
    fn an_object_with_cargo_is_a_bulk_load() {
        for bulk in ["{\"cargo\": []}", "{\"x\": 1, \"cargo\": 2}"] {
            assert!(is_bulk_object(bulk.as_bytes()), "{bulk}");
        }
        for other in ["", "{", "[]", "{}", "{\"params\": {\"cargo\": []}}"] {
            assert!(!is_bulk_object(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn there_are_at_most_a_thousand_items() {
        let lines = |count: usize| "1\n".repeat(count);
        let object = |count: usize| format!("{{\"cargo\": [{}]}}", vec!["1"; count].join(","));
        assert_eq!(split_text(&lines(1_000), true).unwrap().len(), 1_000);
        assert_eq!(split_text(&object(1_000), false).unwrap().len(), 1_000);
        for count in [1_001, 5_000] {
            assert_eq!(split_text(&lines(count), true), Err(413));
            assert_eq!(split_text(&object(count), false), Err(413));
        }
    }

    #[test]
    fn the_content_type_decides() {
        let is_ndjson_type = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(value));
            is_ndjson(&headers)
        };
        assert!(is_ndjson_type("application/x-ndjson"));
        assert!(is_ndjson_type("Application/JSONL; charset=utf-8"));
        assert!(!is_ndjson_type("application/json"));
        assert!(!is_ndjson(&HeaderMap::new()));
    }
}
