//! Answers of models in `OpenAI`'s formats.

mod chat;
mod embedding;
mod responses;
#[cfg(test)]
mod tests;
mod usage;

use domain::id::CargoId;
use domain::outcome::Completion;
use serde_json::Value;

use crate::dropin::openai::endpoint::Endpoint;

/// What an answer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerIdentity {
    pub(crate) cargo: CargoId,
    /// In seconds since 1970.
    pub(crate) created: i64,
}

impl AnswerIdentity {
    fn hex(&self) -> String {
        self.cargo.uuid().simple().to_string()
    }
}

/// The `body` of a response.
pub(crate) fn write_answer(
    endpoint: Endpoint,
    completion: &Completion,
    identity: &AnswerIdentity,
) -> Value {
    match (completion, endpoint) {
        (Completion::Embedding(answer), _) => embedding::write(answer),
        (Completion::Chat(answer), Endpoint::Responses) => responses::write(answer, identity),
        (Completion::Chat(answer), Endpoint::ChatCompletions | Endpoint::Embeddings) => {
            chat::write(answer, identity)
        }
    }
}
