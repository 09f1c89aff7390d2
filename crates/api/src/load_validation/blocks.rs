//! Reads the content of a message: a text, or content blocks.

use domain::file;
use domain::params::cache_control::CacheControl;
use domain::params::content::{ContentBlock, FileSource, MessageContent, ToolResultContent};
use serde::de::{MapAccess, SeqAccess};
use wire::error_body::LocationStep;

use super::block_fields::{BlockFields, ResultContent, SourceFields};
use super::block_kind::{BlockKind, BlockPlace};
use super::nested_vendor_fields::{BLOCK_FIELDS, NO_VENDOR_FIELDS};
use super::reader::{
    self, FieldKey, FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader,
};
use super::unknown_fields::{report_unknown, skip_unknown, warn_unused};
use crate::validation_errors::ValidationErrors;

const INVALID_CONTENT: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be a string or an array of content blocks",
);
const NO_BLOCKS: ValueMismatch = ValueMismatch("too_short", "Input should have at least one block");
const UNUSED_FIELD: &str = "A block of this type has no such field, so it is ignored.";

#[derive(Debug)]
pub(super) struct ContentReader<'f> {
    pub faults: &'f mut ValidationErrors,
    /// Counts the files that the request references.
    pub references: &'f mut usize,
}

impl<'de> ValueReader<'de> for ContentReader<'_> {
    type Value = MessageContent;
    const MISMATCH: ValueMismatch = INVALID_CONTENT;

    fn read_text(self, text: &str) -> FieldValue<MessageContent> {
        FieldValue::Valid(MessageContent::Text(text.to_owned()))
    }

    fn read_list<A: SeqAccess<'de>>(self, list: A) -> Result<FieldValue<MessageContent>, A::Error> {
        let Self { faults, references } = self;
        let blocks = read_blocks(list, BlockPlace::Message, faults, references)?;
        Ok(blocks.map(MessageContent::Blocks))
    }
}

/// Reads the `content` of a result of a tool.
struct ResultContentReader<'f> {
    faults: &'f mut ValidationErrors,
    references: &'f mut usize,
}

impl<'de> ValueReader<'de> for ResultContentReader<'_> {
    type Value = ToolResultContent;
    const MISMATCH: ValueMismatch = INVALID_CONTENT;

    fn read_text(self, text: &str) -> FieldValue<ToolResultContent> {
        FieldValue::Valid(ToolResultContent::Text(text.to_owned()))
    }

    fn read_list<A: SeqAccess<'de>>(
        self,
        list: A,
    ) -> Result<FieldValue<ToolResultContent>, A::Error> {
        let Self { faults, references } = self;
        let blocks = read_blocks(list, BlockPlace::ToolResult, faults, references)?;
        Ok(blocks.map(ToolResultContent::Blocks))
    }
}

fn read_blocks<'de, A: SeqAccess<'de>>(
    mut list: A,
    place: BlockPlace,
    faults: &mut ValidationErrors,
    references: &mut usize,
) -> Result<FieldValue<Vec<ContentBlock>>, A::Error> {
    let mut blocks = Vec::new();
    let mut length = 0;
    loop {
        let next = faults.within(LocationStep::Index(length), |faults| {
            let reader = BlockReader {
                place,
                faults: &mut *faults,
                references: &mut *references,
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
        _ if blocks.len() == length => FieldValue::Valid(blocks),
        _ => FieldValue::Reported,
    })
}

struct BlockReader<'f> {
    place: BlockPlace,
    faults: &'f mut ValidationErrors,
    references: &'f mut usize,
}

impl<'de> ValueReader<'de> for BlockReader<'_> {
    type Value = ContentBlock;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<ContentBlock>, A::Error> {
        let Self {
            place,
            faults,
            references,
        } = self;
        let mut fields = BlockFields::empty();
        while let Some(key) = object.next_key_seed(KeySeed(place.keys()))? {
            match key {
                FieldKey::Known("content") => {
                    fields.content = faults.within(LocationStep::key("content"), |faults| {
                        read_result_content(&mut object, faults)
                    })?;
                }
                FieldKey::Known(key) => {
                    faults.within(LocationStep::key(key), |faults| {
                        fields.read_field(key, place, &mut object, faults)
                    })?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &BLOCK_FIELDS)?;
                }
            }
        }
        Ok(into_block(fields, faults, references).into())
    }
}

