//! What was used, where a provider did not say: estimated from what was read and written.

use std::collections::{HashMap, VecDeque};

use domain::id::CargoId;
use domain::outcome::{Completion, Outcome, Usage};
use domain::params::Params;
use store::Shard;
use store::shard::manifest::Head;

use crate::manifest::read_chunk;
use crate::storing::Finished;

/// Outcomes with their usage; those whose is not known have it estimated.
pub(crate) async fn counted(
    shard: &Shard,
    finished: Vec<(Finished, bool)>,
) -> Result<Vec<Finished>, store::Error> {
    let (known, unknown): (Vec<_>, Vec<_>) = finished
        .into_iter()
        .partition(|(_, usage_known)| *usage_known);
    let mut counted: Vec<Finished> = known.into_iter().map(|(one, _)| one).collect();
    if unknown.is_empty() {
        return Ok(counted);
    }
    metrics::counter!("collect_usage_estimated_total").increment(unknown.len() as u64);
    let mut unread: VecDeque<Head> = unknown.iter().map(|(one, _)| one.head.clone()).collect();
    let mut unknown: HashMap<CargoId, Finished> = unknown
        .into_iter()
        .map(|(one, _)| (one.head.cargo, one))
        .collect();
    while !unread.is_empty() {
        // One is unpacked at a time: only its length is of use.
        for stored in read_chunk(shard, &mut unread).await? {
            let Ok((item, head)) = stored.open() else {
                continue;
            };
            let Some(mut one) = unknown.remove(&head.cargo) else {
                continue;
            };
            if let Outcome::Success(completion) = &mut one.outcome {
                completion.set_usage(estimate(&item.params, completion));
            }
            counted.push(one);
        }
    }
    // Of those whose request cannot be read no usage is known.
    counted.extend(unknown.into_values());
    Ok(counted)
}

/// Four bytes a token, as a rule of thumb; never more than was held is charged.
fn estimate(params: &Params, completion: &Completion) -> Usage {
    let tokens = |bytes: usize| (bytes as u64).div_ceil(4);
    let (read, written) = match (params, completion) {
        (Params::Chat(chat), Completion::Chat(answer)) => {
            let written = answer.content.iter().map(|text| text.text.len()).sum();
            (chat.text_bytes(), written)
        }
        (Params::Embedding(embedding), _) => {
            let texts = embedding.input_text.texts().iter();
            (texts.map(String::len).sum(), 0)
        }
        (Params::Chat(chat), Completion::Embedding(_)) => (chat.text_bytes(), 0),
    };
    Usage {
        input_tokens: tokens(read),
        output_tokens: tokens(written),
    }
}
