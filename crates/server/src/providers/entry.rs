//! A `providers.toml` as it is written.
//!
//! Nothing here can be printed: a credential may stand where its variable's name should.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) provider: Vec<Entry>,
}

/// Numbers are as wide as the format has them, so that a wrong one is told with all else that is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) base_url: Option<String>,
    pub(super) credential_env: Option<String>,
    pub(super) credential_file: Option<String>,
    pub(super) shards: Option<BTreeMap<String, i64>>,
    pub(super) price_factor: Option<Factor>,
    #[serde(default)]
    pub(super) limits: LimitsEntry,
}

/// A text: a number of the format would be binary.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Factor {
    Text(String),
    Bare(IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsEntry {
    pub(super) job_items: Option<i64>,
    pub(super) job_bytes: Option<Size>,
    pub(super) job_tokens: Option<i64>,
    pub(super) enqueued_tokens: Option<i64>,
    pub(super) questions: Option<i64>,
    pub(super) linger_seconds: Option<i64>,
    pub(super) grace_seconds: Option<i64>,
    pub(super) create_seconds: Option<i64>,
}

/// `200_000_000` or `"200 MB"`.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Size {
    Bytes(i64),
    Text(String),
    Other(IgnoredAny),
}
