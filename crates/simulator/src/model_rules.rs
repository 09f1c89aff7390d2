//! What each model accepts, by the beginning of its name. The first match counts.
//!
//! A name that no table has accepts everything that its API has, so tests can use their own names.

mod anthropic;
mod gemini;
mod openai;

pub use anthropic::{AnthropicRules, anthropic_rules};
pub use gemini::{GeminiRules, GeminiThinking, gemini_rules};
pub use openai::{ChatToolRule, OpenAiRules, openai_rules};

/// The rules of the first name that the model begins with.
fn first_match<Rules: Copy>(table: &[(&str, Rules)], model: &str) -> Option<Rules> {
    let found = table.iter().find(|(name, _)| model.starts_with(name));
    found.map(|(_, rules)| *rules)
}
