//! Models: what a caller may name, who serves it and what it can read.

use std::collections::BTreeMap;

/// Chat takes messages, embedding takes texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Chat,
    Embedding,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Embedding => "embedding",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Chat, Self::Embedding]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// What besides text a model can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    Vision,
    Documents,
    Video,
}

impl Capability {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vision => "vision",
            Self::Documents => "documents",
            Self::Video => "video",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::Vision, Self::Documents, Self::Video];
        all.into_iter()
            .find(|capability| capability.as_str() == text)
    }
}

/// How the mock provider answers for a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mocking {
    #[default]
    Echo,
    /// Every request fails with this text.
    Fail(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub id: String,
    pub provider: String,
    pub kind: Kind,
    pub capabilities: Vec<Capability>,
    pub mocking: Mocking,
}

/// The free synthetic model; its callers may steer it with `[mock:…]`.
pub const SVC_MOCK: &str = "svc-mock";

/// Every model that may be loaded for, by id. Ids are case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    models: BTreeMap<String, Model>,
}

impl Catalogue {
    pub fn new(models: impl IntoIterator<Item = Model>) -> Self {
        Self {
            models: models
                .into_iter()
                .map(|model| (model.id.clone(), model))
                .collect(),
        }
    }

    pub fn find(&self, id: &str) -> Option<&Model> {
        self.models.get(id)
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.models.values()
    }
}
