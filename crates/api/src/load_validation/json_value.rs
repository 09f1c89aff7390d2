//! Reads any JSON with bounds on its depth and its number of values: schemas, inputs of tools,
//! options for providers.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::reader::{self, FieldValue, NOT_AN_OBJECT, ValueMismatch, ValueReader};
use crate::json_budget::JsonBudget;
use crate::validation_errors::ValidationErrors;

/// Which bound a value exceeds. It is skipped to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonExcess {
    Levels,
    Values,
}

/// An object with its keys in the caller's order.
#[derive(Debug)]
pub(super) struct JsonObjectReader<'f> {
    /// How many levels the object may have. Its own is the first.
    pub max_depth: usize,
    pub too_deep: ValueMismatch,
    /// At the location of the object.
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for JsonObjectReader<'_> {
    type Value = Map<String, Value>;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        object: A,
    ) -> Result<FieldValue<Map<String, Value>>, A::Error> {
        let Self {
            max_depth,
            too_deep,
            faults,
        } = self;
        let budget = faults.json_budget();
        let entries = if budget.take() {
            read_entries(object, max_depth.saturating_sub(1), budget)?
        } else {
            skip_entries(object)?;
            Err(JsonExcess::Values)
        };
        Ok(match entries {
            Ok(entries) => FieldValue::Valid(entries),
            Err(JsonExcess::Levels) => FieldValue::Invalid(too_deep),
            Err(JsonExcess::Values) => {
                // Reported at once: the field may not matter, but later fields are skipped, too.
                faults.add_json_excess();
                FieldValue::Reported
            }
        })
    }
}

/// Reads a value with at most this many levels of arrays and objects, within the budget.
#[derive(Debug)]
pub(super) struct JsonSeed<'b> {
    pub levels: usize,
    pub budget: &'b mut JsonBudget,
}

impl<'de> DeserializeSeed<'de> for JsonSeed<'_> {
    type Value = Result<Value, JsonExcess>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        if self.budget.take() {
            return json.deserialize_any(self);
        }
        let skipped = json.deserialize_ignored_any(IgnoredAny);
        skipped.map(|IgnoredAny| Err(JsonExcess::Values))
    }
}

impl<'de> Visitor<'de> for JsonSeed<'_> {
    type Value = Result<Value, JsonExcess>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Ok(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Ok(value.into()))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Self::Value, E> {
        Ok(Ok(integer.into()))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Self::Value, E> {
        Ok(Ok(integer.into()))
    }

    fn visit_f64<E: Error>(self, fraction: f64) -> Result<Self::Value, E> {
        Ok(Ok(fraction.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Ok(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            return reader::skip_rest(list).map(|_| Err(JsonExcess::Levels));
        };
        Ok(read_elements(list, levels, self.budget)?.map(Value::Array))
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            return skip_entries(object).map(|()| Err(JsonExcess::Levels));
        };
        Ok(read_entries(object, levels, self.budget)?.map(Value::Object))
    }
}

/// The elements of an array, which have at most this many levels.
fn read_elements<'de, A: SeqAccess<'de>>(
    mut list: A,
    levels: usize,
    budget: &mut JsonBudget,
) -> Result<Result<Vec<Value>, JsonExcess>, A::Error> {
    let mut values = Vec::new();
    loop {
        let budget = &mut *budget;
        match list.next_element_seed(JsonSeed { levels, budget })? {
            Some(Ok(value)) => values.push(value),
            Some(Err(excess)) => return reader::skip_rest(list).map(|_| Err(excess)),
            None => return Ok(Ok(values)),
        }
    }
}

/// The entries of an object, whose values have at most this many levels.
fn read_entries<'de, A: MapAccess<'de>>(
    mut object: A,
    levels: usize,
    budget: &mut JsonBudget,
) -> Result<Result<Map<String, Value>, JsonExcess>, A::Error> {
    let mut entries = Map::new();
    while let Some(key) = object.next_key::<String>()? {
        let budget = &mut *budget;
        match object.next_value_seed(JsonSeed { levels, budget })? {
            Ok(value) => entries.insert(key, value),
            Err(excess) => return skip_entries(object).map(|()| Err(excess)),
        };
    }
    Ok(Ok(entries))
}

fn skip_entries<'de, A: MapAccess<'de>>(mut object: A) -> Result<(), A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_within(text: &str, levels: usize, values: usize) -> Result<Value, JsonExcess> {
        let mut json = serde_json::Deserializer::from_str(text);
        let budget = &mut JsonBudget::new(values);
        let seed = JsonSeed { levels, budget };
        let value = seed.deserialize(&mut json).unwrap();
        json.end().unwrap();
        value
    }

    fn read(text: &str, levels: usize) -> Result<Value, JsonExcess> {
        read_within(text, levels, 1000)
    }

    #[test]
    fn a_value_comes_out_as_it_went_in() {
        let text = r#"{"z":[1,-2,0.5,null,true,"é"],"a":{"b":{}}}"#;
        assert_eq!(read(text, 3).unwrap().to_string(), text);
        assert_eq!(read("7", 0), Ok(json!(7)));
    }

    #[test]
    fn deeper_values_are_skipped_to_their_end() {
        let too_deep = Err(JsonExcess::Levels);
        assert_eq!(read(r#"{"a":{"b":[1]},"c":[2]}"#, 2), too_deep);
        assert_eq!(read("[[1],[[2]],3]", 2), too_deep);
        assert_eq!(read("[]", 0), too_deep);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(&deep, 32), too_deep);
    }

    #[test]
    fn values_beyond_the_budget_are_skipped_to_their_end() {
        let too_many = Err(JsonExcess::Values);
        for (text, values) in [
            ("7", 1),
            ("[1,2,3]", 4),
            ("[[],[[]],{}]", 5),
            (r#"{"a":{"b":[1,2]},"c":"d"}"#, 6),
            // A key that repeats costs memory each time.
            (r#"{"a":1,"a":2}"#, 3),
        ] {
            assert!(read_within(text, 9, values).is_ok(), "{text}");
            for fewer in 0..values {
                assert_eq!(read_within(text, 9, fewer), too_many, "{text}");
            }
        }
    }
}
