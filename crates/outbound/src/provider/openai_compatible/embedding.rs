//! Requests for embeddings, and their vectors.

use domain::params::{EmbeddingParams, InputText};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::provider::item_result::ItemResult;
use crate::provider::usage_reading;

#[derive(Debug, Deserialize)]
pub(super) struct EmbeddingVector {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

pub(super) fn body(embedding: &EmbeddingParams, upstream: &str) -> Map<String, Value> {
    let input = match &embedding.input_text {
        InputText::One(text) => json!(text),
        InputText::Many(texts) => json!(texts),
    };
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("model", json!(upstream));
    put("input", input);
    put("encoding_format", json!("float"));
    if let Some(dimensions) = embedding.dimensions {
        put("dimensions", json!(dimensions));
    }
    body
}

pub(super) fn into_result(mut vectors: Vec<EmbeddingVector>, usage: &Value) -> ItemResult {
    vectors.sort_by_key(|vector| vector.index);
    let vectors = vectors.into_iter().map(|vector| vector.embedding);
    ItemResult::Embeddings {
        vectors: vectors.collect(),
        usage: usage_reading::embedding_usage(usage).usage,
    }
}
