//! Models: the ids that callers may use, who serves them and what they can read.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::features::Features;
use crate::price::Price;
use crate::provider_options::AllowedOptions;
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

/// What callers pay: the batch price, by whatever way the cargo goes. The other prices are for
/// comparison.
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
    /// What all routes have in common.
    pub features: Features,
    /// The `provider_options` that callers may send.
    pub allowed_options: AllowedOptions,
    /// When the provider stops serving the model, if that is known.
    pub retires_at: Option<NaiveDate>,
}

impl Model {
    /// A free model without limits.
    pub fn plain(id: &str, provider: &str, kind: ModelKind) -> Self {
        Self {
            id: id.to_owned(),
            routes: Routes::from(Route::plain(provider, id, InferenceMode::Batch)),
            kind,
            capabilities: Vec::new(),
            context: None,
            max_output: None,
            prices: None,
            bounds: InputBounds::default(),
            mock_behaviour: MockBehaviour::Echo,
            features: Features::plain(),
            allowed_options: AllowedOptions::new(),
            retires_at: None,
        }
    }

    /// The realtime price, if it is known.
    pub fn realtime(&self) -> Option<Price> {
        self.prices.and_then(|prices| prices.realtime)
    }

    /// What the provider bills us by a route. Where the catalogue does not say it, we assume that
    /// we pay what the model costs by the same way.
    pub fn cost_by(&self, route: &Route) -> Option<Price> {
        let own = || match route.via {
            InferenceMode::Batch | InferenceMode::Flex => self.prices.map(|prices| prices.batch),
            InferenceMode::Realtime => self.realtime(),
        };
        route.cost.or_else(own)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Money;

    #[test]
    fn a_route_without_a_cost_costs_what_the_model_costs_by_the_same_way() {
        let price = |dollars: i64| Price::flat(Money(dollars), Money(dollars));
        let model = Model {
            prices: Some(Prices {
                batch: price(1),
                realtime: Some(price(2)),
            }),
            ..Model::plain("m", "mock", ModelKind::Chat)
        };
        let route = |via, cost| Route {
            cost,
            ..Route::plain("p", "theirs", via)
        };
        for (via, expected) in [
            (InferenceMode::Batch, price(1)),
            (InferenceMode::Flex, price(1)),
            (InferenceMode::Realtime, price(2)),
        ] {
            assert_eq!(model.cost_by(&route(via, None)), Some(expected));
            let stated = route(via, Some(price(7)));
            assert_eq!(model.cost_by(&stated), Some(price(7)));
        }
        let free = Model::plain("m", "mock", ModelKind::Chat);
        assert_eq!(free.cost_by(&route(InferenceMode::Batch, None)), None);
    }
}
