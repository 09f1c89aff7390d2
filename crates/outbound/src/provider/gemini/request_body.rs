//! Builds a request: the same in a line of a batch and in a call of its own.

use domain::params::content::{SystemBlock, SystemPrompt};
use domain::params::tools::{Tool, ToolChoice};
use domain::params::{ChatParams, EmbeddingInputType, EmbeddingParams, Params};
use domain::route::{InferenceMode, Route};
use serde_json::{Value, json};

use super::{contents, generation_config};
use crate::provider::media::{MediaSource, UnsupportedItem};
use crate::provider::request_fields::present_fields;

pub(super) fn encode(
    params: &Params,
    route: &Route,
    media: &dyn MediaSource,
) -> Result<Value, UnsupportedItem> {
    match params {
        Params::Chat(params) => chat(params, route, media),
        Params::Embedding(params) => embedding(params, route),
    }
}

fn chat(
    chat: &ChatParams,
    route: &Route,
    media: &dyn MediaSource,
) -> Result<Value, UnsupportedItem> {
    let features = &route.features;
    let contents = contents::encode(chat, features, media)?;
    let config = generation_config::encode(chat, features)?;
    let is_flex = route.via == InferenceMode::Flex;
    Ok(Value::Object(present_fields([
        ("systemInstruction", chat.system.as_ref().map(system)),
        ("contents", Some(Value::Array(contents))),
        ("tools", tools(&chat.tools)),
        ("toolConfig", tool_config(chat)),
        ("generationConfig", Some(config)),
        ("serviceTier", is_flex.then(|| json!("flex"))),
    ])))
}

fn system(system: &SystemPrompt) -> Value {
    let part = |text: &str| json!({"text": text});
    let parts: Vec<Value> = match system {
        SystemPrompt::Text(text) => vec![part(text)],
        SystemPrompt::Blocks(blocks) => blocks.iter().map(SystemBlock::text).map(part).collect(),
    };
    json!({"parts": parts})
}

fn tools(tools: &[Tool]) -> Option<Value> {
    let declarations = tools.iter().map(|tool| {
        present_fields([
            ("name", Some(json!(tool.name))),
            ("description", tool.description.as_ref().map(|it| json!(it))),
            ("parametersJsonSchema", Some(json!(tool.input_schema))),
        ])
    });
    let declarations: Vec<Value> = declarations.map(Value::Object).collect();
    (!declarations.is_empty()).then(|| json!([{"functionDeclarations": declarations}]))
}

/// Gemini enforces schemas for all tools or for none.
fn tool_config(chat: &ChatParams) -> Option<Value> {
    let is_strict = chat.tools.iter().any(|tool| tool.strict == Some(true));
    let config = match &chat.tool_choice {
        None | Some(ToolChoice::Auto { .. }) if is_strict => json!({"mode": "VALIDATED"}),
        None => return None,
        Some(ToolChoice::Auto { .. }) => json!({"mode": "AUTO"}),
        Some(ToolChoice::Any { .. }) => json!({"mode": "ANY"}),
        Some(ToolChoice::Tool { name, .. }) => {
            json!({"mode": "ANY", "allowedFunctionNames": [name]})
        }
        Some(ToolChoice::None) => json!({"mode": "NONE"}),
    };
    Some(json!({"functionCallingConfig": config}))
}

fn embedding(embedding: &EmbeddingParams, route: &Route) -> Result<Value, UnsupportedItem> {
    // Gemini returns one vector per line.
    let [text] = embedding.input_text.texts() else {
        return Err(UnsupportedItem::new(
            "the model accepts one text per embedding request",
        ));
    };
    if route.via == InferenceMode::Flex {
        return Err(UnsupportedItem::new(
            "the provider has no flex tier for embeddings",
        ));
    }
    Ok(Value::Object(present_fields([
        ("content", Some(json!({"parts": [{"text": text}]}))),
        (
            "taskType",
            embedding.input_type.map(|it| json!(task_type(it))),
        ),
        (
            "outputDimensionality",
            embedding.dimensions.map(|it| json!(it)),
        ),
    ])))
}

const fn task_type(input_type: EmbeddingInputType) -> &'static str {
    match input_type {
        EmbeddingInputType::Query => "RETRIEVAL_QUERY",
        EmbeddingInputType::Document => "RETRIEVAL_DOCUMENT",
        EmbeddingInputType::Similarity => "SEMANTIC_SIMILARITY",
        EmbeddingInputType::Classification => "CLASSIFICATION",
        EmbeddingInputType::Clustering => "CLUSTERING",
    }
}
