//! The answer to a chat: thoughts, then tool calls or a text.

use serde_json::json;

use super::{AnswerSigning, CallArguments, ChatAnswer, SimulatedToolCall, ThoughtText};
use crate::cache::CacheCounts;
use crate::json_sample::sample;
use crate::provider::SimulatedProvider;
use crate::request::{ChatTask, ItemRequest, ThinkingMode, ToolMode, ToolSpec};
use crate::rule;
use crate::rule::{DirectedCall, Directives, FinishReason, UsageStyle};
use crate::usage::SimulatedUsage;

const REFUSAL_TEXT: &str = "I'm sorry, but I can't help with that.";
/// How many tokens more a wrong usage claims to have read than there are.
const CACHED_TOO_MUCH: u64 = 100;

/// The text, the calls, and why the answer ends.
type Ending = (Option<String>, Vec<SimulatedToolCall>, FinishReason);

pub(super) fn answer(
    question: &ItemRequest,
    task: &ChatTask,
    directives: &Directives,
    is_blocked: bool,
    cache: CacheCounts,
) -> ChatAnswer {
    // Nothing comes before a refusal that says nothing.
    let is_silent = is_blocked || directives.is_blocked() || directives.is_refused_silently();
    let thought = think(task, directives).filter(|_| !is_silent);
    let thinking = thought
        .as_ref()
        .map_or(0, |thought| rule::output_tokens(&thought.text));
    let (text, calls, finish_reason) = end(task, directives, is_blocked, thinking);
    let words = rule::output_tokens(text.as_deref().unwrap_or_default());
    let arguments = calls
        .iter()
        .map(|call| rule::output_tokens(&call.arguments.to_text()) + 1);
    let usage = with_cache(
        SimulatedUsage {
            input: question.input_tokens(),
            output: thinking + words + arguments.sum::<u64>(),
            thinking,
            ..SimulatedUsage::default()
        },
        directives,
        cache,
    );
    // Anthropic does not bill a refusal that says nothing.
    let is_free = is_silent && question.provider == SimulatedProvider::Anthropic;
    ChatAnswer {
        thought,
        text,
        calls,
        finish_reason,
        usage: Some(usage),
        usage_style: directives.usage_style(),
        billed: if is_free {
            SimulatedUsage::default()
        } else {
            usage
        },
        signing: AnswerSigning {
            signs_parts: task.signs_parts,
            encrypts_reasoning: task.encrypts_reasoning,
        },
        responses_error: directives.responses_error().map(str::to_owned),
        tier: None,
    }
}

impl ChatAnswer {
    /// The usage, wrong if a directive says so.
    pub(super) fn reported_usage(&self) -> SimulatedUsage {
        let mut usage = self.usage.unwrap_or_default();
        if self.usage_style == UsageStyle::CachedOver {
            usage.cached = usage.input + CACHED_TOO_MUCH;
        }
        usage
    }
}

fn think(task: &ChatTask, directives: &Directives) -> Option<ThoughtText> {
    let is_shown = match task.thinking {
        ThinkingMode::Shown => true,
        ThinkingMode::Hidden => false,
        // The model thinks unasked, and says so.
        ThinkingMode::Off => directives.thought().is_some(),
    };
    let text = match (directives.thought(), task.thinking) {
        (Some(text), _) => text.to_owned(),
        (None, ThinkingMode::Off) => return None,
        (None, ThinkingMode::Hidden | ThinkingMode::Shown) => {
            rule::thinking_text(&task.last_user_text)
        }
    };
    Some(ThoughtText { text, is_shown })
}

fn end(task: &ChatTask, directives: &Directives, is_blocked: bool, thinking: u64) -> Ending {
    if is_blocked || directives.is_blocked() {
        return (None, Vec::new(), FinishReason::Blocked);
    }
    if directives.is_refused_silently() {
        return (None, Vec::new(), FinishReason::Refused);
    }
    if directives.is_refused() {
        let text = Some(REFUSAL_TEXT.to_owned());
        return (text, Vec::new(), FinishReason::Refused);
    }
    if directives.is_aborted() {
        return (None, Vec::new(), FinishReason::Aborted);
    }
    // Thoughts use up the limit first.
    let room = task.max_tokens.map(|max| max.saturating_sub(thinking));
    let generated = rule::cut_text(&whole_text(task), room, &task.stops);
    if let Some(name) = directives.stop() {
        let reason = FinishReason::Named(name.to_owned());
        return (Some(generated.text), Vec::new(), reason);
    }
    if directives.is_continued() {
        return (Some(generated.text), Vec::new(), FinishReason::Continuation);
    }
    let calls = choose_calls(task, directives);
    if directives.is_cut() {
        let words = rule::output_tokens(&generated.text).div_ceil(2);
        let half = rule::cut_text(&generated.text, Some(words), &[]);
        let text = calls.is_empty().then_some(half.text);
        return (text, calls, FinishReason::Length);
    }
    if !calls.is_empty() {
        return (None, calls, FinishReason::ToolCalls);
    }
    (Some(generated.text), Vec::new(), generated.finish_reason)
}

/// JSON for a schema, or else the answer rule.
fn whole_text(task: &ChatTask) -> String {
    match &task.format {
        Some(schema) => sample(schema).to_string(),
        None => rule::chat_text(&task.last_user_text),
    }
}

/// The calls of directives. Without them, the one that the request forces.
fn choose_calls(task: &ChatTask, directives: &Directives) -> Vec<SimulatedToolCall> {
    let has_id = !directives.hides_call_ids();
    let schema = |name: &str| task.tools.iter().find(|tool| tool.name == name);
    let directed: Vec<SimulatedToolCall> = directives
        .calls()
        .into_iter()
        .map(|call| match call {
            DirectedCall::Tool { name, input } => SimulatedToolCall {
                arguments: CallArguments::Json(match (input, schema(&name)) {
                    (Some(input), _) => input,
                    (None, Some(tool)) => sample(&tool.schema),
                    (None, None) => json!({}),
                }),
                name,
                has_id,
            },
            DirectedCall::BadArguments { name, text } => SimulatedToolCall {
                name,
                arguments: CallArguments::Invalid(text),
                has_id,
            },
        })
        .collect();
    if !directed.is_empty() {
        return directed;
    }
    let forced: Option<&ToolSpec> = match &task.tool_choice {
        ToolMode::Auto | ToolMode::Off => None,
        ToolMode::Required => task.tools.first(),
        ToolMode::Named(name) => schema(name),
    };
    let call = forced.map(|tool| SimulatedToolCall {
        name: tool.name.clone(),
        arguments: CallArguments::Json(sample(&tool.schema)),
        has_id,
    });
    call.into_iter().collect()
}

/// Counts of caches, from directives or else from the caches of the account.
fn with_cache(
    usage: SimulatedUsage,
    directives: &Directives,
    cache: CacheCounts,
) -> SimulatedUsage {
    let (read, write, long_write) = match (directives.cached(), directives.cache_write()) {
        (None, None) => (cache.read, cache.write, cache.long_write),
        (read, write) => (read.unwrap_or(0), write.unwrap_or(0), 0),
    };
    SimulatedUsage {
        // A directive may name more tokens than the prompt has.
        input: usage.input.max(read + write + long_write),
        cached: read,
        cache_write: write,
        long_cache_write: long_write,
        ..usage
    }
}
