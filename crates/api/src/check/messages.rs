//! `messages`: turns of a conversation, their blocks, and the files these name.

use domain::params::{Block, Content, Message, Source};
use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use wire::detail::Step;

use super::Rules;
use super::shape::{self, Bad, Given, LIST, OBJECT, OneOf, Read, Shape, TEXT};
use super::values::Text;
use crate::faults::Faults;

/// Every role that a provider knows. A free text would reach the provider as it is, and come
/// back in its error messages.
const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];
const ROLE: Bad = Bad(
    "value_error",
    "Input should be user, assistant, system or developer",
);
const CONTENT: Bad = Bad(
    "value_error",
    "Input should be a string or an array of content blocks",
);
const BLOCK_TYPE: Bad = Bad(
    "value_error",
    "Input should be text, image, document or video",
);
const NO_MESSAGES: Bad = Bad("too_short", "Input should have at least one message");
const NO_BLOCKS: Bad = Bad("too_short", "Input should have at least one block");

#[derive(Debug)]
pub(super) struct Messages<'f> {
    pub faults: &'f mut Faults,
    pub rules: &'f Rules,
}

impl<'de> Shape<'de> for Messages<'_> {
    type Value = Vec<Message>;
    const WANTED: Bad = LIST;

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<Given<Vec<Message>>, A::Error> {
        let Self { faults, rules } = self;
        let mut messages = Vec::new();
        let mut references = 0;
        let mut length = 0;
        loop {
            if length >= rules.max_messages {
                // Beyond the limit they are only counted: a body could hold millions.
                length += shape::skip(list)?;
                break;
            }
            let next = faults.within(Step::Index(length), |faults| {
                let turn = Turn {
                    faults: &mut *faults,
                    references: &mut references,
                };
                let next = shape::element(&mut list, turn)?;
                Ok(next.map(|given| given.required_here(faults, OBJECT)))
            })?;
            let Some(message) = next else { break };
            messages.extend(message);
            length += 1;
        }
        if length > rules.max_messages {
            let most = rules.max_messages;
            faults.note(
                "too_long",
                format!("Input should have at most {most} messages"),
            );
        }
        if references > rules.max_references {
            let most = rules.max_references;
            faults.note(
                "too_long",
                format!("Input should refer to at most {most} files"),
            );
        }
        Ok(match length {
            0 => Given::Bad(NO_MESSAGES),
            _ if messages.len() == length => Given::Good(messages),
            _ => Given::Noted,
        })
    }
}

struct Turn<'f> {
    faults: &'f mut Faults,
    references: &'f mut usize,
}

impl<'de> Shape<'de> for Turn<'_> {
    type Value = Message;
    const WANTED: Bad = OBJECT;

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Given<Message>, A::Error> {
        let Self { faults, references } = self;
        let mut role = Given::Absent;
        let mut content = Given::Absent;
        while let Some(key) = object.next_key_seed(OneOf(&["role", "content"]))? {
            match key {
                Some("role") => role = object.next_value_seed(Read(Role))?,
                Some("content") => {
                    content = faults.within(Step::Key("content"), |faults| {
                        object.next_value_seed(Read(Said { faults, references }))
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
            .map(|(role, content)| Message { role, content })
            .into())
    }
}

struct Role;

impl Shape<'_> for Role {
    type Value = String;
    const WANTED: Bad = TEXT;

    fn text(self, text: &str) -> Given<String> {
        if ROLES.contains(&text) {
            Given::Good(text.to_owned())
        } else {
            Given::Bad(ROLE)
        }
    }
}

struct Said<'f> {
    faults: &'f mut Faults,
    references: &'f mut usize,
}

impl<'de> Shape<'de> for Said<'_> {
    type Value = Content;
    const WANTED: Bad = CONTENT;

    fn text(self, text: &str) -> Given<Content> {
        Given::Good(Content::Text(text.to_owned()))
    }

    fn list<A: SeqAccess<'de>>(self, mut list: A) -> Result<Given<Content>, A::Error> {
        let Self { faults, references } = self;
        let mut blocks = Vec::new();
        let mut length = 0;
        loop {
            let next = faults.within(Step::Index(length), |faults| {
                let piece = Piece {
                    faults: &mut *faults,
                    references: &mut *references,
                };
                let next = shape::element(&mut list, piece)?;
                Ok(next.map(|given| given.required_here(faults, OBJECT)))
            })?;
            let Some(block) = next else { break };
            blocks.extend(block);
            length += 1;
        }
        Ok(match length {
            0 => Given::Bad(NO_BLOCKS),
            _ if blocks.len() == length => Given::Good(Content::Blocks(blocks)),
            _ => Given::Noted,
        })
    }
}

struct Piece<'f> {
    faults: &'f mut Faults,
    references: &'f mut usize,
}

/// What the `type` of a block says.
enum Kind {
    Text,
    /// A file, and the block that it makes.
    File(fn(Source) -> Block),
}

impl<'de> Shape<'de> for Piece<'_> {
    type Value = Block;
    const WANTED: Bad = OBJECT;

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Given<Block>, A::Error> {
        let Self { faults, references } = self;
        // Noted only when the type asks for them: to the other types they are unknown fields.
        let mut text = Given::Absent;
        let mut source = Given::Absent;
        let mut kind = Given::Absent;
        while let Some(key) = object.next_key_seed(OneOf(&["type", "text", "source"]))? {
            match key {
                Some("type") => kind = object.next_value_seed(Read(KindName))?,
                Some("text") => text = object.next_value_seed(Read(Text))?,
                Some("source") => source = object.next_value_seed(Read(FileId))?,
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        let block = match kind.required(faults, "type") {
            None => None,
            Some(Kind::Text) => text
                .required(faults, "text")
                .map(|text| Block::Text { text }),
            Some(Kind::File(make)) => {
                *references += 1;
                let file_id = source.required(faults, "source").and_then(|file_id| {
                    let step = Step::Key("source");
                    faults.within(step, |faults| file_id.required(faults, "file_id"))
                });
                file_id.map(|file_id| make(Source { file_id }))
            }
        };
        Ok(block.into())
    }
}

struct KindName;

impl Shape<'_> for KindName {
    type Value = Kind;
    const WANTED: Bad = BLOCK_TYPE;

    fn text(self, text: &str) -> Given<Kind> {
        match text {
            "text" => Given::Good(Kind::Text),
            "image" => Given::Good(Kind::File(|source| Block::Image { source })),
            "document" => Given::Good(Kind::File(|source| Block::Document { source })),
            "video" => Given::Good(Kind::File(|source| Block::Video { source })),
            _ => Given::Bad(BLOCK_TYPE),
        }
    }
}

/// The `file_id` of a `source`, its faults not noted yet.
struct FileId;

impl<'de> Shape<'de> for FileId {
    type Value = Given<String>;
    const WANTED: Bad = OBJECT;

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Given<Given<String>>, A::Error> {
        let mut file_id = Given::Absent;
        while let Some(key) = object.next_key_seed(OneOf(&["file_id"]))? {
            match key {
                Some(_) => file_id = object.next_value_seed(Read(Text))?,
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Given::Good(file_id))
    }
}
