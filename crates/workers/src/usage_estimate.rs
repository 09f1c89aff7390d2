//! Estimates the usage that a provider did not report, from the lengths of request and response.

use std::collections::{HashMap, VecDeque};

use domain::id::CargoId;
use domain::outcome::{Completion, CompletionBlock, Outcome, TokenUsage};
use domain::params::Params;
use domain::token_buckets::TokenBuckets;
use store::Shard;
use store::shard::manifest::OpenCargo;

use crate::outcome_writer::FinishedCargo;
use crate::stored_requests::read_chunk;

/// Returns outcomes with their usage, estimated where it is not known.
pub(crate) async fn estimate_missing_usage(
    shard: &Shard,
    finished: Vec<FinishedCargo>,
) -> Result<Vec<FinishedCargo>, store::Error> {
    let (mut counted, unknown): (Vec<_>, Vec<_>) =
        finished.into_iter().partition(|one| one.usage.is_some());
    if unknown.is_empty() {
        return Ok(counted);
    }
    metrics::counter!("longshore_outcomes_usage_estimated_total").increment(unknown.len() as u64);
    let mut unread: VecDeque<OpenCargo> =
        unknown.iter().map(|one| one.open_cargo.clone()).collect();
    let mut unknown: HashMap<CargoId, FinishedCargo> = unknown
        .into_iter()
        .map(|one| (one.open_cargo.cargo, one))
        .collect();
    while !unread.is_empty() {
        // Only one request is unpacked at a time.
        for stored in read_chunk(shard, &mut unread).await? {
            let Ok((item, head)) = stored.unpack() else {
                continue;
            };
            let Some(mut one) = unknown.remove(&head.cargo) else {
                continue;
            };
            if let Outcome::Success(completion) = &mut one.outcome {
                let estimate = estimate_usage(&item.params, completion);
                completion.set_usage(estimate);
                one.usage = Some(TokenBuckets::plain(estimate));
            }
            counted.push(one);
        }
    }
    // No usage is known where the request cannot be read.
    counted.extend(unknown.into_values());
    Ok(counted)
}

/// Counts four bytes as one token. A charge never exceeds the hold.
fn estimate_usage(params: &Params, completion: &Completion) -> TokenUsage {
    let tokens = |bytes: usize| (bytes as u64).div_ceil(4);
    let (read, written) = match (params, completion) {
        (Params::Chat(chat), Completion::Chat(answer)) => {
            let written = answer.content.iter().map(CompletionBlock::bytes).sum();
            (chat.text_bytes(), written)
        }
        (Params::Embedding(embedding), _) => {
            let texts = embedding.input_text.texts().iter();
            (texts.map(String::len).sum(), 0)
        }
        (Params::Chat(chat), Completion::Embedding(_)) => (chat.text_bytes(), 0),
    };
    TokenUsage {
        input_tokens: tokens(read),
        output_tokens: tokens(written),
    }
}
