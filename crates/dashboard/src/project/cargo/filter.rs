//! What of a project's cargo is asked for, as the address says it.

use chrono::NaiveDateTime;
use domain::cargo::Status;
use domain::id::{CargoId, KeyId};
use domain::time::Timestamp;
use serde::Deserialize;
use store::shard::trouble::Kind;
use store::view::cargo::Listed;

/// Every part of the address, as it came; what is empty asks for nothing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    pub(crate) status: String,
    pub(crate) model: String,
    pub(crate) key: String,
    pub(crate) host: String,
    /// An error's group.
    pub(crate) group: String,
    pub(crate) range: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) before: String,
    /// A pasted id.
    pub(crate) id: String,
}

/// The states that a list can be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    Of(Status),
    /// Completed with an error, whatever became of the callback.
    Failed,
}

impl Stand {
    pub(crate) const ALL: [Self; 7] = [
        Self::Of(Status::Pending),
        Self::Of(Status::Batched),
        Self::Of(Status::Processing),
        Self::Of(Status::Completed),
        Self::Failed,
        Self::Of(Status::Delivered),
        Self::Of(Status::Undeliverable),
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Of(Status::Pending) => "pending",
            Self::Of(Status::Batched) => "batched",
            Self::Of(Status::Processing) => "processing",
            Self::Of(Status::Completed) => "completed",
            Self::Failed => "failed",
            Self::Of(Status::Delivered) => "callback_delivered",
            Self::Of(Status::Undeliverable) => "callback_failed",
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Of(Status::Delivered) => "callback delivered",
            Self::Of(Status::Undeliverable) => "callback failed",
            other @ (Self::Of(_) | Self::Failed) => other.as_str(),
        }
    }

    /// The event that counts it.
    pub(crate) const fn event(self) -> Option<&'static str> {
        match self {
            Self::Failed => Some("failed"),
            Self::Of(Status::Delivered) => Some("delivered"),
            Self::Of(Status::Undeliverable) => Some("callback_failed"),
            Self::Of(
                Status::Pending | Status::Batched | Status::Processing | Status::Completed,
            ) => None,
        }
    }

    /// Found among the troubles, not by looking through everything.
    pub(crate) const fn trouble(self) -> Option<Kind> {
        match self {
            Self::Failed => Some(Kind::Failed),
            Self::Of(Status::Undeliverable) => Some(Kind::CallbackFailed),
            Self::Of(
                Status::Pending
                | Status::Batched
                | Status::Processing
                | Status::Completed
                | Status::Delivered,
            ) => None,
        }
    }

    fn is_of(self, cargo: &Listed) -> bool {
        match self {
            Self::Of(status) => cargo.status() == status,
            Self::Failed => cargo.success == Some(false),
        }
    }
}

/// The same, read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) stand: Option<Stand>,
    pub(crate) model: Option<String>,
    pub(crate) key: Option<KeyId>,
    pub(crate) host: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) from: Option<Timestamp>,
    pub(crate) to: Option<Timestamp>,
    pub(crate) before: Option<CargoId>,
}

impl Filter {
    /// What cannot be read is passed over, like anything that nobody asked for.
    pub(crate) fn read(asked: &Asked) -> Self {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let stands = Stand::ALL.into_iter();
        Self {
            stand: stands.into_iter().find(|it| it.as_str() == asked.status),
            model: given(&asked.model),
            key: asked.key.parse().ok(),
            host: given(&asked.host).map(with_port),
            group: given(&asked.group),
            from: moment(&asked.from),
            to: moment(&asked.to),
            before: asked.before.parse().ok(),
        }
    }

    /// Nothing but a time: every row that is read is shown.
    pub(crate) const fn is_plain(&self) -> bool {
        self.stand.is_none() && !self.is_of_rows()
    }

    /// Asks for what stands in the rows of cargo.
    pub(crate) const fn is_of_rows(&self) -> bool {
        self.model.is_some() || self.key.is_some() || self.host.is_some()
    }

    pub(crate) fn lets(&self, cargo: &Listed) -> bool {
        self.stand.is_none_or(|stand| stand.is_of(cargo))
            && self
                .model
                .as_ref()
                .is_none_or(|model| *model == cargo.model)
            && self.key.is_none_or(|key| key == cargo.key)
            && (self.host.is_none() || self.host == cargo.callback_host)
    }
}

/// Hosts are kept with their port; who names none means the one of https.
fn with_port(host: String) -> String {
    if host.contains(':') {
        host
    } else {
        format!("{host}:443")
    }
}

/// A moment in UTC, as a form or an address writes it.
fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim().trim_end_matches('Z');
    ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f"]
        .into_iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
        .map(|moment| moment.and_utc())
}

/// How an address and a form write a moment.
pub(crate) fn minute(at: Timestamp) -> String {
    at.format("%Y-%m-%dT%H:%M").to_string()
}

impl Asked {
    /// The address of the same list with some parts changed. It begins with the newest again.
    pub(crate) fn with(&self, base: &str, changes: &[(&str, &str)]) -> String {
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
            let changed = changes.iter().find(|(changed, _)| *changed == name);
            let value = changed.map_or(value.as_str(), |(_, value)| value);
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
    fn an_address_keeps_what_is_not_changed_and_begins_anew() {
        let asked = Asked {
            status: "failed".to_owned(),
            model: "a&b".to_owned(),
            before: "crg_1".to_owned(),
            ..Asked::default()
        };
        let shown = [
            asked.with("/c", &[]),
            asked.with("/c", &[("status", ""), ("model", "")]),
            asked.with("/c", &[("host", "<x>"), ("before", "crg_2")]),
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
    fn what_cannot_be_read_asks_for_nothing() {
        let asked = Asked {
            status: "asleep".to_owned(),
            key: "key_?".to_owned(),
            from: "yesterday".to_owned(),
            before: "1".to_owned(),
            ..Asked::default()
        };
        let host = |host: &str| {
            let host = host.to_owned();
            Filter::read(&Asked {
                host,
                ..Asked::default()
            })
            .host
        };
        assert_eq!(host("a.example").as_deref(), Some("a.example:443"));
        assert_eq!(host("a.example:80").as_deref(), Some("a.example:80"));
        let filter = Filter::read(&asked);
        assert!(filter.is_plain() && filter.from.is_none() && filter.before.is_none());
        let at = moment("2026-01-02T03:04").unwrap();
        assert_eq!(moment(&minute(at)), Some(at));
    }
}
