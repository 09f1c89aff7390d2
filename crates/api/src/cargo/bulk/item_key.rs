//! The idempotency key of an item of a bulk load: its own, or one made from the header.

use std::fmt;

use bytes::Bytes;
use domain::idempotency::IdempotencyKey;
use http::HeaderValue;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use wire::error_body::{LocationStep, ValidationError};

use crate::api_error::ApiError;
use crate::cargo::load_check::LoadInput;

const KEY_FIELD: &str = "idempotency_key";

/// The item with its key. The header `KEY` makes the key `KEY#index`, so that the items of a
/// repeated request are repeated loads.
pub(in crate::cargo) fn with_key(
    body: Bytes,
    header: Option<&HeaderValue>,
    index: usize,
) -> Result<LoadInput, ApiError> {
    let key =
        match (item_key(&body)?, header) {
            (Some(name), _) => {
                let key = IdempotencyKey::new(name.as_bytes(), &body);
                Some(key.map_err(|fault| {
                    ApiError::validation_at(["body", KEY_FIELD], fault.to_string())
                })?)
            }
            (None, Some(header)) => {
                let suffix = format!("#{index}");
                let name = [header.as_bytes(), suffix.as_bytes()].concat();
                Some(IdempotencyKey::new(&name, &body)?)
            }
            (None, None) => None,
        };
    Ok(LoadInput {
        body,
        key,
        read_field: Some(KEY_FIELD),
        trace: None,
    })
}

/// The value of `idempotency_key`. Whether the item is a load at all is checked later.
fn item_key(body: &[u8]) -> Result<Option<String>, ApiError> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let found = json.deserialize_map(KeyFieldVisitor).ok().flatten();
    let Some(value) = found.filter(|value| value.get() != "null") else {
        return Ok(None);
    };
    let text = serde_json::from_str::<String>(value.get());
    text.map(Some).map_err(|_| {
        ApiError::validation(vec![ValidationError {
            kind: "string_type",
            loc: ["body", KEY_FIELD].map(LocationStep::key).to_vec(),
            msg: "Input should be a string".into(),
        }])
    })
}

struct KeyFieldVisitor;

impl<'de> Visitor<'de> for KeyFieldVisitor {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    /// The last value counts, as for every other field.
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = object.next_key::<String>()? {
            if name == KEY_FIELD {
                found = Some(object.next_value()?);
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(item: &str, header: Option<&'static str>) -> Result<Option<String>, u16> {
        let header = header.map(HeaderValue::from_static);
        let input = with_key(Bytes::from(item.to_owned()), header.as_ref(), 7);
        let input = input.map_err(|error| error.status().as_u16())?;
        Ok(input.key.map(|key| key.key))
    }

    #[test]
    fn an_items_own_key_comes_before_the_header() {
        let key = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(key_of(r#"{"idempotency_key": "k"}"#, None), key("k"));
        assert_eq!(key_of(r#"{"idempotency_key": "k"}"#, Some("h")), key("k"));
        assert_eq!(key_of(r#"{"params": {}}"#, Some("h")), key("h#7"));
        let null = r#"{"idempotency_key": null}"#;
        assert_eq!(key_of(null, Some("h")), key("h#7"));
        assert_eq!(key_of(null, None), Ok(None));
        assert_eq!(key_of("nonsense", None), Ok(None));
    }

    #[test]
    fn a_key_that_is_none_is_a_validation_error() {
        for wrong in ["1", "\"\"", "{}", "\"a\\nb\""] {
            let item = format!("{{\"idempotency_key\": {wrong}}}");
            assert_eq!(key_of(&item, None), Err(422), "{wrong}");
        }
        let long: &'static str = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\
            kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\
            kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\
            kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";
        assert_eq!(long.len(), 254);
        assert_eq!(key_of("{}", Some(long)), Err(422));
    }
}
