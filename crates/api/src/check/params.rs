//! `params`: which kind of request it is, and its numbers and texts.

use domain::params::{Chat, Embedding, InputText, Message, Params as Checked};
use serde::de::{IgnoredAny, MapAccess};
use wire::detail::Step;

use super::Rules;
use super::messages::Messages;
use super::shape::{Bad, Given, OBJECT, OneOf, Read, Shape};
use super::values::{Count, Ratio, StopSequences, Text, Texts, Whole};
use crate::faults::Faults;

const KEYS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "input_text",
    "system",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
];

#[derive(Debug)]
pub(super) struct Params<'f> {
    pub faults: &'f mut Faults,
    pub rules: &'f Rules,
}

/// Everything that may stand in `params`, as it was given.
#[derive(Debug)]
struct Fields {
    model: Given<String>,
    max_tokens: Given<u32>,
    messages: Given<Vec<Message>>,
    input_text: Given<InputText>,
    system: Given<String>,
    temperature: Given<f64>,
    top_p: Given<f64>,
    top_k: Given<i64>,
    stop_sequences: Given<Vec<String>>,
}

impl<'de> Shape<'de> for Params<'_> {
    type Value = Checked;
    const WANTED: Bad = OBJECT;

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Given<Checked>, A::Error> {
        let Self { faults, rules } = self;
        let mut fields = Fields::none();
        while let Some(key) = object.next_key_seed(OneOf(KEYS))? {
            match key {
                Some(key) => {
                    let step = Step::Key(key);
                    faults.within(step, |faults| fields.read(key, &mut object, faults, rules))?;
                }
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields.checked(faults).into())
    }
}

impl Fields {
    const fn none() -> Self {
        Self {
            model: Given::Absent,
            max_tokens: Given::Absent,
            messages: Given::Absent,
            input_text: Given::Absent,
            system: Given::Absent,
            temperature: Given::Absent,
            top_p: Given::Absent,
            top_k: Given::Absent,
            stop_sequences: Given::Absent,
        }
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        object: &mut A,
        faults: &mut Faults,
        rules: &Rules,
    ) -> Result<(), A::Error> {
        match key {
            "model" => self.model = object.next_value_seed(Read(Text))?,
            "max_tokens" => self.max_tokens = object.next_value_seed(Read(Count))?,
            "messages" => {
                let messages = Messages { faults, rules };
                self.messages = object.next_value_seed(Read(messages))?;
            }
            "input_text" => self.input_text = object.next_value_seed(Read(Texts { faults }))?,
            "system" => self.system = object.next_value_seed(Read(Text))?,
            "temperature" => self.temperature = object.next_value_seed(Read(Ratio))?,
            "top_p" => self.top_p = object.next_value_seed(Read(Ratio))?,
            "top_k" => self.top_k = object.next_value_seed(Read(Whole))?,
            "stop_sequences" => {
                let stops = StopSequences {
                    faults,
                    most: rules.max_stop_sequences,
                };
                self.stop_sequences = object.next_value_seed(Read(stops))?;
            }
            _ => {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn checked(self, faults: &mut Faults) -> Option<Checked> {
        let model = self.model.required(faults, "model");
        let is_chat = !self.messages.is_absent();
        let is_embedding = !self.input_text.is_absent();
        let messages = self.messages.optional(faults, "messages");
        let input_text = self.input_text.optional(faults, "input_text");
        let system = self.system.optional(faults, "system");
        let temperature = self.temperature.optional(faults, "temperature");
        let top_p = self.top_p.optional(faults, "top_p");
        let top_k = self.top_k.optional(faults, "top_k");
        let stop_sequences = self.stop_sequences.optional(faults, "stop_sequences");
        match (is_chat, is_embedding) {
            (true, false) => {
                if self.max_tokens.is_absent() {
                    faults.note("value_error", "max_tokens is required for chat requests");
                }
                Some(Checked::Chat(Chat {
                    model: model?,
                    max_tokens: self.max_tokens.optional(faults, "max_tokens")?,
                    messages: messages?,
                    system,
                    temperature,
                    top_p,
                    top_k,
                    stop_sequences: stop_sequences.unwrap_or_default(),
                }))
            }
            // max_tokens means nothing to an embedding, whatever it is.
            (false, true) => Some(Checked::Embedding(Embedding {
                model: model?,
                input_text: input_text?,
            })),
            (true, true) => {
                faults.note("value_error", "messages and input_text exclude each other");
                None
            }
            (false, false) => {
                faults.note("value_error", "either messages or input_text is required");
                None
            }
        }
    }
}
