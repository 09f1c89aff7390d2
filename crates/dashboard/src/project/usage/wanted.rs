//! What of the usage is asked for: all of it stands in the address.

use std::collections::HashMap;

use domain::id::KeyId;
use serde::Deserialize;
use store::view::usage::Used;


/// What a row is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Model(String),
    Key(KeyId),
}

impl What {
    pub(super) fn of(used: &Used, by: By) -> Self {
        match by {
            By::Model => Self::Model(used.model.clone()),
            By::Key => Self::Key(used.key),
        }
    }

    pub(crate) fn name(&self, names: &HashMap<KeyId, String>) -> String {
        match self {
            Self::Model(model) => model.clone(),
            Self::Key(key) => super::named(names, *key),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    Cost,
    Tokens,
    Cargo,
}

impl Show {
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
pub(crate) enum By {
    Model,
    Key,
}

impl By {
    pub(crate) const ALL: [(Self, &'static str); 2] = [(Self::Model, "Model"), (Self::Key, "Key")];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Key => "key",
        }
    }
}

pub(crate) const DAYS: [u16; 3] = [7, 30, 90];

/// As it stands in the address; what makes no sense there is passed over.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    show: Option<String>,
    by: Option<String>,
    days: Option<String>,
    model: Option<String>,
    key: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) show: Show,
    pub(crate) by: By,
    pub(crate) days: u16,
    /// Of these alone.
    pub(crate) model: Option<String>,
    pub(crate) key: Option<KeyId>,
    pub(crate) key_name: Option<String>,
}

impl From<Asked> for Wanted {
    fn from(asked: Asked) -> Self {
        let days = asked.days.and_then(|days| days.parse().ok());
        let model = asked.model.filter(|model| !model.is_empty());
        Self {
            show: match asked.show.as_deref() {
                Some("tokens") => Show::Tokens,
                Some("cargo") => Show::Cargo,
                _ => Show::Cost,
            },
            by: match asked.by.as_deref() {
                Some("key") => By::Key,
                _ => By::Model,
            },
            days: days.filter(|days| DAYS.contains(days)).unwrap_or(30),
            model,
            key: asked.key.and_then(|key| key.parse().ok()),
            key_name: None,
        }
    }
}

impl Wanted {
    pub(crate) fn with_key_name(mut self, names: &HashMap<KeyId, String>) -> Self {
        self.key_name = self.key.map(|key| super::named(names, key));
        self
    }

    fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("show", self.show.as_str());
        query.append_pair("by", self.by.as_str());
        query.append_pair("days", &self.days.to_string());
        if let Some(model) = &self.model {
            query.append_pair("model", model);
        }
        if let Some(key) = self.key {
            query.append_pair("key", &key.to_string());
        }
        query.finish()
    }

    pub(crate) fn shown(&self, show: Show) -> String {
        let changed = Self {
            show,
            ..self.clone()
        };
        format!("?{}", changed.query())
    }

    pub(crate) fn parted(&self, by: By) -> String {
        let changed = Self { by, ..self.clone() };
        format!("?{}", changed.query())
    }

    pub(crate) fn over(&self, days: u16) -> String {
        let changed = Self {
            days,
            ..self.clone()
        };
        format!("?{}", changed.query())
    }

    /// One of the rows alone, parted by what it was not parted by.
    pub(crate) fn only(&self, what: &What) -> String {
        let mut changed = self.clone();
        match what {
            What::Model(model) => {
                changed.model = Some(model.clone());
                changed.by = By::Key;
            }
            What::Key(key) => {
                changed.key = Some(*key);
                changed.by = By::Model;
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

    pub(crate) fn table(&self) -> String {
        format!("usage.csv?{}", self.query())
    }
}
