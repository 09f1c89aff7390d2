//! Reads items without keeping more of them than their size: a parsed value can take dozens of times
//! the bytes of its text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json_budget::{JsonBudget, MAX_JSON_VALUES};

/// The fields of an item, as texts. Of two fields with one name, the last counts.
pub(crate) type RawFields<'a> = BTreeMap<String, &'a RawValue>;

pub(crate) fn read_fields(item: &[u8]) -> Result<RawFields<'_>, serde_json::Error> {
    serde_json::from_slice(item)
}

/// Whether an item has more values than a load may keep. Such an item is never parsed into values.
/// What is no JSON has as many as were read of it.
pub(crate) fn has_too_many_values(item: &[u8]) -> bool {
    let mut counter = ValueCounter {
        budget: JsonBudget::new(MAX_JSON_VALUES),
        is_exceeded: false,
    };
    let mut json = serde_json::Deserializer::from_slice(item);
    let result = CountSeed(&mut counter).deserialize(&mut json);
    // An item that is no JSON is refused by its reader.
    drop(result);
    counter.is_exceeded
}

struct ValueCounter {
    budget: JsonBudget,
    is_exceeded: bool,
}

/// Counts a value and those in it, and keeps nothing.
struct CountSeed<'c>(&'c mut ValueCounter);

impl<'de> DeserializeSeed<'de> for CountSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if !self.0.budget.take() {
            self.0.is_exceeded = true;
            return Err(D::Error::custom("too many values"));
        }
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CountSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(CountSeed(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while object.next_key::<IgnoredAny>()?.is_some() {
            object.next_value_seed(CountSeed(&mut *self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with an array of so many values.
    fn zeros(count: usize) -> Vec<u8> {
        let zeros = vec!["0"; count].join(",");
        format!("{{\"a\": [{zeros}]}}").into_bytes()
    }

    #[test]
    fn the_values_of_an_item_are_counted_at_every_level() {
        // The object and the array count, too.
        assert!(!has_too_many_values(&zeros(MAX_JSON_VALUES - 2)));
        assert!(has_too_many_values(&zeros(MAX_JSON_VALUES - 1)));
        let fields: Vec<String> = (0..MAX_JSON_VALUES)
            .map(|n| format!("\"{n}\":{{}}"))
            .collect();
        assert!(has_too_many_values(
            format!("{{{}}}", fields.join(",")).as_bytes()
        ));
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20));
        assert!(!has_too_many_values(long.as_bytes()));
        assert!(!has_too_many_values(b"nonsense"));
    }
}
