//! The query string of the usage page.

use std::collections::HashMap;

use domain::id::ApiKeyId;
use serde::Deserialize;
use store::view::usage::DailyUsage;

/// The model or key of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UsageGroup {
    Model(String),
    Key(ApiKeyId),
}

impl UsageGroup {
    pub(super) fn of(used: &DailyUsage, by: UsageGrouping) -> Self {
        match by {
            UsageGrouping::Model => Self::Model(used.model.clone()),
            UsageGrouping::Key => Self::Key(used.key),
        }
    }

    pub(crate) fn name(&self, names: &HashMap<ApiKeyId, String>) -> String {
        match self {
            Self::Model(model) => model.clone(),
            Self::Key(key) => super::key_name(names, *key),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageMetric {
    Cost,
    Tokens,
    Cargo,
}

impl UsageMetric {
    pub(crate) const ALL: [(Self, &'static str); 3] = [
        (Self::Cost, "Cost"),
        (Self::Tokens, "Tokens"),
        (Self::Cargo, "Cargo"),
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Tokens => "tokens",
            Self::Cargo => "cargo",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageGrouping {
    Model,
    Key,
}

impl UsageGrouping {
    pub(crate) const ALL: [(Self, &'static str); 2] = [(Self::Model, "Model"), (Self::Key, "Key")];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Key => "key",
        }
    }
}

pub(crate) const DAYS: [u16; 3] = [7, 30, 90];

/// The raw query parameters. Invalid values fall back to defaults.
#[derive(Debug, Deserialize)]
pub(crate) struct UsageQueryParams {
    show: Option<String>,
    by: Option<String>,
    days: Option<String>,
    model: Option<String>,
    key: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct UsageQuery {
    pub(crate) metric: UsageMetric,
    pub(crate) grouping: UsageGrouping,
    pub(crate) days: u16,
    /// Filters.
    pub(crate) model: Option<String>,
    pub(crate) key: Option<ApiKeyId>,
    pub(crate) key_name: Option<String>,
}

impl From<UsageQueryParams> for UsageQuery {
    fn from(params: UsageQueryParams) -> Self {
        let days = params.days.and_then(|days| days.parse().ok());
        let model = params.model.filter(|model| !model.is_empty());
        Self {
            metric: match params.show.as_deref() {
                Some("tokens") => UsageMetric::Tokens,
                Some("cargo") => UsageMetric::Cargo,
                _ => UsageMetric::Cost,
            },
            grouping: match params.by.as_deref() {
                Some("key") => UsageGrouping::Key,
                _ => UsageGrouping::Model,
            },
            days: days.filter(|days| DAYS.contains(days)).unwrap_or(30),
            model,
            key: params.key.and_then(|key| key.parse().ok()),
            key_name: None,
        }
    }
}

impl UsageQuery {
    pub(crate) fn with_key_name(mut self, names: &HashMap<ApiKeyId, String>) -> Self {
        self.key_name = self.key.map(|key| super::key_name(names, key));
        self
    }

    fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("show", self.metric.as_str());
        query.append_pair("by", self.grouping.as_str());
        query.append_pair("days", &self.days.to_string());
        if let Some(model) = &self.model {
            query.append_pair("model", model);
        }
        if let Some(key) = self.key {
            query.append_pair("key", &key.to_string());
        }
        query.finish()
    }

    pub(crate) fn with_metric(&self, show: UsageMetric) -> String {
        let changed = Self {
            metric: show,
            ..self.clone()
        };
        format!("?{}", changed.query())
    }

    pub(crate) fn with_grouping(&self, by: UsageGrouping) -> String {
        let changed = Self {
            grouping: by,
            ..self.clone()
        };
        format!("?{}", changed.query())
    }

    pub(crate) fn with_days(&self, days: u16) -> String {
        let changed = Self {
            days,
            ..self.clone()
        };
        format!("?{}", changed.query())
    }

    /// A link to one row only, grouped the other way.
    pub(crate) fn drill_down(&self, what: &UsageGroup) -> String {
        let mut changed = self.clone();
        match what {
            UsageGroup::Model(model) => {
                changed.model = Some(model.clone());
                changed.grouping = UsageGrouping::Key;
            }
            UsageGroup::Key(key) => {
                changed.key = Some(*key);
                changed.grouping = UsageGrouping::Model;
            }
        }
        format!("?{}", changed.query())
    }

    pub(crate) fn without_model(&self) -> String {
        let changed = Self {
            model: None,
            ..self.clone()
        };
        format!("?{}", changed.query())
    }

    pub(crate) fn without_key(&self) -> String {
        let changed = Self {
            key: None,
            ..self.clone()
        };
        format!("?{}", changed.query())
    }

    pub(crate) fn csv_path(&self) -> String {
        format!("usage.csv?{}", self.query())
    }
}
