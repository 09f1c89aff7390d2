//! The format of a `providers.toml`.
//!
//! These types have no `Debug`: an operator may put a credential in the wrong field.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProvidersFile {
    #[serde(default)]
    pub(super) provider: Vec<ProviderEntry>,
}

/// Numbers are as wide as TOML allows, so that validation reports a wrong one with all other
/// errors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderEntry {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) base_url: Option<String>,
    pub(super) credential_env: Option<String>,
    pub(super) credential_file: Option<String>,
    pub(super) shards: Option<BTreeMap<String, i64>>,
    pub(super) price_factor: Option<PriceFactorEntry>,
    #[serde(default)]
    pub(super) provider_options: Vec<String>,
    #[serde(default)]
    pub(super) limits: ProviderLimitsEntry,
}

/// A string, because a TOML float is not exact.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum PriceFactorEntry {
    Text(String),
    Unquoted(IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderLimitsEntry {
    pub(super) job_items: Option<i64>,
    pub(super) job_bytes: Option<SizeEntry>,
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
pub(super) enum SizeEntry {
    Bytes(i64),
    Text(String),
    Other(IgnoredAny),
}
