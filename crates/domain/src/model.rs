//! Models: the ids that callers may use, who serves them and what they can read.

use std::collections::BTreeMap;

use crate::money::Money;
use crate::route::{InferenceMode, Route, Routes};

/// Chat takes messages, embedding takes texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModelKind {
    Chat,
    Embedding,
}

impl ModelKind {
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
pub enum MockBehaviour {
    #[default]
    Echo,
    /// Every request fails with this text.
    Fail(String),
}

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    pub input: Money,
    pub output: Money,
}

/// What callers pay for a batch, and what the same work costs in realtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prices {
    pub batch: Price,
    pub realtime: Option<Price>,
}

/// The most tokens that an image, a page or a second of video can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputBounds {
    pub image: u64,
    pub page: u64,
    pub video_second: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub id: String,
    pub routes: Routes,
    pub kind: ModelKind,
    pub capabilities: Vec<Capability>,
    /// The context window in tokens.
    pub context: Option<u64>,
    /// The most tokens of an answer.
    pub max_output: Option<u32>,
    /// None for a free model.
    pub prices: Option<Prices>,
    pub bounds: InputBounds,
    pub mock_behaviour: MockBehaviour,
}

impl Model {
    /// A free model without limits.
    pub fn plain(id: &str, provider: &str, kind: ModelKind) -> Self {
        Self {
            id: id.to_owned(),
            routes: Routes::from(Route {
                provider: provider.to_owned(),
                upstream_model: id.to_owned(),
                via: InferenceMode::Batch,
                shards: Vec::new(),
            }),
            kind,
            capabilities: Vec::new(),
            context: None,
            max_output: None,
            prices: None,
            bounds: InputBounds::default(),
            mock_behaviour: MockBehaviour::Echo,
        }
    }

    /// The realtime price, if it is known.
    pub fn realtime(&self) -> Option<Price> {
        self.prices.and_then(|prices| prices.realtime)
    }
}

/// The free synthetic model. Callers can control its answers with `[mock:…]`.
pub const SVC_MOCK: &str = "svc-mock";

/// The models that loads may use, by id. Ids are case-sensitive.
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
