//! All fields of a content block, as they were read. A block's type may come after its fields, so
//! an error in a field is reported only if the type has this field.

use domain::params::cache_control::CacheControl;
use domain::params::content::ToolResultContent;
use serde::de::MapAccess;
use serde_json::{Map, Value};

use super::block_kind::{BlockKind, BlockKindReader, BlockPlace};
use super::cache_control::CacheControlReader;
use super::json_value::JsonObjectReader;
use super::names::{NameReader, ToolUseIdReader};
use super::reader::{
    FieldKey, FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, UnknownKey, ValueMismatch,
    ValueReader,
};
use super::unknown_fields::has_value;
use super::values::{BoolReader, TextReader};
use crate::validation_errors::{MAX_REPORTED_WARNINGS, ValidationErrors};

/// Deeper than a model writes. The parser of stored requests reads twice as much.
const MAX_INPUT_DEPTH: usize = 64;
const INPUT_TOO_DEEP: ValueMismatch =
    ValueMismatch("too_deep", "Input should be nested at most 64 levels deep");

#[derive(Debug)]
pub(super) struct BlockFields {
    pub(super) kind: FieldValue<BlockKind>,
    pub(super) text: FieldValue<String>,
    pub(super) source: FieldValue<SourceFields>,
    pub(super) cache_control: FieldValue<CacheControl>,
    pub(super) id: FieldValue<String>,
    pub(super) name: FieldValue<String>,
    pub(super) input: FieldValue<Map<String, Value>>,
    pub(super) tool_use_id: FieldValue<String>,
    pub(super) content: ResultContent,
    pub(super) is_error: FieldValue<bool>,
    pub(super) thinking: FieldValue<String>,
    pub(super) signature: FieldValue<String>,
    pub(super) data: FieldValue<String>,
}

/// The `content` of a result of a tool, with the errors inside it.
#[derive(Debug)]
pub(super) struct ResultContent {
    pub(super) content: FieldValue<ToolResultContent>,
    pub(super) faults: Option<ValidationErrors>,
    /// The files that it references.
    pub(super) references: usize,
}

impl ResultContent {
    /// Reports the errors inside it.
    pub(super) fn into_content(self, faults: &mut ValidationErrors) -> Option<ToolResultContent> {
        if let Some(found) = self.faults {
            faults.merge(found);
        }
        self.content.optional(faults, "content")
    }
}

/// The fields of a `source`.
#[derive(Debug)]
pub(super) struct SourceFields {
    pub(super) file_id: FieldValue<String>,
    pub(super) unknown: Vec<UnknownKey>,
}

impl BlockFields {
    pub(super) const fn empty() -> Self {
        Self {
            kind: FieldValue::Absent,
            text: FieldValue::Absent,
            source: FieldValue::Absent,
            cache_control: FieldValue::Absent,
            id: FieldValue::Absent,
            name: FieldValue::Absent,
            input: FieldValue::Absent,
            tool_use_id: FieldValue::Absent,
            content: ResultContent {
                content: FieldValue::Absent,
                faults: None,
                references: 0,
            },
            is_error: FieldValue::Absent,
            thinking: FieldValue::Absent,
            signature: FieldValue::Absent,
            data: FieldValue::Absent,
        }
    }

    /// The names of the fields that are there, without `type`.
    pub(super) fn present(&self) -> Vec<&'static str> {
        let fields = [
            ("text", self.text.is_absent()),
            ("source", self.source.is_absent()),
            ("cache_control", self.cache_control.is_absent()),
            ("id", self.id.is_absent()),
            ("name", self.name.is_absent()),
            ("input", self.input.is_absent()),
            ("tool_use_id", self.tool_use_id.is_absent()),
            ("content", self.content.content.is_absent()),
            ("is_error", self.is_error.is_absent()),
            ("thinking", self.thinking.is_absent()),
            ("signature", self.signature.is_absent()),
            ("data", self.data.is_absent()),
        ];
        let present = fields.into_iter().filter(|(_, is_absent)| !is_absent);
        present.map(|(name, _)| name).collect()
    }

    /// Reads any field but `content`.
    pub(super) fn read_field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        place: BlockPlace,
        object: &mut A,
        faults: &mut ValidationErrors,
    ) -> Result<(), A::Error> {
        match key {
            "type" => self.kind = object.next_value_seed(ReaderSeed(BlockKindReader(place)))?,
            "text" => self.text = object.next_value_seed(ReaderSeed(TextReader))?,
            "source" => self.source = object.next_value_seed(ReaderSeed(SourceReader))?,
            "id" => self.id = object.next_value_seed(ReaderSeed(ToolUseIdReader))?,
            "name" => self.name = object.next_value_seed(ReaderSeed(NameReader))?,
            "input" => {
                let reader = JsonObjectReader {
                    max_depth: MAX_INPUT_DEPTH,
                    too_deep: INPUT_TOO_DEEP,
                    faults,
                };
                self.input = object.next_value_seed(ReaderSeed(reader))?;
            }
            "tool_use_id" => {
                self.tool_use_id = object.next_value_seed(ReaderSeed(ToolUseIdReader))?;
            }
            "is_error" => self.is_error = object.next_value_seed(ReaderSeed(BoolReader))?,
            "thinking" => self.thinking = object.next_value_seed(ReaderSeed(TextReader))?,
            "signature" => self.signature = object.next_value_seed(ReaderSeed(TextReader))?,
            "data" => self.data = object.next_value_seed(ReaderSeed(TextReader))?,
            _ => {
                let reader = CacheControlReader { faults };
                self.cache_control = object.next_value_seed(ReaderSeed(reader))?;
            }
        }
        Ok(())
    }
}

/// Reads a `source` without reporting its errors yet.
struct SourceReader;

impl<'de> ValueReader<'de> for SourceReader {
    type Value = SourceFields;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<SourceFields>, A::Error> {
        let mut fields = SourceFields {
            file_id: FieldValue::Absent,
            unknown: Vec::new(),
        };
        while let Some(key) = object.next_key_seed(KeySeed(&["file_id"]))? {
            match key {
                FieldKey::Known(_) => {
                    fields.file_id = object.next_value_seed(ReaderSeed(TextReader))?;
                }
                FieldKey::Unknown(key) => {
                    if has_value(&mut object)? && fields.unknown.len() < MAX_REPORTED_WARNINGS {
                        fields.unknown.push(key);
                    }
                }
            }
        }
        Ok(FieldValue::Valid(fields))
    }
}