/// Its errors are kept apart: they count only if the block is a result of a tool.
fn read_result_content<'de, A: MapAccess<'de>>(
    object: &mut A,
    faults: &ValidationErrors,
) -> Result<ResultContent, A::Error> {
    let mut found = faults.separate();
    let mut references = 0;
    let reader = ResultContentReader {
        faults: &mut found,
        references: &mut references,
    };
    let content = object.next_value_seed(ReaderSeed(reader))?;
    Ok(ResultContent {
        content,
        faults: Some(found),
        references,
    })
}

fn into_block(
    fields: BlockFields,
    faults: &mut ValidationErrors,
    references: &mut usize,
) -> Option<ContentBlock> {
    let present = fields.present();
    let kind = fields.kind.required(faults, "type")?;
    let unused = present.into_iter().filter(|it| !kind.fields().contains(it));
    for name in unused {
        warn_unused(name, faults, UNUSED_FIELD);
    }
    let cache_control = fields.cache_control.optional(faults, "cache_control");
    match kind {
        BlockKind::Text => {
            let text = fields.text.required(faults, "text")?;
            Some(ContentBlock::Text {
                text,
                cache_control,
            })
        }
        BlockKind::File(kind) => {
            *references += 1;
            let source = read_source(fields.source, faults)?;
            Some(file_block(kind, source, cache_control))
        }
        BlockKind::ToolUse => {
            let id = fields.id.required(faults, "id");
            let name = fields.name.required(faults, "name");
            let input = fields.input.required(faults, "input");
            Some(ContentBlock::ToolUse {
                id: id?,
                name: name?,
                input: input?,
                cache_control,
            })
        }
        BlockKind::ToolResult => {
            let tool_use_id = fields.tool_use_id.required(faults, "tool_use_id");
            let is_error = fields.is_error.optional(faults, "is_error");
            *references += fields.content.references;
            let content = fields.content.into_content(faults);
            Some(ContentBlock::ToolResult {
                tool_use_id: tool_use_id?,
                content,
                is_error: is_error.unwrap_or_default(),
                cache_control,
            })
        }
        BlockKind::Thinking => {
            let thinking = fields.thinking.required(faults, "thinking");
            let signature = fields.signature.required(faults, "signature");
            Some(ContentBlock::Thinking {
                thinking: thinking?,
                signature: signature?,
            })
        }
        BlockKind::RedactedThinking => {
            let data = fields.data.required(faults, "data")?;
            Some(ContentBlock::RedactedThinking { data })
        }
    }
}

fn read_source(
    source: FieldValue<SourceFields>,
    faults: &mut ValidationErrors,
) -> Option<FileSource> {
    let source = source.required(faults, "source")?;
    let file_id = faults.within(LocationStep::key("source"), |faults| {
        for key in source.unknown {
            report_unknown(key, faults, &NO_VENDOR_FIELDS);
        }
        source.file_id.required(faults, "file_id")
    });
    file_id.map(|file_id| FileSource { file_id })
}

const fn file_block(
    kind: file::FileKind,
    source: FileSource,
    cache_control: Option<CacheControl>,
) -> ContentBlock {
    match kind {
        file::FileKind::Image => ContentBlock::Image {
            source,
            cache_control,
        },
        file::FileKind::Document => ContentBlock::Document {
            source,
            cache_control,
        },
        file::FileKind::Video => ContentBlock::Video {
            source,
            cache_control,
        },
    }
}
