//! The format of a `models.toml`.

use serde::Deserialize;

use crate::catalogue::features::FeaturesEntry;
use crate::catalogue::price_entry::{CostEntry, PriceEntry};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CatalogueFile {
    #[serde(default)]
    pub(super) model: Vec<ModelEntry>,
}

/// Numbers are as wide as TOML allows, so that validation reports a wrong one with all other
/// errors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelEntry {
    pub(super) id: String,
    pub(super) provider: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) routes: Option<Vec<RouteEntry>>,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) capabilities: Vec<String>,
    pub(super) context: Option<i64>,
    pub(super) price: Option<PriceEntry>,
    #[serde(default)]
    pub(super) bounds: BoundsEntry,
    #[serde(default)]
    pub(super) limits: ModelLimitsEntry,
    #[serde(default)]
    pub(super) mock: MockEntry,
    #[serde(default)]
    pub(super) features: FeaturesEntry,
    /// When the provider stops serving the model: `2027-01-14`.
    pub(super) retires_at: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteEntry {
    pub(super) provider: String,
    pub(super) upstream: Option<String>,
    pub(super) via: Option<String>,
    /// Only for providers of the kind openai: `completions` or `responses`.
    pub(super) api: Option<String>,
    /// What differs from the features of the model.
    #[serde(default)]
    pub(super) features: FeaturesEntry,
    /// What the provider bills by this route.
    pub(super) cost: Option<CostEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundsEntry {
    pub(super) image: Option<i64>,
    pub(super) page: Option<i64>,
    pub(super) video_second: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelLimitsEntry {
    pub(super) max_output: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MockEntry {
    pub(super) fail: Option<String>,
}
