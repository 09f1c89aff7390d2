//! Prices in a `models.toml`: what callers pay, and what providers bill.

use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceEntry {
    pub(super) batch: RateEntry,
    pub(super) realtime: Option<RateEntry>,
    #[serde(default)]
    pub(super) steps: Vec<PriceStepEntry>,
}

/// Rates for requests with more input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceStepEntry {
    pub(super) above: i64,
    pub(super) batch: RateEntry,
    pub(super) realtime: Option<RateEntry>,
}

/// Without a rate of its own, a bucket costs what input costs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateEntry {
    pub(super) input: DollarsEntry,
    pub(super) output: Option<DollarsEntry>,
    pub(super) cached_input: Option<DollarsEntry>,
    pub(super) cache_write: Option<DollarsEntry>,
    pub(super) cache_write_1h: Option<DollarsEntry>,
}

/// What the provider of a route bills.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostEntry {
    pub(super) input: DollarsEntry,
    pub(super) output: Option<DollarsEntry>,
    pub(super) cached_input: Option<DollarsEntry>,
    pub(super) cache_write: Option<DollarsEntry>,
    pub(super) cache_write_1h: Option<DollarsEntry>,
    #[serde(default)]
    pub(super) steps: Vec<CostStepEntry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostStepEntry {
    pub(super) above: i64,
    pub(super) input: DollarsEntry,
    pub(super) output: Option<DollarsEntry>,
    pub(super) cached_input: Option<DollarsEntry>,
    pub(super) cache_write: Option<DollarsEntry>,
    pub(super) cache_write_1h: Option<DollarsEntry>,
}

/// A string, because a TOML float cannot represent 0.075 exactly.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum DollarsEntry {
    Text(String),
    Unquoted(IgnoredAny),
}

/// The rates of any of these entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateFields<'entry> {
    pub(super) input: &'entry DollarsEntry,
    pub(super) output: Option<&'entry DollarsEntry>,
    pub(super) cached_input: Option<&'entry DollarsEntry>,
    pub(super) cache_write: Option<&'entry DollarsEntry>,
    pub(super) cache_write_1h: Option<&'entry DollarsEntry>,
}

impl RateEntry {
    pub(super) const fn rates(&self) -> RateFields<'_> {
        RateFields {
            input: &self.input,
            output: self.output.as_ref(),
            cached_input: self.cached_input.as_ref(),
            cache_write: self.cache_write.as_ref(),
            cache_write_1h: self.cache_write_1h.as_ref(),
        }
    }
}

impl CostEntry {
    pub(super) const fn rates(&self) -> RateFields<'_> {
        RateFields {
            input: &self.input,
            output: self.output.as_ref(),
            cached_input: self.cached_input.as_ref(),
            cache_write: self.cache_write.as_ref(),
            cache_write_1h: self.cache_write_1h.as_ref(),
        }
    }
}

impl CostStepEntry {
    pub(super) const fn rates(&self) -> RateFields<'_> {
        RateFields {
            input: &self.input,
            output: self.output.as_ref(),
            cached_input: self.cached_input.as_ref(),
            cache_write: self.cache_write.as_ref(),
            cache_write_1h: self.cache_write_1h.as_ref(),
        }
    }
}
