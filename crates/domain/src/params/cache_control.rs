//! `cache_control`: where the provider should cache the prompt up to and including this part.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CacheControl {
    Ephemeral {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<CacheTtl>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheTtl {
    #[serde(rename = "5m")]
    FiveMinutes,
    #[serde(rename = "1h")]
    OneHour,
}

impl CacheControl {
    /// Five minutes unless the caller asks for an hour.
    pub fn ttl(self) -> CacheTtl {
        let Self::Ephemeral { ttl } = self;
        ttl.unwrap_or(CacheTtl::FiveMinutes)
    }
}
