//! A `models.toml` as it is written.

use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) model: Vec<Entry>,
}

/// Numbers are as wide as the format has them, so that a wrong one is told with all else that is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
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
    pub(super) limits: LimitsEntry,
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
    pub(super) input: Dollars,
    pub(super) output: Option<Dollars>,
}

/// A text: a number of the format would be binary, and 0.075 is none.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Dollars {
    Text(String),
    Bare(IgnoredAny),
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
pub(super) struct LimitsEntry {
    pub(super) max_output: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MockEntry {
    pub(super) fail: Option<String>,
}
