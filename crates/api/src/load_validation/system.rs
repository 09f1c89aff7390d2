//! Reads `system`: a text, or text blocks that can be cached.

use domain::params::cache_control::CacheControl;
use domain::params::content::{SystemBlock, SystemPrompt};
use serde::de::{MapAccess, SeqAccess};
use wire::error_body::LocationStep;

use super::cache_control::CacheControlReader;
use super::nested_vendor_fields::BLOCK_FIELDS;
use super::reader::{
    self, FieldKey, FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader,
};
use super::unknown_fields::skip_unknown;
use super::values::{ChoiceReader, TextReader};
use crate::validation_errors::ValidationErrors;

const NOT_A_PROMPT: ValueMismatch = ValueMismatch(
    "string_type",
    "Input should be a string or an array of text blocks",
);
const NO_BLOCKS: ValueMismatch = ValueMismatch("too_short", "Input should have at least one block");
const TYPES: &[(&str, ())] = &[("text", ())];
const INVALID_TYPE: ValueMismatch = ValueMismatch("value_error", "Input should be text");

#[derive(Debug)]
pub(super) struct SystemReader<'f> {
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for SystemReader<'_> {
    type Value = SystemPrompt;
    const MISMATCH: ValueMismatch = NOT_A_PROMPT;

    fn read_text(self, text: &str) -> FieldValue<SystemPrompt> {
        FieldValue::Valid(SystemPrompt::Text(text.to_owned()))
    }

    fn read_list<A: SeqAccess<'de>>(
        self,
        mut list: A,
    ) -> Result<FieldValue<SystemPrompt>, A::Error> {
        let Self { faults } = self;
        let mut blocks = Vec::new();
        let mut length = 0;
        loop {
            let next = faults.within(LocationStep::Index(length), |faults| {
                let reader = SystemBlockReader {
                    faults: &mut *faults,
                };
                let next = reader::next_element(&mut list, reader)?;
                Ok(next.map(|value| value.required_here(faults, NOT_AN_OBJECT)))
            })?;
            let Some(block) = next else { break };
            blocks.extend(block);
            length += 1;
        }
        Ok(match length {
            0 => FieldValue::Invalid(NO_BLOCKS),
            _ if blocks.len() == length => FieldValue::Valid(SystemPrompt::Blocks(blocks)),
            _ => FieldValue::Reported,
        })
    }
}

struct SystemBlockReader<'f> {
    faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for SystemBlockReader<'_> {
    type Value = SystemBlock;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<SystemBlock>, A::Error> {
        let Self { faults } = self;
        let mut kind = FieldValue::Absent;
        let mut text = FieldValue::Absent;
        let mut cache_control: FieldValue<CacheControl> = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(&["type", "text", "cache_control"]))? {
            match key {
                FieldKey::Known("type") => {
                    let (choices, mismatch) = (TYPES, INVALID_TYPE);
                    let reader = ChoiceReader { choices, mismatch };
                    kind = object.next_value_seed(ReaderSeed(reader))?;
                }
                FieldKey::Known("text") => {
                    text = object.next_value_seed(ReaderSeed(TextReader))?;
                }
                FieldKey::Known(_) => {
                    let step = LocationStep::key("cache_control");
                    cache_control = faults.within(step, |faults| {
                        object.next_value_seed(ReaderSeed(CacheControlReader { faults }))
                    })?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &BLOCK_FIELDS)?;
                }
            }
        }
        let kind = kind.required(faults, "type");
        let text = text.required(faults, "text");
        let cache_control = cache_control.optional(faults, "cache_control");
        Ok(kind
            .zip(text)
            .map(|((), text)| SystemBlock::Text {
                text,
                cache_control,
            })
            .into())
    }
}
