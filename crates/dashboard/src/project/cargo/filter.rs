//! Filters of the cargo list, parsed from the query string.

use domain::cargo::CargoStatus;
use domain::id::{ApiKeyId, CargoId};
use domain::time::Timestamp;
use serde::Deserialize;
use store::shard::failure_index::FailureKind;
use store::view::cargo::CargoListItem;

use crate::form_time::parse_form_time;

/// The raw query parameters. Empty ones do not filter.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CargoQuery {
    pub(crate) status: String,
    pub(crate) model: String,
    pub(crate) key: String,
    pub(crate) host: String,
    /// The group of the error.
    pub(crate) group: String,
    pub(crate) range: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) before: String,
    /// A cargo id from the search box.
    pub(crate) id: String,
}

/// The statuses to filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusFilter {
    Exactly(CargoStatus),
    /// Completed with an error, with any callback status.
    Failed,
    /// Cancelled by the caller, with any callback status.
    Cancelled,
}

impl StatusFilter {
    pub(crate) const ALL: [Self; 8] = [
        Self::Exactly(CargoStatus::Pending),
        Self::Exactly(CargoStatus::Batched),
        Self::Exactly(CargoStatus::Processing),
        Self::Exactly(CargoStatus::Completed),
        Self::Failed,
        Self::Cancelled,
        Self::Exactly(CargoStatus::Delivered),
        Self::Exactly(CargoStatus::Undeliverable),
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Exactly(CargoStatus::Pending) => "pending",
            Self::Exactly(CargoStatus::Batched) => "batched",
            Self::Exactly(CargoStatus::Processing) => "processing",
            Self::Exactly(CargoStatus::Completed) => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Exactly(CargoStatus::Delivered) => "callback_delivered",
            Self::Exactly(CargoStatus::Undeliverable) => "callback_failed",
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Exactly(CargoStatus::Delivered) => "callback delivered",
            Self::Exactly(CargoStatus::Undeliverable) => "callback failed",
            other @ (Self::Exactly(_) | Self::Failed | Self::Cancelled) => other.as_str(),
        }
    }

    /// The usage event that counts this status.
    pub(crate) const fn event_name(self) -> Option<&'static str> {
        match self {
            Self::Failed => Some("failed"),
            Self::Cancelled => Some("cancelled"),
            Self::Exactly(CargoStatus::Delivered) => Some("delivered"),
            Self::Exactly(CargoStatus::Undeliverable) => Some("callback_failed"),
            Self::Exactly(
                CargoStatus::Pending
                | CargoStatus::Batched
                | CargoStatus::Processing
                | CargoStatus::Completed,
            ) => None,
        }
    }

    /// The failure index that lists this status, so that no scan is needed.
    pub(crate) const fn failure_kind(self) -> Option<FailureKind> {
        match self {
            Self::Failed | Self::Cancelled => Some(FailureKind::Failed),
            Self::Exactly(CargoStatus::Undeliverable) => Some(FailureKind::CallbackFailed),
            Self::Exactly(
                CargoStatus::Pending
                | CargoStatus::Batched
                | CargoStatus::Processing
                | CargoStatus::Completed
                | CargoStatus::Delivered,
            ) => None,
        }
    }

    fn matches(self, cargo: &CargoListItem) -> bool {
        match self {
            Self::Exactly(status) => cargo.status() == status,
            // The failure index tells them apart.
            Self::Failed | Self::Cancelled => cargo.success == Some(false),
        }
    }
}

/// The parsed filters.
#[derive(Debug, Clone, Default)]
pub(crate) struct CargoFilter {
    pub(crate) status: Option<StatusFilter>,
    pub(crate) model: Option<String>,
    pub(crate) key: Option<ApiKeyId>,
    pub(crate) host: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) from: Option<Timestamp>,
    pub(crate) to: Option<Timestamp>,
    pub(crate) before: Option<CargoId>,
}

