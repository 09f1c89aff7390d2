//! Reads `params`: the kind of the request and its fields.

use domain::params::content::{ChatMessage, SystemPrompt};
use domain::params::{
    ChatParams, EmbeddingInputType, EmbeddingParams, InputText, Params as Checked,
};
use serde::de::MapAccess;
use wire::error_body::LocationStep;

use super::LoadRules;
use super::chat_extensions::ExtensionFields;
use super::messages::MessagesReader;
use super::params_vendor_fields::PARAMS_FIELDS;
use super::reader::{
    FieldKey, FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader,
};
use super::system::SystemReader;
use super::unknown_fields::{skip_unknown, warn_unused};
use super::values::{
    ChoiceReader, InputTextReader, IntegerReader, PositiveIntegerReader, RatioReader,
    StopSequencesReader, TextReader,
};
use crate::validation_errors::ValidationErrors;

pub(super) const PARAM_NAMES: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "input_text",
    "system",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "tools",
    "tool_choice",
    "output_config",
    "thinking",
    "cache_control",
    "seed",
    "provider_options",
    "dimensions",
    "input_type",
];

/// Tools and the schema of the answer, as JSON.
const MAX_SCHEMA_BYTES: usize = 256 << 10;
const INPUT_TYPES: &[(&str, EmbeddingInputType)] = &[
    ("query", EmbeddingInputType::Query),
    ("document", EmbeddingInputType::Document),
    ("similarity", EmbeddingInputType::Similarity),
    ("classification", EmbeddingInputType::Classification),
    ("clustering", EmbeddingInputType::Clustering),
];
const INVALID_INPUT_TYPE: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be query, document, similarity, classification or clustering",
);
const UNUSED_IN_EMBEDDING: &str = "An embedding request has no such field, so it is ignored.";

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
    system: FieldValue<SystemPrompt>,
    temperature: FieldValue<f64>,
    top_p: FieldValue<f64>,
    top_k: FieldValue<i64>,
    stop_sequences: FieldValue<Vec<String>>,
    extensions: ExtensionFields,
    dimensions: FieldValue<u32>,
    input_type: FieldValue<EmbeddingInputType>,
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
                FieldKey::Known(key) => {
                    let step = LocationStep::key(key);
                    faults.within(step, |faults| {
                        fields.read_field(key, &mut object, faults, rules)
                    })?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &PARAMS_FIELDS)?;
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
            extensions: ExtensionFields::empty(),
            dimensions: FieldValue::Absent,
            input_type: FieldValue::Absent,
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
            "system" => {
                self.system = object.next_value_seed(ReaderSeed(SystemReader { faults }))?;
            }
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
            "dimensions" => {
                self.dimensions = object.next_value_seed(ReaderSeed(PositiveIntegerReader))?;
            }
            "input_type" => {
                let (choices, mismatch) = (INPUT_TYPES, INVALID_INPUT_TYPE);
                let reader = ChoiceReader { choices, mismatch };
                self.input_type = object.next_value_seed(ReaderSeed(reader))?;
            }
            _ => self.extensions.read_field(key, object, faults)?,
        }
        Ok(())
    }

    /// The contract's fields of a chat that an embedding does not use. It ignores `max_tokens`, as
    /// the contract says.
    fn sampling_fields(&self) -> Vec<&'static str> {
        let fields = [
            ("system", self.system.is_absent()),
            ("temperature", self.temperature.is_absent()),
            ("top_p", self.top_p.is_absent()),
            ("top_k", self.top_k.is_absent()),
            ("stop_sequences", self.stop_sequences.is_absent()),
        ];
        let present = fields.into_iter().filter(|(_, is_absent)| !is_absent);
        present.map(|(name, _)| name).collect()
    }

    fn into_params(self, faults: &mut ValidationErrors) -> Option<Checked> {
        let is_chat = !self.messages.is_absent();
        let is_embedding = !self.input_text.is_absent();
        match (is_chat, is_embedding) {
            (true, false) => self.refuse_embedding_fields(faults),
            (false, true) => self.report_chat_fields(faults),
            (true, true) | (false, false) => {}
        }
        let model = self.model.required(faults, "model");
        let messages = self.messages.optional(faults, "messages");
        let input_text = self.input_text.optional(faults, "input_text");
        let system = self.system.optional(faults, "system");
        let temperature = self.temperature.optional(faults, "temperature");
        let top_p = self.top_p.optional(faults, "top_p");
        let top_k = self.top_k.optional(faults, "top_k");
        let stop_sequences = self.stop_sequences.optional(faults, "stop_sequences");
        let extensions = self.extensions.into_extensions(faults);
        let dimensions = self.dimensions.optional(faults, "dimensions");
        let input_type = self.input_type.optional(faults, "input_type");
        match (is_chat, is_embedding) {
            (true, false) => {
                if self.max_tokens.is_absent() {
                    faults.add("value_error", "max_tokens is required for chat requests");
                }
                let chat = ChatParams {
                    model: model?,
                    max_tokens: self.max_tokens.optional(faults, "max_tokens")?,
                    messages: messages?,
                    system,
                    temperature,
                    top_p,
                    top_k,
                    stop_sequences: stop_sequences.unwrap_or_default(),
                    tools: extensions.tools,
                    tool_choice: extensions.tool_choice,
                    output_config: extensions.output_config,
                    thinking: extensions.thinking,
                    cache_control: extensions.cache_control,
                    seed: extensions.seed,
                    provider_options: extensions.provider_options,
                };
                check_schema_bytes(&chat, faults);
                Some(Checked::Chat(chat))
            }
            // An embedding ignores max_tokens, even an invalid one.
            (false, true) => Some(Checked::Embedding(EmbeddingParams {
                model: model?,
                input_text: input_text?,
                dimensions,
                input_type,
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

    fn refuse_embedding_fields(&self, faults: &mut ValidationErrors) {
        let fields = [
            ("dimensions", self.dimensions.is_absent()),
            ("input_type", self.input_type.is_absent()),
        ];
        for (name, _) in fields.into_iter().filter(|(_, is_absent)| !is_absent) {
            let msg = "Only an embedding request has this field";
            faults.add_at(name, "value_error", msg);
        }
    }

    /// The contract's fields are ignored with a warning, and ours are refused.
    fn report_chat_fields(&self, faults: &mut ValidationErrors) {
        for name in self.sampling_fields() {
            warn_unused(name, faults, UNUSED_IN_EMBEDDING);
        }
        for name in self.extensions.present() {
            let msg = "Only a chat request has this field";
            faults.add_at(name, "value_error", msg);
        }
    }
}

fn check_schema_bytes(chat: &ChatParams, faults: &mut ValidationErrors) {
    if chat.schema_bytes() <= MAX_SCHEMA_BYTES {
        return;
    }
    let field = if chat.tools.is_empty() {
        "output_config"
    } else {
        "tools"
    };
    let msg = format!("Tools and schemas should be at most {MAX_SCHEMA_BYTES} bytes of JSON");
    faults.add_at(field, "too_long", msg);
}
