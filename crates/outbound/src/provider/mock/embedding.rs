//! Embedding: one unit vector per text, the same for the same text.

use domain::id::CargoId;
use domain::model::Model;
use domain::outcome::{Completion, EmbeddingCompletion, Outcome, TokenUsage};
use domain::params::EmbeddingParams;
use domain::reason_code::FailureCode;

use super::tokens;

const DIMENSIONS: usize = 8;
/// Per request, as at `OpenAI`. An empty text takes three bytes of the request, but its vector
/// takes about a hundred bytes of the answer.
const MAX_TEXTS: usize = 2048;

pub(super) fn embed(cargo: CargoId, model: &Model, embedding: &EmbeddingParams) -> Outcome {
    let texts = embedding.input_text.texts();
    if texts.len() > MAX_TEXTS {
        let message = format!("a request may have at most {MAX_TEXTS} texts");
        return Outcome::Failure(FailureCode::RequestRejected.with_message(message));
    }
    let input_tokens = texts.iter().map(|text| tokens::count(text)).sum();
    Outcome::Success(Completion::Embedding(EmbeddingCompletion {
        id: format!("emb_{}", cargo.uuid().simple()),
        kind: "embedding".to_owned(),
        model: model.id.clone(),
        embeddings: texts.iter().map(|text| vector(text)).collect(),
        usage: TokenUsage {
            input_tokens,
            output_tokens: 0,
        },
    }))
}

fn vector(text: &str) -> Vec<f32> {
    // FNV-1a gives the same vector for the same text in every release.
    let seed = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut state = seed;
    let numbers: [f32; DIMENSIONS] = std::array::from_fn(|_| {
        state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let [.., high, low] = state.to_be_bytes();
        // An odd number is never zero, so there is always a length to divide by.
        f32::from(i16::from_be_bytes([high, low | 1])) / 32768.0
    });
    let length = numbers
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    numbers.map(|number| number / length).to_vec()
}

fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let state = (state ^ (state >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    state ^ (state >> 33)
}
