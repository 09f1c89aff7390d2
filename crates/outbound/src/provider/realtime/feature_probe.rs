//! Asks a server whether it can call tools and follow schemas. Without the right options of the
//! server, a call arrives as plain text, and only a request shows that.

use std::time::Duration;

use domain::id::CargoId;
use domain::model::ModelKind;
use domain::outcome::CompletionBlock;
use domain::route::ChatApi;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::openai_realtime::{OpenAiRealtime, SendOptions};
use crate::provider::client::ProviderCallFailure;
use crate::provider::item_key::ItemKey;
use crate::provider::item_result::ItemResult;
use crate::provider::openai_compatible;

const PROBE_TIMEOUT: Duration = Duration::from_mins(2);
/// Enough for a model that thinks before it answers.
const PROBE_MAX_TOKENS: u32 = 1024;
const TOOL_NAME: &str = "report_color";

/// What a server showed that it can do with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbedFeatures {
    /// A forced tool was called.
    pub tools: bool,
    /// The answer followed a schema.
    pub schemas: bool,
}

impl OpenAiRealtime {
    /// Sends two small requests. An error means that the server did not answer, so nothing is
    /// known about its features.
    pub async fn probe_features(
        &self,
        upstream: &str,
    ) -> Result<ProbedFeatures, ProviderCallFailure> {
        let schema = json!({
            "type": "object",
            "properties": {"color": {"type": "string", "enum": ["red", "green"]}},
            "required": ["color"],
            "additionalProperties": false,
        });
        let function = json!({"name": TOOL_NAME, "parameters": schema});
        let with_tool = json!({
            "tools": [{"type": "function", "function": function}],
            "tool_choice": "required",
        });
        let json_schema = json!({"name": "answer", "schema": schema, "strict": true});
        let with_schema = json!({
            "response_format": {"type": "json_schema", "json_schema": json_schema},
        });
        Ok(ProbedFeatures {
            tools: calls_tool(&self.probe(upstream, with_tool).await?),
            schemas: follows_schema(&self.probe(upstream, with_schema).await?),
        })
    }

    async fn probe(
        &self,
        upstream: &str,
        feature: Value,
    ) -> Result<Vec<CompletionBlock>, ProviderCallFailure> {
        let mut body = Map::new();
        let prompt = "Report the color of grass.";
        body.insert("model".to_owned(), json!(upstream));
        let messages = json!([{"role": "user", "content": prompt}]);
        body.insert("messages".to_owned(), messages);
        body.insert("max_tokens".to_owned(), json!(PROBE_MAX_TOKENS));
        if let Value::Object(feature) = feature {
            body.extend(feature);
        }
        let key = ItemKey {
            cargo: CargoId::from_uuid(Uuid::nil()),
            attempt: 0,
        };
        let call = SendOptions {
            is_flex: false,
            within: PROBE_TIMEOUT,
        };
        let path = openai_compatible::endpoint_path(ModelKind::Chat, ChatApi::Completions);
        Ok(match self.send(path, body, key, call).await? {
            ItemResult::Answer(answer) => answer.blocks,
            // The server refuses the feature.
            ItemResult::Embeddings { .. }
            | ItemResult::Failure { .. }
            | ItemResult::Retry { .. }
            | ItemResult::AccountFault(_) => Vec::new(),
        })
    }
}

fn calls_tool(blocks: &[CompletionBlock]) -> bool {
    blocks.iter().any(|block| match block {
        CompletionBlock::ToolUse { name, input, .. } => name == TOOL_NAME && is_valid(input),
        CompletionBlock::Text { .. }
        | CompletionBlock::Thinking { .. }
        | CompletionBlock::RedactedThinking { .. } => false,
    })
}

fn follows_schema(blocks: &[CompletionBlock]) -> bool {
    let text: String = blocks.iter().filter_map(CompletionBlock::text).collect();
    serde_json::from_str(&text).is_ok_and(|answer: Map<String, Value>| is_valid(&answer))
}

fn is_valid(answer: &Map<String, Value>) -> bool {
    answer.get("color").is_some_and(Value::is_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_or_an_answer_shows_the_feature() {
        let input = |value: Value| value.as_object().unwrap().clone();
        let call = |name: &str, value| CompletionBlock::ToolUse {
            id: "a".to_owned(),
            name: name.to_owned(),
            input: input(value),
        };
        let text = |text: &str| CompletionBlock::plain_text(text.to_owned());
        assert!(calls_tool(&[call(TOOL_NAME, json!({"color": "green"}))]));
        assert!(!calls_tool(&[call(TOOL_NAME, json!({"_raw": "{"}))]));
        assert!(!calls_tool(&[call("other", json!({"color": "green"}))]));
        assert!(!calls_tool(&[text(r#"{"name":"report_color"}"#)]));
        assert!(follows_schema(&[text(r#"{"color":"green"}"#)]));
        assert!(!follows_schema(&[text("Grass is green.")]));
        assert!(!follows_schema(&[]));
    }
}
