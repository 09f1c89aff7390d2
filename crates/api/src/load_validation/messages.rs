//! Reads `messages`, their content blocks, and the files that these reference.

use domain::params::{ChatMessage, ContentBlock, FileSource, MessageContent};
use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use wire::error_body::LocationStep;

use super::LoadRules;
use super::reader::{
    self, FieldValue, KeySeed, NOT_A_STRING, NOT_AN_ARRAY, NOT_AN_OBJECT, ReaderSeed,
    ValueMismatch, ValueReader,
};
use super::values::TextReader;
use crate::validation_errors::ValidationErrors;

/// The roles that providers accept. Free text would reach the provider and come back in its
/// error messages.
const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];
const INVALID_ROLE: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be user, assistant, system or developer",
);
const INVALID_CONTENT: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be a string or an array of content blocks",
);
const INVALID_BLOCK_TYPE: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be text, image, document or video",
);
const NO_MESSAGES: ValueMismatch =
    ValueMismatch("too_short", "Input should have at least one message");
const NO_BLOCKS: ValueMismatch = ValueMismatch("too_short", "Input should have at least one block");

#[derive(Debug)]
pub(super) struct MessagesReader<'f> {
    pub faults: &'f mut ValidationErrors,
    pub rules: &'f LoadRules,
}

impl<'de> ValueReader<'de> for MessagesReader<'_> {
    type Value = Vec<ChatMessage>;
    const MISMATCH: ValueMismatch = NOT_AN_ARRAY;

    fn read_list<A: SeqAccess<'de>>(
        self,
        mut list: A,
    ) -> Result<FieldValue<Vec<ChatMessage>>, A::Error> {
        let Self { faults, rules } = self;
        let mut messages = Vec::new();
        let mut references = 0;
        let mut length = 0;
        loop {
            if length >= rules.max_messages {
                // Messages beyond the limit are only counted, because a body could have millions.
                length += reader::skip_rest(list)?;
                break;
            }
            let next = faults.within(LocationStep::Index(length), |faults| {
                let reader = ChatMessageReader {
                    faults: &mut *faults,
                    references: &mut references,
                };
                let next = reader::next_element(&mut list, reader)?;
                Ok(next.map(|value| value.required_here(faults, NOT_AN_OBJECT)))
            })?;
            let Some(message) = next else { break };
            messages.extend(message);
            length += 1;
        }
        if length > rules.max_messages {
            let max = rules.max_messages;
            faults.add(
                "too_long",
                format!("Input should have at most {max} messages"),
            );
        }
        if references > rules.max_references {
            let max = rules.max_references;
            faults.add(
                "too_long",
                format!("Input should reference at most {max} files"),
            );
        }
        Ok(match length {
            0 => FieldValue::Invalid(NO_MESSAGES),
            _ if messages.len() == length => FieldValue::Valid(messages),
            _ => FieldValue::Reported,
        })
    }
}

struct ChatMessageReader<'f> {
    faults: &'f mut ValidationErrors,
    references: &'f mut usize,
}

impl<'de> ValueReader<'de> for ChatMessageReader<'_> {
    type Value = ChatMessage;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<ChatMessage>, A::Error> {
        let Self { faults, references } = self;
        let mut role = FieldValue::Absent;
        let mut content = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(&["role", "content"]))? {
            match key {
                Some("role") => role = object.next_value_seed(ReaderSeed(RoleReader))?,
                Some("content") => {
                    content = faults.within(LocationStep::Key("content"), |faults| {
                        object.next_value_seed(ReaderSeed(ContentReader { faults, references }))
                    })?;
                }
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        let role = role.required(faults, "role");
        let content = content.required(faults, "content");
        Ok(role
            .zip(content)
            .map(|(role, content)| ChatMessage { role, content })
            .into())
    }
}

struct RoleReader;

impl ValueReader<'_> for RoleReader {
    type Value = String;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<String> {
        if ROLES.contains(&text) {
            FieldValue::Valid(text.to_owned())
        } else {
            FieldValue::Invalid(INVALID_ROLE)
        }
    }
}

struct ContentReader<'f> {
    faults: &'f mut ValidationErrors,
    references: &'f mut usize,
}

impl<'de> ValueReader<'de> for ContentReader<'_> {
    type Value = MessageContent;
    const MISMATCH: ValueMismatch = INVALID_CONTENT;

    fn read_text(self, text: &str) -> FieldValue<MessageContent> {
        FieldValue::Valid(MessageContent::Text(text.to_owned()))
    }

    fn read_list<A: SeqAccess<'de>>(
        self,
        mut list: A,
    ) -> Result<FieldValue<MessageContent>, A::Error> {
        let Self { faults, references } = self;
        let mut blocks = Vec::new();
        let mut length = 0;
        loop {
            let next = faults.within(LocationStep::Index(length), |faults| {
                let reader = BlockReader {
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
            _ if blocks.len() == length => FieldValue::Valid(MessageContent::Blocks(blocks)),
            _ => FieldValue::Reported,
        })
    }
}

struct BlockReader<'f> {
    faults: &'f mut ValidationErrors,
    references: &'f mut usize,
}

/// The `type` of a block.
enum BlockKind {
    Text,
    /// A file block, and the function that builds it.
    File(fn(FileSource) -> ContentBlock),
}

impl<'de> ValueReader<'de> for BlockReader<'_> {
    type Value = ContentBlock;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<ContentBlock>, A::Error> {
        let Self { faults, references } = self;
        // Their errors are reported only if the block's type has the field.
        let mut text = FieldValue::Absent;
        let mut source = FieldValue::Absent;
        let mut kind = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(&["type", "text", "source"]))? {
            match key {
                Some("type") => kind = object.next_value_seed(ReaderSeed(BlockKindReader))?,
                Some("text") => text = object.next_value_seed(ReaderSeed(TextReader))?,
                Some("source") => source = object.next_value_seed(ReaderSeed(SourceReader))?,
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        let block = match kind.required(faults, "type") {
            None => None,
            Some(BlockKind::Text) => text
                .required(faults, "text")
                .map(|text| ContentBlock::Text { text }),
            Some(BlockKind::File(make)) => {
                *references += 1;
                let file_id = source.required(faults, "source").and_then(|file_id| {
                    let step = LocationStep::Key("source");
                    faults.within(step, |faults| file_id.required(faults, "file_id"))
                });
                file_id.map(|file_id| make(FileSource { file_id }))
            }
        };
        Ok(block.into())
    }
}

struct BlockKindReader;

impl ValueReader<'_> for BlockKindReader {
    type Value = BlockKind;
    const MISMATCH: ValueMismatch = INVALID_BLOCK_TYPE;

    fn read_text(self, text: &str) -> FieldValue<BlockKind> {
        match text {
            "text" => FieldValue::Valid(BlockKind::Text),
            "image" => FieldValue::Valid(BlockKind::File(|source| ContentBlock::Image { source })),
            "document" => {
                FieldValue::Valid(BlockKind::File(|source| ContentBlock::Document { source }))
            }
            "video" => FieldValue::Valid(BlockKind::File(|source| ContentBlock::Video { source })),
            _ => FieldValue::Invalid(INVALID_BLOCK_TYPE),
        }
    }
}

/// Reads the `file_id` of a `source` without reporting its errors yet.
struct SourceReader;

impl<'de> ValueReader<'de> for SourceReader {
    type Value = FieldValue<String>;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<FieldValue<String>>, A::Error> {
        let mut file_id = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(&["file_id"]))? {
            match key {
                Some(_) => file_id = object.next_value_seed(ReaderSeed(TextReader))?,
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(FieldValue::Valid(file_id))
    }
}
