//! What routes of each kind of provider can do, unless the catalogue says otherwise.

use domain::features::{EmbeddingFeatures, Features, SchemaDialect, StructuredOutput, ToolSupport};
use domain::route::ChatApi;

use crate::providers::kind::ProviderKind;

/// No provider publishes a larger limit of tools.
const MAX_TOOLS: u32 = 128;
/// Embedding models of `OpenAI` and Gemini have at most this many dimensions.
const DIMENSIONS: (u32, u32) = (1, 3072);

/// Thinking differs from model to model, so no kind has it by default.
pub(super) fn for_kind(kind: ProviderKind, api: ChatApi) -> Features {
    match (kind, api) {
        (ProviderKind::OpenAi, ChatApi::Completions) => open_ai(),
        (ProviderKind::OpenAi, ChatApi::Responses) => Features {
            tool_result_files: true,
            max_stop_sequences: 0,
            seed: false,
            min_output: 16,
            ..open_ai()
        },
        (ProviderKind::Anthropic, _) => Features {
            tools: ToolSupport::Parallel,
            forced_tools: true,
            tool_result_files: true,
            strict_tools: true,
            max_tools: MAX_TOOLS,
            structured_output: StructuredOutput::WithTools,
            schema_dialects: vec![SchemaDialect::Anthropic],
            caching: domain::features::PromptCaching::Marks,
            max_stop_sequences: u32::MAX,
            system_messages: false,
            ..Features::plain()
        },
        (ProviderKind::Gemini, _) => Features {
            tools: ToolSupport::AlwaysParallel,
            forced_tools: true,
            strict_tools: true,
            max_tools: MAX_TOOLS,
            structured_output: StructuredOutput::WithoutTools,
            schema_dialects: vec![SchemaDialect::Gemini],
            max_stop_sequences: 5,
            system_messages: false,
            seed: true,
            embedding: EmbeddingFeatures {
                max_inputs: 1,
                dimensions: Some(DIMENSIONS),
                input_type: true,
            },
            ..Features::plain()
        },
        // What a server can do depends on how it was started.
        (ProviderKind::Server, _) => Features {
            schema_dialects: vec![SchemaDialect::Server],
            max_tools: MAX_TOOLS,
            max_stop_sequences: u32::MAX,
            seed: true,
            ..Features::plain()
        },
    }
}

fn open_ai() -> Features {
    Features {
        tools: ToolSupport::Parallel,
        forced_tools: true,
        strict_tools: true,
        max_tools: MAX_TOOLS,
        structured_output: StructuredOutput::WithTools,
        schema_dialects: vec![SchemaDialect::OpenAi],
        max_stop_sequences: 4,
        seed: true,
        top_k: false,
        embedding: EmbeddingFeatures {
            max_inputs: 2048,
            dimensions: Some(DIMENSIONS),
            input_type: false,
        },
        ..Features::plain()
    }
}
