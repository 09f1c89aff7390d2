//! Reads `params`: the kind of the request and its fields.

use domain::params::{ChatMessage, ChatParams, EmbeddingParams, InputText, Params as Checked};
use serde::de::{IgnoredAny, MapAccess};
use wire::error_body::LocationStep;

use super::LoadRules;
use super::messages::MessagesReader;
use super::reader::{FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader};
use super::values::{
    InputTextReader, IntegerReader, PositiveIntegerReader, RatioReader, StopSequencesReader,
    TextReader,
};
use crate::validation_errors::ValidationErrors;

const PARAM_NAMES: &[&str] = &[
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
pub(super) struct ParamsReader<'f> {
    pub faults: &'f mut ValidationErrors,
    pub rules: &'f LoadRules,
}

/// All fields of `params`, as they were read.
#[derive(Debug)]
struct ParamFields {
    model: FieldValue<String>,
    max_tokens: FieldValue<u32>,
    messages: FieldValue<Vec<ChatMessage>>,
    input_text: FieldValue<InputText>,
    system: FieldValue<String>,
    temperature: FieldValue<f64>,
    top_p: FieldValue<f64>,
    top_k: FieldValue<i64>,
    stop_sequences: FieldValue<Vec<String>>,
}

impl<'de> ValueReader<'de> for ParamsReader<'_> {
    type Value = Checked;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<Checked>, A::Error> {
        let Self { faults, rules } = self;
        let mut fields = ParamFields::empty();
        while let Some(key) = object.next_key_seed(KeySeed(PARAM_NAMES))? {
            match key {
                Some(key) => {
                    let step = LocationStep::Key(key);
                    faults.within(step, |faults| {
                        fields.read_field(key, &mut object, faults, rules)
                    })?;
                }
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields.into_params(faults).into())
    }
}

impl ParamFields {
    const fn empty() -> Self {
        Self {
            model: FieldValue::Absent,
            max_tokens: FieldValue::Absent,
            messages: FieldValue::Absent,
            input_text: FieldValue::Absent,
            system: FieldValue::Absent,
            temperature: FieldValue::Absent,
            top_p: FieldValue::Absent,
            top_k: FieldValue::Absent,
            stop_sequences: FieldValue::Absent,
        }
    }

    fn read_field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        object: &mut A,
        faults: &mut ValidationErrors,
        rules: &LoadRules,
    ) -> Result<(), A::Error> {
        match key {
            "model" => self.model = object.next_value_seed(ReaderSeed(TextReader))?,
            "max_tokens" => {
                self.max_tokens = object.next_value_seed(ReaderSeed(PositiveIntegerReader))?;
            }
            "messages" => {
                let messages = MessagesReader { faults, rules };
                self.messages = object.next_value_seed(ReaderSeed(messages))?;
            }
            "input_text" => {
                self.input_text = object.next_value_seed(ReaderSeed(InputTextReader { faults }))?;
            }
            "system" => self.system = object.next_value_seed(ReaderSeed(TextReader))?,
            "temperature" => self.temperature = object.next_value_seed(ReaderSeed(RatioReader))?,
            "top_p" => self.top_p = object.next_value_seed(ReaderSeed(RatioReader))?,
            "top_k" => self.top_k = object.next_value_seed(ReaderSeed(IntegerReader))?,
            "stop_sequences" => {
                let stops = StopSequencesReader {
                    faults,
                    max: rules.max_stop_sequences,
                };
                self.stop_sequences = object.next_value_seed(ReaderSeed(stops))?;
            }
            _ => {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn into_params(self, faults: &mut ValidationErrors) -> Option<Checked> {
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
                    faults.add("value_error", "max_tokens is required for chat requests");
                }
                Some(Checked::Chat(ChatParams {
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
            // An embedding ignores max_tokens, even an invalid one.
            (false, true) => Some(Checked::Embedding(EmbeddingParams {
                model: model?,
                input_text: input_text?,
            })),
            (true, true) => {
                faults.add("value_error", "messages and input_text cannot be combined");
                None
            }
            (false, false) => {
                faults.add("value_error", "either messages or input_text is required");
                None
            }
        }
    }
}
