//! Reads `provider_options`: fields for one kind of provider. Whether the operator allows them is
//! decided by [`domain::provider_options`].

use std::collections::BTreeMap;

use serde::de::MapAccess;
use serde_json::{Map, Value};
use wire::error_body::LocationStep;

use super::json_value::{JsonExcess, JsonSeed};
use super::reader::{FieldKey, FieldValue, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader};
use crate::validation_errors::ValidationErrors;

const MAX_VALUE_BYTES: usize = 4096;
const MAX_VALUE_DEPTH: usize = 4;
/// More kinds of providers than there are, and more keys than any request needs.
const MAX_ENTRIES: usize = 64;

pub(super) type OptionsByProvider = BTreeMap<String, Map<String, Value>>;

#[derive(Debug)]
pub(super) struct ProviderOptionsReader<'f> {
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for ProviderOptionsReader<'_> {
    type Value = OptionsByProvider;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<OptionsByProvider>, A::Error> {
        let Self { faults } = self;
        let mut options = BTreeMap::new();
        let mut is_valid = true;
        while let Some(provider) = object.next_key::<String>()? {
            let step = LocationStep::name(FieldKey::cut(&provider));
            let fields = faults.within(step.clone(), |faults| {
                object.next_value_seed(ReaderSeed(ProviderFieldsReader { faults }))
            })?;
            match fields {
                FieldValue::Absent => {}
                FieldValue::Valid(fields) => {
                    options.insert(provider, fields);
                }
                FieldValue::Invalid(ValueMismatch(kind, msg)) => {
                    faults.within(step, |faults| faults.add(kind, msg));
                    is_valid = false;
                }
                FieldValue::Reported => is_valid = false,
            }
        }
        if options.len() > MAX_ENTRIES {
            let msg = format!("Input should have at most {MAX_ENTRIES} entries");
            faults.add("too_long", msg);
        }
        Ok(is_valid.then_some(options).into())
    }
}

struct ProviderFieldsReader<'f> {
    faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for ProviderFieldsReader<'_> {
    type Value = Map<String, Value>;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<Map<String, Value>>, A::Error> {
        let Self { faults } = self;
        let mut fields = Map::new();
        let mut is_valid = faults.json_budget().take();
        if !is_valid {
            faults.add_json_excess();
        }
        while let Some(key) = object.next_key::<String>()? {
            let seed = JsonSeed {
                levels: MAX_VALUE_DEPTH,
                budget: faults.json_budget(),
            };
            let value = object.next_value_seed(seed)?;
            let step = LocationStep::name(FieldKey::cut(&key));
            if let Some(value) = faults.within(step, |faults| check_value(value, faults)) {
                fields.insert(key, value);
            } else {
                is_valid = false;
            }
        }
        if fields.len() > MAX_ENTRIES {
            let msg = format!("Input should have at most {MAX_ENTRIES} entries");
            faults.add("too_long", msg);
        }
        Ok(is_valid.then_some(fields).into())
    }
}

/// The value, unless it exceeds a bound.
fn check_value(value: Result<Value, JsonExcess>, faults: &mut ValidationErrors) -> Option<Value> {
    match value {
        Ok(value) if value.to_string().len() <= MAX_VALUE_BYTES => return Some(value),
        Ok(_) => faults.add("too_long", "Input should be at most 4096 bytes of JSON"),
        Err(JsonExcess::Levels) => {
            faults.add("too_deep", "Input should be nested at most 4 levels deep");
        }
        Err(JsonExcess::Values) => faults.add_json_excess(),
    }
    None
}
