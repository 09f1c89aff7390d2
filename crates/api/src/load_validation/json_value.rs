//! Reads any JSON with a bound on its depth: schemas, inputs of tools, options for providers.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::reader::{self, FieldValue, NOT_AN_OBJECT, ValueMismatch, ValueReader};

/// An object with its keys in the caller's order.
#[derive(Debug)]
pub(super) struct JsonObjectReader {
    /// How many levels the object may have. Its own is the first.
    pub max_depth: usize,
    pub too_deep: ValueMismatch,
}

impl<'de> ValueReader<'de> for JsonObjectReader {
    type Value = Map<String, Value>;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        object: A,
    ) -> Result<FieldValue<Map<String, Value>>, A::Error> {
        let levels = self.max_depth.saturating_sub(1);
        let read = read_entries(object, levels)?;
        Ok(read.map_or(FieldValue::Invalid(self.too_deep), FieldValue::Valid))
    }
}

/// Reads a value with at most this many levels of arrays and objects. `None` if it has more.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonSeed {
    pub levels: usize,
}

impl<'de> DeserializeSeed<'de> for JsonSeed {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonSeed {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Some(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Self::Value, E> {
        Ok(Some(integer.into()))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Self::Value, E> {
        Ok(Some(integer.into()))
    }

    fn visit_f64<E: Error>(self, fraction: f64) -> Result<Self::Value, E> {
        Ok(Some(fraction.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            return reader::skip_rest(list).map(|_| None);
        };
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Self { levels })? {
            let Some(value) = value else {
                return reader::skip_rest(list).map(|_| None);
            };
            values.push(value);
        }
        Ok(Some(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            return skip_entries(object).map(|()| None);
        };
        Ok(read_entries(object, levels)?.map(Value::Object))
    }
}

/// The entries of an object, whose values have at most this many levels.
fn read_entries<'de, A: MapAccess<'de>>(
    mut object: A,
    levels: usize,
) -> Result<Option<Map<String, Value>>, A::Error> {
    let mut entries = Map::new();
    while let Some(key) = object.next_key::<String>()? {
        let Some(value) = object.next_value_seed(JsonSeed { levels })? else {
            return skip_entries(object).map(|()| None);
        };
        entries.insert(key, value);
    }
    Ok(Some(entries))
}

fn skip_entries<'de, A: MapAccess<'de>>(mut object: A) -> Result<(), A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str, levels: usize) -> Option<Value> {
        let mut json = serde_json::Deserializer::from_str(text);
        let value = JsonSeed { levels }.deserialize(&mut json).unwrap();
        json.end().unwrap();
        value
    }

    #[test]
    fn a_value_comes_out_as_it_went_in() {
        let text = r#"{"z":[1,-2,0.5,null,true,"é"],"a":{"b":{}}}"#;
        assert_eq!(read(text, 3).unwrap().to_string(), text);
        assert_eq!(read("7", 0), Some(json!(7)));
    }

    #[test]
    fn deeper_values_are_skipped_to_their_end() {
        assert_eq!(read(r#"{"a":{"b":[1]},"c":[2]}"#, 2), None);
        assert_eq!(read("[[1],[[2]],3]", 2), None);
        assert_eq!(read("[]", 0), None);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(&deep, 32), None);
    }
}