impl CargoFilter {
    /// Ignores values that cannot be parsed.
    pub(crate) fn parse(params: &CargoQuery) -> Self {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let statuses = StatusFilter::ALL.into_iter();
        Self {
            status: statuses.into_iter().find(|it| it.as_str() == params.status),
            model: given(&params.model),
            key: params.key.parse().ok(),
            host: given(&params.host).map(with_port),
            group: given(&params.group),
            from: parse_form_time(&params.from),
            to: parse_form_time(&params.to),
            before: params.before.parse().ok(),
        }
    }

    /// Filters by time only, so every row read is shown.
    pub(crate) const fn is_time_only(&self) -> bool {
        self.status.is_none() && !self.has_column_filter()
    }

    /// Filters by columns that have no index.
    pub(crate) const fn has_column_filter(&self) -> bool {
        self.model.is_some() || self.key.is_some() || self.host.is_some()
    }

    pub(crate) fn matches(&self, cargo: &CargoListItem) -> bool {
        self.status.is_none_or(|status| status.matches(cargo))
            && self
                .model
                .as_ref()
                .is_none_or(|model| *model == cargo.model)
            && self.key.is_none_or(|key| key == cargo.key)
            && (self.host.is_none() || self.host == cargo.callback_host)
    }
}

/// Hosts are stored with their port. The default is 443.
fn with_port(host: String) -> String {
    if host.contains(':') {
        host
    } else {
        format!("{host}:443")
    }
}

/// A UTC time as a form field or query parameter.
pub(crate) fn format_minute(at: Timestamp) -> String {
    at.format("%Y-%m-%dT%H:%M").to_string()
}

impl CargoQuery {
    /// The URL of the list with some parameters changed, starting at the newest cargo.
    pub(crate) fn url_with(&self, base: &str, changes: &[(&str, &str)]) -> String {
        let parts = [
            ("status", &self.status),
            ("model", &self.model),
            ("key", &self.key),
            ("host", &self.host),
            ("group", &self.group),
            ("range", &self.range),
            ("from", &self.from),
            ("to", &self.to),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in parts {
            let change = changes.iter().find(|(changed, _)| *changed == name);
            let value = change.map_or(value.as_str(), |(_, value)| value);
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        for (name, value) in changes.iter().filter(|(name, _)| *name == "before") {
            query.append_pair(name, value);
        }
        let query = query.finish();
        if query.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{query}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_keeps_unchanged_filters_and_drops_the_cursor() {
        let params = CargoQuery {
            status: "failed".to_owned(),
            model: "a&b".to_owned(),
            before: "crg_1".to_owned(),
            ..CargoQuery::default()
        };
        let shown = [
            params.url_with("/c", &[]),
            params.url_with("/c", &[("status", ""), ("model", "")]),
            params.url_with("/c", &[("host", "<x>"), ("before", "crg_2")]),
        ];
        assert_eq!(
            shown,
            [
                "/c?status=failed&model=a%26b",
                "/c",
                "/c?status=failed&model=a%26b&host=%3Cx%3E&before=crg_2"
            ]
        );
    }

    #[test]
    fn invalid_parameters_are_ignored() {
        let params = CargoQuery {
            status: "asleep".to_owned(),
            key: "key_?".to_owned(),
            from: "yesterday".to_owned(),
            before: "1".to_owned(),
            ..CargoQuery::default()
        };
        let host = |host: &str| {
            let host = host.to_owned();
            CargoFilter::parse(&CargoQuery {
                host,
                ..CargoQuery::default()
            })
            .host
        };
        assert_eq!(host("a.example").as_deref(), Some("a.example:443"));
        assert_eq!(host("a.example:80").as_deref(), Some("a.example:80"));
        let filter = CargoFilter::parse(&params);
        assert!(filter.is_time_only() && filter.from.is_none() && filter.before.is_none());
        let at = parse_form_time("2026-01-02T03:04").unwrap();
        assert_eq!(parse_form_time(&format_minute(at)), Some(at));
    }
}
