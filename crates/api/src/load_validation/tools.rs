//! Reads `tools` and `tool_choice`.

use std::collections::HashSet;

use domain::params::cache_control::CacheControl;
use domain::params::tools::{Tool, ToolChoice};
use serde::de::{MapAccess, SeqAccess};
use serde_json::{Map, Value};
use wire::error_body::LocationStep;

use super::cache_control::CacheControlReader;
use super::json_value::JsonObjectReader;
use super::names::NameReader;
use super::nested_vendor_fields::{TOOL_CHOICE_FIELDS, TOOL_FIELDS};
use super::reader::{
    self, FieldKey, FieldValue, KeySeed, NOT_AN_ARRAY, NOT_AN_OBJECT, ReaderSeed, ValueMismatch,
    ValueReader,
};
use super::unknown_fields::skip_unknown;
use super::values::{BoolReader, ChoiceReader, TextReader};
use crate::validation_errors::ValidationErrors;

const MAX_TOOLS: usize = 128;
const MAX_SCHEMA_DEPTH: usize = 32;
const SCHEMA_TOO_DEEP: ValueMismatch =
    ValueMismatch("too_deep", "Input should be nested at most 32 levels deep");
const TOOL_TYPES: &[(&str, ())] = &[("custom", ())];
const INVALID_TOOL_TYPE: ValueMismatch = ValueMismatch(
    "value_error",
    "A tool is a function that you run: leave out type, or use custom",
);
const INVALID_CHOICE: ValueMismatch = ValueMismatch(
    "object_type",
    "Input should be an object, such as {\"type\": \"auto\"}",
);
const CHOICE_TYPES: &[(&str, ChoiceKind)] = &[
    ("auto", ChoiceKind::Auto),
    ("any", ChoiceKind::Any),
    ("tool", ChoiceKind::Tool),
    ("none", ChoiceKind::None),
];
const INVALID_CHOICE_TYPE: ValueMismatch =
    ValueMismatch("value_error", "Input should be auto, any, tool or none");

/// Reads a JSON Schema at the current location.
pub(super) const fn schema_reader(faults: &mut ValidationErrors) -> JsonObjectReader<'_> {
    JsonObjectReader {
        max_depth: MAX_SCHEMA_DEPTH,
        too_deep: SCHEMA_TOO_DEEP,
        faults,
    }
}

#[derive(Debug)]
pub(super) struct ToolsReader<'f> {
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for ToolsReader<'_> {
    type Value = Vec<Tool>;
    const MISMATCH: ValueMismatch = NOT_AN_ARRAY;

    fn read_list<A: SeqAccess<'de>>(self, mut list: A) -> Result<FieldValue<Vec<Tool>>, A::Error> {
        let Self { faults } = self;
        let mut tools = Vec::new();
        let mut names = HashSet::new();
        let mut length = 0;
        loop {
            if length >= MAX_TOOLS {
                length += reader::skip_rest(list)?;
                break;
            }
            let next = faults.within(LocationStep::Index(length), |faults| {
                let reader = ToolReader {
                    faults: &mut *faults,
                };
                let next = reader::next_element(&mut list, reader)?;
                let tool = next.map(|value| value.required_here(faults, NOT_AN_OBJECT));
                if let Some(Some(tool)) = &tool
                    && !names.insert(tool.name.clone())
                {
                    faults.add_at("name", "value_error", "Another tool has this name");
                }
                Ok(tool)
            })?;
            let Some(tool) = next else { break };
            tools.extend(tool);
            length += 1;
        }
        if length > MAX_TOOLS {
            faults.add(
                "too_long",
                format!("Input should have at most {MAX_TOOLS} tools"),
            );
        }
        Ok(if tools.len() == length {
            FieldValue::Valid(tools)
        } else {
            FieldValue::Reported
        })
    }
}

struct ToolReader<'f> {
    faults: &'f mut ValidationErrors,
}

/// The fields of a tool, as they were read.
struct ToolFields {
    kind: FieldValue<()>,
    name: FieldValue<String>,
    description: FieldValue<String>,
    input_schema: FieldValue<Map<String, Value>>,
    strict: FieldValue<bool>,
    cache_control: FieldValue<CacheControl>,
}

const TOOL_KEYS: &[&str] = &[
    "type",
    "name",
    "description",
    "input_schema",
    "strict",
    "cache_control",
];

impl<'de> ValueReader<'de> for ToolReader<'_> {
    type Value = Tool;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(self, mut object: A) -> Result<FieldValue<Tool>, A::Error> {
        let Self { faults } = self;
        let mut fields = ToolFields {
            kind: FieldValue::Absent,
            name: FieldValue::Absent,
            description: FieldValue::Absent,
            input_schema: FieldValue::Absent,
            strict: FieldValue::Absent,
            cache_control: FieldValue::Absent,
        };
        while let Some(key) = object.next_key_seed(KeySeed(TOOL_KEYS))? {
            match key {
                FieldKey::Known(key) => {
                    faults.within(LocationStep::key(key), |faults| {
                        fields.read_field(key, &mut object, faults)
                    })?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &TOOL_FIELDS)?;
                }
            }
        }
        Ok(fields.into_tool(faults).into())
    }
}

