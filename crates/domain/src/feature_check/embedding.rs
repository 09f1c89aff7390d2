//! Fields of an embedding request.

use crate::features::EmbeddingFeatures;
use crate::field_refusal::{FieldPath, RefusalList};
use crate::params::EmbeddingParams;

pub(super) fn check(
    embedding: &EmbeddingParams,
    features: &EmbeddingFeatures,
    refusals: &mut RefusalList,
) {
    let inputs = u32::try_from(embedding.input_text.texts().len()).unwrap_or(u32::MAX);
    if inputs > features.max_inputs {
        let most = features.max_inputs;
        let message = format!("The model takes at most {most} texts in one request. Send several.");
        let place = FieldPath::PARAMS.key("input_text");
        refusals.add_missing("max_inputs", place, message);
    }
    if let Some(dimensions) = embedding.dimensions {
        let place = FieldPath::PARAMS.key("dimensions");
        match features.dimensions {
            None => {
                let message = "The model has vectors of one length only. Leave dimensions out.";
                refusals.add_missing("dimensions", place, message);
            }
            Some((least, most)) if !(least..=most).contains(&dimensions) => {
                let message = format!("The model takes dimensions from {least} to {most}.");
                refusals.add_missing("dimensions", place, message);
            }
            Some(_) => {}
        }
    }
    if embedding.input_type.is_some() && !features.input_type {
        let message = "The model does not distinguish types of input. Leave input_type out.";
        let place = FieldPath::PARAMS.key("input_type");
        refusals.add_missing("input_type", place, message);
    }
}
