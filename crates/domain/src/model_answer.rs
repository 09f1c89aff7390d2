//! A model's answer as the adapters read it, and the outcome that the caller gets.

use crate::id::CargoId;
use crate::outcome::{
    ChatCompletion, Completion, CompletionBlock, Outcome, ReportedUsage, StopDetails, StopReason,
};
use crate::reason_code::FailureCode;
use crate::response_shape::ResponseShape;
use crate::route::InferenceMode;
use crate::token_buckets::TokenBuckets;

/// Everything that the provider returned, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    pub blocks: Vec<CompletionBlock>,
    pub stop: ModelStop,
    /// None if the provider reported no plausible usage.
    pub usage: Option<TokenBuckets>,
    /// What the provider bills, where its counts contradict each other; otherwise `usage`.
    pub billed: Option<TokenBuckets>,
    /// The tier that served the request, if the provider says it.
    pub tier: Option<InferenceMode>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelStop {
    EndTurn,
    MaxTokens,
    /// The stop sequence, if the provider names it.
    StopSequence(Option<String>),
    ToolUse,
    Refusal(StopDetails),
    /// A content filter stopped the model. Text before that is still an answer.
    Blocked(String),
    /// The model stopped for a feature that Longshore does not support.
    Unsupported(String),
}

/// The caller's outcome and the tokens that count for it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedAnswer {
    pub outcome: Outcome,
    /// What the caller is charged for; None if it has to be estimated.
    pub charged: Option<TokenBuckets>,
}

impl ModelAnswer {
    pub fn new(blocks: Vec<CompletionBlock>, stop: ModelStop, usage: Option<TokenBuckets>) -> Self {
        Self {
            blocks,
            stop,
            usage,
            billed: usage,
            tier: None,
        }
    }

    /// The outcome for a request of this shape. `stop_sequences` are the request's, and needed only
    /// if Longshore applies them.
    pub fn into_outcome(
        self,
        cargo: CargoId,
        model: &str,
        shape: ResponseShape,
        stop_sequences: &[String],
    ) -> JudgedAnswer {
        let has_text = self.blocks.iter().any(CompletionBlock::is_filled);
        let (stop_reason, stop_sequence, stop_details) = match self.stop {
            ModelStop::MaxTokens => (StopReason::MaxTokens, None, None),
            ModelStop::StopSequence(which) => (StopReason::StopSequence, which, None),
            ModelStop::ToolUse if shape.is_extended => (StopReason::ToolUse, None, None),
            ModelStop::ToolUse => return unsupported("tool_use"),
            ModelStop::Refusal(_) if !has_text => return blocked("refusal"),
            ModelStop::Blocked(name) if !has_text => return blocked(&name),
            ModelStop::Refusal(details) if shape.is_extended => {
                (StopReason::Refusal, None, Some(details))
            }
            ModelStop::Blocked(name) if shape.is_extended => {
                let details = StopDetails {
                    category: Some(name),
                    explanation: None,
                };
                (StopReason::Refusal, None, Some(details))
            }
            // For a plain request, a refusal with text is an answer.
            ModelStop::EndTurn | ModelStop::Refusal(_) | ModelStop::Blocked(_) => {
                (StopReason::EndTurn, None, None)
            }
            ModelStop::Unsupported(name) => return unsupported(&name),
        };
        let mut content = visible_blocks(self.blocks, shape);
        let cut = shape
            .cuts_at_stop_sequences
            .then(|| cut_at_stop_sequence(&mut content, stop_sequences))
            .flatten();
        let (stop_reason, stop_sequence) = match cut {
            Some(found) => (StopReason::StopSequence, Some(found)),
            None => (stop_reason, stop_sequence),
        };
        let usage = self.usage.unwrap_or_default();
        let completion = ChatCompletion {
            id: format!("msg_{}", cargo.uuid().simple()),
            kind: "message".to_owned(),
            role: "assistant".to_owned(),
            content,
            model: model.to_owned(),
            stop_reason,
            stop_sequence: stop_sequence.filter(|_| shape.is_extended),
            stop_details,
            usage: if shape.details_usage() {
                ReportedUsage::detailed(usage)
            } else {
                ReportedUsage::plain(usage.totals())
            },
        };
        JudgedAnswer {
            outcome: Outcome::Success(Completion::Chat(completion)),
            charged: self.usage,
        }
    }
}

fn blocked(name: &str) -> JudgedAnswer {
    let message = format!("blocked by provider: {name}");
    failed(FailureCode::ContentBlocked, message)
}

fn unsupported(name: &str) -> JudgedAnswer {
    let message = format!("the model stopped for an unsupported feature: {name}");
    failed(FailureCode::UnsupportedStop, message)
}

/// The caller pays nothing for a failure.
fn failed(code: FailureCode, message: String) -> JudgedAnswer {
    JudgedAnswer {
        outcome: Outcome::Failure(code.with_message(message)),
        charged: Some(TokenBuckets::default()),
    }
}

/// A plain request gets one text block, as the contract says.
fn visible_blocks(blocks: Vec<CompletionBlock>, shape: ResponseShape) -> Vec<CompletionBlock> {
    if !shape.is_extended {
        let texts = blocks.iter().filter_map(CompletionBlock::text);
        return vec![CompletionBlock::plain_text(texts.collect())];
    }
    let is_visible = |block: &CompletionBlock| match block {
        CompletionBlock::Text { text } => !text.is_empty(),
        CompletionBlock::ToolUse { .. } => true,
        CompletionBlock::Thinking { .. } | CompletionBlock::RedactedThinking { .. } => {
            shape.with_thinking
        }
    };
    blocks.into_iter().filter(is_visible).collect()
}

/// Cuts the text before the first stop sequence in it, and returns that sequence.
fn cut_at_stop_sequence(
    content: &mut Vec<CompletionBlock>,
    stop_sequences: &[String],
) -> Option<String> {
    for place in 0..content.len() {
        let Some(CompletionBlock::Text { text }) = content.get_mut(place) else {
            continue;
        };
        let first = stop_sequences
            .iter()
            .filter(|stop| !stop.is_empty())
            .filter_map(|stop| text.find(stop.as_str()).map(|at| (at, stop)))
            .min_by_key(|(at, _)| *at);
        if let Some((at, stop)) = first {
            text.truncate(at);
            content.truncate(place + 1);
            return Some(stop.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests;
