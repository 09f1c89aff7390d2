//! Reads `messages`.

use domain::params::content::ChatMessage;
use serde::de::{MapAccess, SeqAccess};
use wire::error_body::LocationStep;

use super::LoadRules;
use super::blocks::ContentReader;
use super::nested_vendor_fields::MESSAGE_FIELDS;
use super::reader::{
    self, FieldKey, FieldValue, KeySeed, NOT_A_STRING, NOT_AN_ARRAY, NOT_AN_OBJECT, ReaderSeed,
    ValueMismatch, ValueReader,
};
use super::unknown_fields::skip_unknown;
use crate::validation_errors::ValidationErrors;

/// The roles that providers accept. Free text would reach the provider and come back in its
/// error messages.
const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];
const INVALID_ROLE: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be user, assistant, system or developer",
);
const NO_MESSAGES: ValueMismatch =
    ValueMismatch("too_short", "Input should have at least one message");

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
                FieldKey::Known("role") => {
                    role = object.next_value_seed(ReaderSeed(RoleReader))?;
                }
                FieldKey::Known(_) => {
                    content = faults.within(LocationStep::key("content"), |faults| {
                        object.next_value_seed(ReaderSeed(ContentReader { faults, references }))
                    })?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &MESSAGE_FIELDS)?;
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
