//! The format of a `models.toml`.

use serde::Deserialize;
use serde::de::IgnoredAny;

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
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteEntry {
    pub(super) provider: String,
    pub(super) upstream: Option<String>,
    pub(super) via: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceEntry {
    pub(super) batch: RateEntry,
    pub(super) realtime: Option<RateEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateEntry {
    pub(super) input: DollarsEntry,
    pub(super) output: Option<DollarsEntry>,
}

/// A string, because a TOML float cannot represent 0.075 exactly.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum DollarsEntry {
    Text(String),
    Unquoted(IgnoredAny),
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
