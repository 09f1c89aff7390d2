//! Fields of a request that every encoder fills by the same rules.

use domain::features::Features;
use domain::params::ChatParams;
use domain::params::thinking::{Effort, Thinking};
use serde_json::{Map, Value, json};

/// An object with the fields that have a value, in this order.
pub(super) fn present_fields<const N: usize>(
    fields: [(&str, Option<Value>); N],
) -> Map<String, Value> {
    let fields = fields.into_iter();
    let present = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    present.collect()
}

/// The caller's limit, but never less than the provider takes.
pub(super) fn max_tokens(chat: &ChatParams, features: &Features) -> u32 {
    chat.max_tokens.max(features.min_output)
}

/// The caller's effort, or the default of the route unless the caller turned thinking off.
pub(super) fn effort(chat: &ChatParams, features: &Features) -> Option<Effort> {
    let given = chat.output_config.as_ref().and_then(|it| it.effort);
    let is_off = chat.thinking == Some(Thinking::Disabled);
    given.or(features.thinking.default_effort.filter(|_| !is_off))
}

/// None if there are more than the provider takes: then Longshore cuts the answer.
pub(super) fn stop_sequences(chat: &ChatParams, features: &Features) -> Option<Value> {
    let count = u32::try_from(chat.stop_sequences.len()).ok()?;
    let is_sent = count > 0 && count <= features.max_stop_sequences;
    is_sent.then(|| json!(chat.stop_sequences))
}

/// The caller's options for this kind of provider.
pub(super) fn provider_options<'c>(
    chat: &'c ChatParams,
    kind: &str,
) -> impl Iterator<Item = (&'c String, &'c Value)> + use<'c> {
    chat.provider_options.get(kind).into_iter().flatten()
}

/// Adds options of the caller. They never replace what Longshore wrote.
pub(super) fn add_options<'c>(
    fields: &mut Map<String, Value>,
    options: impl Iterator<Item = (&'c String, &'c Value)>,
) {
    for (name, value) in options {
        if !fields.contains_key(name) {
            fields.insert(name.clone(), value.clone());
        }
    }
}
