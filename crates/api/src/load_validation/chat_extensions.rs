//! Reads the fields of a chat that go beyond the contract: tools, schemas, thoughts, caching, a
//! seed and options for providers.

use domain::params::cache_control::CacheControl;
use domain::params::thinking::{OutputConfig, Thinking};
use domain::params::tools::{Tool, ToolChoice};
use serde::de::MapAccess;

use super::cache_control::CacheControlReader;
use super::output_config::OutputConfigReader;
use super::provider_options::{OptionsByProvider, ProviderOptionsReader};
use super::reader::{FieldValue, ReaderSeed};
use super::thinking::ThinkingReader;
use super::tools::{ToolChoiceReader, ToolsReader};
use super::values::SeedReader;
use crate::validation_errors::ValidationErrors;

/// The fields, as they were read.
#[derive(Debug)]
pub(super) struct ExtensionFields {
    tools: FieldValue<Vec<Tool>>,
    tool_choice: FieldValue<ToolChoice>,
    output_config: FieldValue<OutputConfig>,
    thinking: FieldValue<Thinking>,
    cache_control: FieldValue<CacheControl>,
    seed: FieldValue<u32>,
    provider_options: FieldValue<OptionsByProvider>,
}

/// The values of the fields.
#[derive(Debug)]
pub(super) struct ChatExtensions {
    pub(super) tools: Vec<Tool>,
    pub(super) tool_choice: Option<ToolChoice>,
    pub(super) output_config: Option<OutputConfig>,
    pub(super) thinking: Option<Thinking>,
    pub(super) cache_control: Option<CacheControl>,
    pub(super) seed: Option<u32>,
    pub(super) provider_options: OptionsByProvider,
}

impl ExtensionFields {
    pub(super) const fn empty() -> Self {
        Self {
            tools: FieldValue::Absent,
            tool_choice: FieldValue::Absent,
            output_config: FieldValue::Absent,
            thinking: FieldValue::Absent,
            cache_control: FieldValue::Absent,
            seed: FieldValue::Absent,
            provider_options: FieldValue::Absent,
        }
    }

    /// The names of the fields that are there.
    pub(super) fn present(&self) -> Vec<&'static str> {
        let fields = [
            ("tools", self.tools.is_absent()),
            ("tool_choice", self.tool_choice.is_absent()),
            ("output_config", self.output_config.is_absent()),
            ("thinking", self.thinking.is_absent()),
            ("cache_control", self.cache_control.is_absent()),
            ("seed", self.seed.is_absent()),
            ("provider_options", self.provider_options.is_absent()),
        ];
        let present = fields.into_iter().filter(|(_, is_absent)| !is_absent);
        present.map(|(name, _)| name).collect()
    }

    /// Reads the value of a field of these. Any other key is `provider_options`.
    pub(super) fn read_field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        object: &mut A,
        faults: &mut ValidationErrors,
    ) -> Result<(), A::Error> {
        match key {
            "tools" => self.tools = object.next_value_seed(ReaderSeed(ToolsReader { faults }))?,
            "tool_choice" => {
                let reader = ToolChoiceReader { faults };
                self.tool_choice = object.next_value_seed(ReaderSeed(reader))?;
            }
            "output_config" => {
                let reader = OutputConfigReader { faults };
                self.output_config = object.next_value_seed(ReaderSeed(reader))?;
            }
            "thinking" => {
                self.thinking = object.next_value_seed(ReaderSeed(ThinkingReader { faults }))?;
            }
            "cache_control" => {
                let reader = CacheControlReader { faults };
                self.cache_control = object.next_value_seed(ReaderSeed(reader))?;
            }
            "seed" => self.seed = object.next_value_seed(ReaderSeed(SeedReader))?,
            _ => {
                let reader = ProviderOptionsReader { faults };
                self.provider_options = object.next_value_seed(ReaderSeed(reader))?;
            }
        }
        Ok(())
    }

    pub(super) fn into_extensions(self, faults: &mut ValidationErrors) -> ChatExtensions {
        let tools = self.tools.optional(faults, "tools");
        let provider_options = self.provider_options;
        ChatExtensions {
            tools: tools.unwrap_or_default(),
            tool_choice: self.tool_choice.optional(faults, "tool_choice"),
            output_config: self.output_config.optional(faults, "output_config"),
            thinking: self.thinking.optional(faults, "thinking"),
            cache_control: self.cache_control.optional(faults, "cache_control"),
            seed: self.seed.optional(faults, "seed"),
            provider_options: provider_options
                .optional(faults, "provider_options")
                .unwrap_or_default(),
        }
    }
}
