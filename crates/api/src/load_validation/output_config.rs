//! Reads `output_config`: the form of the answer, and the effort of the model.

use domain::params::thinking::{Effort, OutputConfig, OutputFormat};
use serde::de::MapAccess;
use wire::error_body::LocationStep;

use super::names::NameReader;
use super::nested_vendor_fields::OUTPUT_FIELDS;
use super::reader::{
    FieldKey, FieldValue, KeySeed, NOT_A_STRING, NOT_AN_OBJECT, ReaderSeed, ValueMismatch,
    ValueReader,
};
use super::tools::schema_reader;
use super::unknown_fields::skip_unknown;
use super::values::ChoiceReader;
use crate::validation_errors::ValidationErrors;

const FORMAT_TYPES: &[(&str, ())] = &[("json_schema", ())];
const INVALID_FORMAT_TYPE: ValueMismatch =
    ValueMismatch("value_error", "Input should be json_schema");
const INVALID_EFFORT: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be low, medium, high, xhigh or max",
);

#[derive(Debug)]
pub(super) struct OutputConfigReader<'f> {
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for OutputConfigReader<'_> {
    type Value = OutputConfig;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<OutputConfig>, A::Error> {
        let Self { faults } = self;
        let mut format = FieldValue::Absent;
        let mut effort = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(&["format", "effort"]))? {
            match key {
                FieldKey::Known("format") => {
                    format = faults.within(LocationStep::key("format"), |faults| {
                        object.next_value_seed(ReaderSeed(FormatReader { faults }))
                    })?;
                }
                FieldKey::Known(_) => {
                    effort = object.next_value_seed(ReaderSeed(EffortReader))?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &OUTPUT_FIELDS)?;
                }
            }
        }
        Ok(FieldValue::Valid(OutputConfig {
            format: format.optional(faults, "format"),
            effort: effort.optional(faults, "effort"),
        }))
    }
}

struct EffortReader;

impl ValueReader<'_> for EffortReader {
    type Value = Effort;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<Effort> {
        Effort::parse(text).map_or(FieldValue::Invalid(INVALID_EFFORT), FieldValue::Valid)
    }
}

struct FormatReader<'f> {
    faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for FormatReader<'_> {
    type Value = OutputFormat;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<OutputFormat>, A::Error> {
        let Self { faults } = self;
        let mut kind = FieldValue::Absent;
        let mut schema = FieldValue::Absent;
        let mut name = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(&["type", "schema", "name"]))? {
            match key {
                FieldKey::Known("type") => {
                    let (choices, mismatch) = (FORMAT_TYPES, INVALID_FORMAT_TYPE);
                    let reader = ChoiceReader { choices, mismatch };
                    kind = object.next_value_seed(ReaderSeed(reader))?;
                }
                FieldKey::Known("schema") => {
                    schema = faults.within(LocationStep::key("schema"), |faults| {
                        object.next_value_seed(ReaderSeed(schema_reader(faults)))
                    })?;
                }
                FieldKey::Known(_) => {
                    name = object.next_value_seed(ReaderSeed(NameReader))?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &OUTPUT_FIELDS)?;
                }
            }
        }
        let kind = kind.required(faults, "type");
        let schema = schema.required(faults, "schema");
        let name = name.optional(faults, "name");
        let format = kind.zip(schema);
        Ok(format
            .map(|((), schema)| OutputFormat::JsonSchema { schema, name })
            .into())
    }
}
