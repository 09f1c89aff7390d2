//! Vectors in the format of the embeddings API.

use domain::outcome::EmbeddingCompletion;
use serde_json::{Value, json};

use super::usage::embedding_usage;

pub(super) fn write(answer: &EmbeddingCompletion) -> Value {
    let data =
        answer.embeddings.iter().enumerate().map(
            |(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}),
        );
    json!({
        "object": "list",
        "data": data.collect::<Vec<Value>>(),
        "model": answer.model,
        "usage": embedding_usage(answer.usage),
    })
}
