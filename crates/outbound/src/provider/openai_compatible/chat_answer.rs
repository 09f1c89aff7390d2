//! Reads the answer of Chat Completions.

use domain::model_answer::{ModelAnswer, ModelStop};
use domain::outcome::{CompletionBlock, StopDetails};
use domain::route::InferenceMode;
use domain::thinking_signature::{SignatureKind, ThinkingSignature};
use serde::Deserialize;
use serde_json::Value;

use crate::provider::item_key::ItemKey;
use crate::provider::item_result::ItemResult;
use crate::provider::tool_calls::ToolCallReader;
use crate::provider::usage_reading;

#[derive(Debug, Deserialize)]
pub(super) struct ChatChoice {
    message: Message,
    #[serde(default)]
    finish_reason: Option<String>,
    /// vLLM: the stop sequence as text, or a stop token of the model as a number.
    #[serde(default)]
    stop_reason: Value,
    /// The same from `SGLang`.
    #[serde(default)]
    matched_stop: Value,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    /// Thoughts, from vLLM.
    #[serde(default)]
    reasoning: Value,
    /// Thoughts, from other servers.
    #[serde(default)]
    reasoning_content: Value,
    /// Untyped: servers leave out fields of a call.
    #[serde(default)]
    tool_calls: Value,
}

impl ChatChoice {
    pub(super) fn into_result(
        self,
        key: ItemKey,
        usage: &Value,
        tier: Option<InferenceMode>,
    ) -> ItemResult {
        let usage = usage_reading::chat_usage(usage);
        if self.finish_reason.as_deref() == Some("abort") {
            return ItemResult::Retry {
                why: "the server aborted the request".to_owned(),
                billed: usage.bill(tier),
            };
        }
        let mut calls = ToolCallReader::new(key.cargo);
        let call_blocks = self.message.calls(&mut calls);
        let text = self.message.content.as_deref();
        let text = text.filter(|text| !text.is_empty());
        let refusal = self.message.refusal.as_deref();
        let refusal = refusal.filter(|it| !it.is_empty() && text.is_none());
        let stop = self.stop(calls.has_calls(), refusal.is_some());
        let mut blocks = Vec::new();
        blocks.extend(self.message.thinking());
        let text = text.or(refusal).map(str::to_owned);
        blocks.extend(text.map(CompletionBlock::plain_text));
        blocks.extend(call_blocks);
        let answer = usage.into_answer(blocks, stop);
        ItemResult::Answer(ModelAnswer { tier, ..answer })
    }

    /// The finish reason may be `stop` although there are calls, so the calls decide.
    fn stop(&self, has_calls: bool, is_refusal: bool) -> ModelStop {
        let sequence = [&self.stop_reason, &self.matched_stop];
        let sequence = sequence.into_iter().find_map(Value::as_str);
        match self.finish_reason.as_deref() {
            Some("length") => ModelStop::MaxTokens,
            Some("content_filter") => ModelStop::Blocked("content_filter".to_owned()),
            Some(_) | None if is_refusal => ModelStop::Refusal(StopDetails::default()),
            Some(_) | None if has_calls => ModelStop::ToolUse,
            Some(name @ ("tool_calls" | "function_call")) => {
                ModelStop::Unsupported(name.to_owned())
            }
            Some("stop") | None if sequence.is_some() => {
                ModelStop::StopSequence(sequence.map(str::to_owned))
            }
            // Unknown newer reasons: the text is still an answer.
            Some(_) | None => ModelStop::EndTurn,
        }
    }
}

impl Message {
    fn calls(&self, reader: &mut ToolCallReader) -> Vec<CompletionBlock> {
        let calls = self.tool_calls.as_array().into_iter().flatten();
        let calls = calls.filter_map(|call| {
            let function = call.get("function")?;
            let name = function.get("name")?.as_str()?;
            let id = call.get("id").and_then(Value::as_str);
            Some(reader.read(id, name, function.get("arguments")))
        });
        calls.collect()
    }

    /// Servers sign no thoughts and do not take them back.
    fn thinking(&self) -> Option<CompletionBlock> {
        let texts = [&self.reasoning, &self.reasoning_content];
        let mut texts = texts.into_iter().filter_map(Value::as_str);
        let text = texts.find(|text| !text.is_empty())?;
        let signature = ThinkingSignature::new(SignatureKind::Server, "");
        Some(CompletionBlock::Thinking {
            thinking: text.to_owned(),
            signature: signature.to_string(),
        })
    }
}
