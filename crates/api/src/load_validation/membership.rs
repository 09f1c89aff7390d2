//! Reads `group_id`, `custom_id` and `position`: the group of a load, and its names there.

use domain::cargo_group::{CustomId, MAX_POSITION};
use serde::de::MapAccess;

use super::reader::{FieldValue, NOT_A_STRING, ReaderSeed, ValueMismatch, ValueReader};
use super::values::TextReader;
use crate::validation_errors::ValidationErrors;

const NOT_AN_INTEGER: ValueMismatch = ValueMismatch("int_type", "Input should be an integer");
const NOT_A_POSITION: ValueMismatch =
    ValueMismatch("value_error", "Input should be between 0 and 999999999999");
const NOT_A_CUSTOM_ID: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be 1 to 256 visible characters, and should not begin with \"encrypted:\"",
);

/// The names of the fields.
pub(super) const GROUP_ID: &str = "group_id";
pub(super) const CUSTOM_ID: &str = "custom_id";
pub(super) const POSITION: &str = "position";

/// The group that a load names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedMembership {
    /// As the caller wrote it.
    pub group_id: String,
    pub custom_id: Option<CustomId>,
    pub position: Option<u64>,
}

/// What was read so far.
#[derive(Debug)]
pub(super) struct MembershipFields {
    group_id: FieldValue<String>,
    custom_id: FieldValue<CustomId>,
    position: FieldValue<u64>,
}

impl MembershipFields {
    pub(super) const fn new() -> Self {
        Self {
            group_id: FieldValue::Absent,
            custom_id: FieldValue::Absent,
            position: FieldValue::Absent,
        }
    }

    /// Reads the value of one of the three fields.
    pub(super) fn read<'de, A: MapAccess<'de>>(
        &mut self,
        field: &'static str,
        object: &mut A,
    ) -> Result<(), A::Error> {
        match field {
            GROUP_ID => self.group_id = object.next_value_seed(ReaderSeed(TextReader))?,
            CUSTOM_ID => self.custom_id = object.next_value_seed(ReaderSeed(CustomIdReader))?,
            _ => self.position = object.next_value_seed(ReaderSeed(PositionReader))?,
        }
        Ok(())
    }

    /// Only a load into a group has a custom id and a position.
    pub(super) fn check(self, faults: &mut ValidationErrors) -> Option<RequestedMembership> {
        if self.group_id.is_absent() {
            for (field, is_absent) in [
                (CUSTOM_ID, self.custom_id.is_absent()),
                (POSITION, self.position.is_absent()),
            ] {
                if !is_absent {
                    let msg = format!("{field} needs group_id");
                    faults.add_at(field, "value_error", msg);
                }
            }
            return None;
        }
        let custom_id = self.custom_id.optional(faults, CUSTOM_ID);
        let position = self.position.optional(faults, POSITION);
        let group_id = self.group_id.optional(faults, GROUP_ID)?;
        Some(RequestedMembership {
            group_id,
            custom_id,
            position,
        })
    }
}

#[derive(Debug)]
struct CustomIdReader;

impl ValueReader<'_> for CustomIdReader {
    type Value = CustomId;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<CustomId> {
        CustomId::new(text).map_or(FieldValue::Invalid(NOT_A_CUSTOM_ID), FieldValue::Valid)
    }
}

#[derive(Debug)]
struct PositionReader;

impl ValueReader<'_> for PositionReader {
    type Value = u64;
    const MISMATCH: ValueMismatch = NOT_AN_INTEGER;

    fn read_integer(self, integer: i128) -> FieldValue<u64> {
        match u64::try_from(integer) {
            Ok(position) if position <= MAX_POSITION => FieldValue::Valid(position),
            Ok(_) | Err(_) => FieldValue::Invalid(NOT_A_POSITION),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{RULES, accepted};
    use super::*;
    use crate::load_validation::parse_load;

    fn load(more: &Value) -> Value {
        let mut load = json!({"params": {
            "model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "a"}],
        }});
        for (key, value) in more.as_object().into_iter().flatten() {
            load[key] = value.clone();
        }
        load
    }

    fn refused(more: &Value) -> String {
        let refusal = parse_load(load(more).to_string().as_bytes(), &RULES).unwrap_err();
        serde_json::to_string(&refusal.into_body()).unwrap()
    }

    #[test]
    fn a_load_names_its_group_and_its_place() {
        assert_eq!(accepted(&load(&json!({}))).membership, None);
        let null = json!({"group_id": null, "custom_id": null, "position": null});
        assert_eq!(accepted(&load(&null)).membership, None);
        let named = json!({"group_id": "grp_1", "custom_id": "Zeile 7", "position": 0});
        let membership = accepted(&load(&named)).membership;
        let expected = RequestedMembership {
            group_id: "grp_1".to_owned(),
            custom_id: CustomId::new("Zeile 7").ok(),
            position: Some(0),
        };
        assert_eq!(membership, Some(expected));
    }

    #[test]
    fn invalid_names_are_refused() {
        let group = "grp_1";
        for (more, field) in [
            (json!({"group_id": 1}), "group_id"),
            (json!({"group_id": group, "custom_id": ""}), "custom_id"),
            (json!({"group_id": group, "custom_id": 7}), "custom_id"),
            (json!({"group_id": group, "position": -1}), "position"),
            (
                json!({"group_id": group, "position": 1_000_000_000_000_u64}),
                "position",
            ),
            (json!({"group_id": group, "position": "1"}), "position"),
            (json!({"custom_id": "a"}), "custom_id"),
            (json!({"position": 1}), "position"),
        ] {
            let location = format!(r#""loc":["body","{field}"]"#);
            assert!(refused(&more).contains(&location), "{}", refused(&more));
        }
    }
}