impl ToolFields {
    fn read_field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        object: &mut A,
        faults: &mut ValidationErrors,
    ) -> Result<(), A::Error> {
        match key {
            "type" => {
                let (choices, mismatch) = (TOOL_TYPES, INVALID_TOOL_TYPE);
                let reader = ChoiceReader { choices, mismatch };
                self.kind = object.next_value_seed(ReaderSeed(reader))?;
            }
            "name" => self.name = object.next_value_seed(ReaderSeed(NameReader))?,
            "description" => self.description = object.next_value_seed(ReaderSeed(TextReader))?,
            "input_schema" => {
                let reader = schema_reader(faults);
                self.input_schema = object.next_value_seed(ReaderSeed(reader))?;
            }
            "strict" => self.strict = object.next_value_seed(ReaderSeed(BoolReader))?,
            _ => {
                let reader = CacheControlReader { faults };
                self.cache_control = object.next_value_seed(ReaderSeed(reader))?;
            }
        }
        Ok(())
    }

    fn into_tool(self, faults: &mut ValidationErrors) -> Option<Tool> {
        self.kind.optional(faults, "type");
        let name = self.name.required(faults, "name");
        let description = self.description.optional(faults, "description");
        let input_schema = self.input_schema.required(faults, "input_schema");
        let strict = self.strict.optional(faults, "strict");
        let cache_control = self.cache_control.optional(faults, "cache_control");
        if let Some(schema) = &input_schema {
            check_input_is_object(schema, faults);
        }
        Some(Tool {
            name: name?,
            description,
            input_schema: input_schema?,
            strict,
            cache_control,
        })
    }
}

/// Every provider passes an object to a tool, and some refuse a schema that does not say so.
fn check_input_is_object(schema: &Map<String, Value>, faults: &mut ValidationErrors) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        faults.within(LocationStep::key("input_schema"), |faults| {
            let msg = "Input should be object: a tool takes named arguments";
            faults.add_at("type", "value_error", msg);
        });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChoiceKind {
    Auto,
    Any,
    Tool,
    None,
}

const CHOICE_KEYS: &[&str] = &["type", "name", "disable_parallel_tool_use"];

#[derive(Debug)]
pub(super) struct ToolChoiceReader<'f> {
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for ToolChoiceReader<'_> {
    type Value = ToolChoice;
    const MISMATCH: ValueMismatch = INVALID_CHOICE;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<ToolChoice>, A::Error> {
        let Self { faults } = self;
        let mut kind = FieldValue::Absent;
        let mut name = FieldValue::Absent;
        let mut is_single = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(CHOICE_KEYS))? {
            match key {
                FieldKey::Known("type") => {
                    let (choices, mismatch) = (CHOICE_TYPES, INVALID_CHOICE_TYPE);
                    let reader = ChoiceReader { choices, mismatch };
                    kind = object.next_value_seed(ReaderSeed(reader))?;
                }
                FieldKey::Known("name") => {
                    name = object.next_value_seed(ReaderSeed(NameReader))?;
                }
                FieldKey::Known(_) => {
                    is_single = object.next_value_seed(ReaderSeed(BoolReader))?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &TOOL_CHOICE_FIELDS)?;
                }
            }
        }
        Ok(build_choice(kind, name, is_single, faults).into())
    }
}

fn build_choice(
    kind: FieldValue<ChoiceKind>,
    name: FieldValue<String>,
    is_single: FieldValue<bool>,
    faults: &mut ValidationErrors,
) -> Option<ToolChoice> {
    let kind = kind.required(faults, "type")?;
    let is_single = is_single.optional(faults, "disable_parallel_tool_use");
    let disable_parallel_tool_use = is_single.unwrap_or_default();
    if kind != ChoiceKind::Tool && !name.is_absent() {
        let msg = "Only a tool_choice of the type tool has a name";
        faults.add_at("name", "value_error", msg);
    }
    match kind {
        ChoiceKind::Auto => Some(ToolChoice::Auto {
            disable_parallel_tool_use,
        }),
        ChoiceKind::Any => Some(ToolChoice::Any {
            disable_parallel_tool_use,
        }),
        ChoiceKind::Tool => name.required(faults, "name").map(|name| ToolChoice::Tool {
            name,
            disable_parallel_tool_use,
        }),
        ChoiceKind::None => {
            if disable_parallel_tool_use {
                let msg = "A tool_choice of the type none calls no tool";
                faults.add_at("disable_parallel_tool_use", "value_error", msg);
            }
            Some(ToolChoice::None)
        }
    }
}
