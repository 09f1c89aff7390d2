//! Features of models.

use domain::features::{
    Features, PromptCaching, SchemaDialect, StructuredOutput, ThinkingSupport, ToolSupport,
};
use domain::params::thinking::Effort;

/// Everything that some model can do for a chat, so that an encoder leaves nothing out.
pub fn every_chat_feature(dialect: SchemaDialect, budget: Option<(u32, u32)>) -> Features {
    Features {
        tools: ToolSupport::Parallel,
        forced_tools: true,
        tool_result_files: true,
        strict_tools: true,
        max_tools: 128,
        structured_output: StructuredOutput::WithTools,
        schema_dialects: vec![dialect],
        thinking: ThinkingSupport {
            adaptive: true,
            budget,
            disabled: true,
            summaries: true,
            efforts: Effort::ALL.to_vec(),
            ..ThinkingSupport::none()
        },
        caching: PromptCaching::Marks,
        seed: true,
        ..Features::plain()
    }
}
