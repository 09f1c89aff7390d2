//! What was used, where a provider did not say: estimated from what was read and written.

use std::collections::HashMap;

use domain::id::CargoId;
use domain::outcome::{Completion, Outcome, Usage};
use domain::params::Params;
use store::Shard;

use crate::manifest::items;
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
    let heads = unknown.iter().map(|(one, _)| one.head.clone()).collect();
    let asked = items(shard, heads).await?;
    let asked: HashMap<CargoId, Params> = asked
        .into_iter()
        .map(|(item, _)| (item.cargo, item.params))
        .collect();
    for (mut one, _) in unknown {
        if let (Outcome::Success(completion), Some(params)) =
            (&mut one.outcome, asked.get(&one.head.cargo))
        {
            completion.set_usage(estimate(params, completion));
        }
        counted.push(one);
    }
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
