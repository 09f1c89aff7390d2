//! `service_tier` of a response: what the provider bills.

use domain::route::InferenceMode;
use serde_json::Value;

/// None if the server does not say it, or says a word that is not a tier.
pub(super) fn parse(tier: &Value) -> Option<InferenceMode> {
    match tier.as_str()? {
        "flex" => Some(InferenceMode::Flex),
        "default" | "standard" | "on_demand" | "scale" | "priority" | "fast" => {
            Some(InferenceMode::Realtime)
        }
        _ => None,
    }
}
