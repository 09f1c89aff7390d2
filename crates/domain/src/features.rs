//! What a model can do by a route. A model offers what all of its routes can do, because cargo moves
//! between routes.

use crate::effort::Effort;

/// The features of one route, or of a model: then what all its routes have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent flag of the catalogue"
)]
pub struct Features {
    pub tools: ToolSupport,
    /// `tool_choice` may force a call.
    pub forced_tools: bool,
    /// Results of tools may contain images and documents.
    pub tool_result_files: bool,
    /// The provider enforces the schema of a tool with `strict`.
    pub strict_tools: bool,
    pub max_tools: u32,
    pub structured_output: StructuredOutput,
    /// The dialects of JSON Schema that every route takes.
    pub schema_dialects: Vec<SchemaDialect>,
    pub thinking: ThinkingSupport,
    pub caching: PromptCaching,
    pub sampling: SamplingSupport,
    /// The provider takes `top_k`; otherwise it is left out, with a warning.
    pub top_k: bool,
    /// More stop sequences than this are applied by Longshore.
    pub max_stop_sequences: u32,
    /// Messages may have the roles `system` and `developer`.
    pub system_messages: bool,
    /// The last message may be the assistant's.
    pub prefill: bool,
    pub seed: bool,
    /// The smallest `max_tokens` that the provider takes; a smaller one is raised to it.
    pub min_output: u32,
    pub embedding: EmbeddingFeatures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolSupport {
    None,
    /// Parallel calls cannot be turned off.
    AlwaysParallel,
    Parallel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StructuredOutput {
    None,
    WithoutTools,
    WithTools,
}

/// The rules for schemas of a kind of provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SchemaDialect {
    OpenAi,
    Anthropic,
    Gemini,
    Server,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ThinkingSupport {
    pub adaptive: bool,
    /// The smallest and largest `budget_tokens` of `enabled`; None if the type is refused.
    pub budget: Option<(u32, u32)>,
    pub disabled: bool,
    /// `display: summarized` is possible.
    pub summaries: bool,
    pub efforts: Vec<Effort>,
    /// What Longshore sends when the caller says nothing.
    pub default_effort: Option<Effort>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PromptCaching {
    /// The provider caches without marks or not at all: marks are dropped.
    Automatic,
    /// Marks are sent to the provider.
    Marks,
}

/// What happens to `temperature`, `top_p` and `top_k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SamplingSupport {
    Pass,
    /// The model refuses them, so they are left out, with a warning.
    Drop,
    /// The operator wants them refused at load.
    Refuse,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EmbeddingFeatures {
    pub max_inputs: u32,
    /// The smallest and largest `dimensions`; None if the field is refused.
    pub dimensions: Option<(u32, u32)>,
    pub input_type: bool,
}

impl Features {
    /// Plain text chat: what a route can do if the catalogue does not list its features.
    pub fn plain() -> Self {
        Self {
            tools: ToolSupport::None,
            forced_tools: false,
            tool_result_files: false,
            strict_tools: false,
            max_tools: 0,
            structured_output: StructuredOutput::None,
            schema_dialects: Vec::new(),
            thinking: ThinkingSupport::none(),
            caching: PromptCaching::Automatic,
            sampling: SamplingSupport::Pass,
            top_k: true,
            max_stop_sequences: 16,
            system_messages: true,
            prefill: true,
            seed: false,
            min_output: 1,
            embedding: EmbeddingFeatures {
                max_inputs: u32::MAX,
                dimensions: None,
                input_type: false,
            },
        }
    }

    /// What both can do.
    #[must_use]
    pub fn common_with(&self, other: &Self) -> Self {
        let mut schema_dialects = [&*self.schema_dialects, &*other.schema_dialects].concat();
        schema_dialects.sort_unstable();
        schema_dialects.dedup();
        Self {
            tools: self.tools.min(other.tools),
            forced_tools: self.forced_tools && other.forced_tools,
            tool_result_files: self.tool_result_files && other.tool_result_files,
            strict_tools: self.strict_tools && other.strict_tools,
            max_tools: self.max_tools.min(other.max_tools),
            structured_output: self.structured_output.min(other.structured_output),
            schema_dialects,
            thinking: self.thinking.common_with(&other.thinking),
            caching: self.caching.max(other.caching),
            sampling: self.sampling.max(other.sampling),
            top_k: self.top_k && other.top_k,
            max_stop_sequences: self.max_stop_sequences.min(other.max_stop_sequences),
            system_messages: self.system_messages && other.system_messages,
            prefill: self.prefill && other.prefill,
            seed: self.seed && other.seed,
            min_output: self.min_output.max(other.min_output),
            embedding: EmbeddingFeatures {
                max_inputs: self.embedding.max_inputs.min(other.embedding.max_inputs),
                dimensions: overlap(self.embedding.dimensions, other.embedding.dimensions),
                input_type: self.embedding.input_type && other.embedding.input_type,
            },
        }
    }
}

impl ThinkingSupport {
    pub const fn none() -> Self {
        Self {
            adaptive: false,
            budget: None,
            disabled: false,
            summaries: false,
            efforts: Vec::new(),
            default_effort: None,
        }
    }

    fn common_with(&self, other: &Self) -> Self {
        let both = self.efforts.iter().filter(|it| other.efforts.contains(it));
        Self {
            adaptive: self.adaptive && other.adaptive,
            budget: overlap(self.budget, other.budget),
            disabled: self.disabled && other.disabled,
            summaries: self.summaries && other.summaries,
            efforts: both.copied().collect(),
            default_effort: self.default_effort.or(other.default_effort),
        }
    }
}

fn overlap(one: Option<(u32, u32)>, other: Option<(u32, u32)>) -> Option<(u32, u32)> {
    let ((a, b), (c, d)) = one.zip(other)?;
    let range = (a.max(c), b.min(d));
    (range.0 <= range.1).then_some(range)
}
