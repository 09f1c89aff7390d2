//! Routes: the providers that serve a model, and which one a cargo takes next.
//!
//! `route_choice` chooses between batch, flex and realtime for deadlines of callers.

use chrono::TimeDelta;

use crate::features::Features;
use crate::price::Price;

/// From this age on, a cargo takes a flex or realtime route, if there is one.
pub const REALTIME_FALLBACK_AGE: TimeDelta = TimeDelta::hours(20);

/// A job that takes longer than this counts as stuck: its open cargo moves to batches of another
/// account, if there is one. Two accounts can be tried before the realtime fallback.
pub const SLOW_JOB_TIMEOUT: TimeDelta = TimeDelta::hours(10);

/// Whether a provider takes cargo as a batch job, or one request at a time, and at which tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InferenceMode {
    Batch,
    /// One request at a time at the batch price, when the provider has spare capacity.
    Flex,
    Realtime,
}

impl InferenceMode {
    pub const ALL: [Self; 3] = [Self::Batch, Self::Flex, Self::Realtime];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Flex => "flex",
            Self::Realtime => "realtime",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|via| via.as_str() == text)
    }

    /// Whether each cargo is a request of its own.
    pub const fn is_single_request(self) -> bool {
        match self {
            Self::Batch => false,
            Self::Flex | Self::Realtime => true,
        }
    }
}

/// A provider that serves a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Route {
    /// Its name in `providers.toml`, or `mock`.
    pub provider: String,
    /// The provider's name for the model.
    pub upstream_model: String,
    pub via: InferenceMode,
    /// The shards that it serves; empty means all.
    pub shards: Vec<String>,
    pub api: ChatApi,
    pub features: Features,
    /// What the provider bills us for this model by this way, if it is known.
    pub cost: Option<Price>,
}

/// The API by which a provider of the `OpenAI` kind is asked for a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum ChatApi {
    #[default]
    Completions,
    Responses,
}

impl Route {
    /// A route for plain text by Chat Completions, whose cost is not known.
    pub fn plain(provider: &str, upstream_model: &str, via: InferenceMode) -> Self {
        Self {
            provider: provider.to_owned(),
            upstream_model: upstream_model.to_owned(),
            via,
            shards: Vec::new(),
            api: ChatApi::Completions,
            features: Features::plain(),
            cost: None,
        }
    }

    pub fn serves(&self, shard: &str) -> bool {
        self.shards.is_empty() || self.shards.iter().any(|it| it == shard)
    }
}

/// The routes of a model, the preferred first. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    first: Route,
    others: Vec<Route>,
}

impl Routes {
    pub const fn new(first: Route, others: Vec<Route>) -> Self {
        Self { first, others }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// What every route can do.
    pub fn common_features(&self) -> Features {
        let first = self.first.features.clone();
        let others = self.others.iter();
        others.fold(first, |common, route| common.common_with(&route.features))
    }

    pub fn find(&self, provider: &str, via: InferenceMode) -> Option<&Route> {
        self.iter()
            .find(|route| route.provider == provider && route.via == via)
    }

    /// The route of a new cargo on a shard.
    pub fn preferred(&self, shard: &str) -> &Route {
        let here = || self.iter().filter(|route| route.serves(shard));
        let batch = here().find(|route| route.via == InferenceMode::Batch);
        batch.or_else(|| here().next()).unwrap_or(&self.first)
    }

    /// The routes that serve a shard; all routes, if none does.
    #[must_use]
    pub fn for_shard(&self, shard: &str) -> Self {
        let mut here = self.iter().filter(|route| route.serves(shard)).cloned();
        match here.next() {
            Some(first) => Self::new(first, here.collect()),
            None => self.clone(),
        }
    }

    /// The route after `tried`, round robin, among the routes that are open. If none is open, the
    /// cargo waits for the next route in order.
    ///
    /// Realtime costs us twice as much. A model with a batch or flex route uses it only for urgent
    /// cargo, and after flex. Urgent cargo stays with batches if there is only flex that is closed.
    pub fn next(
        &self,
        tried: Option<(&str, InferenceMode)>,
        age: TimeDelta,
        is_open: impl Fn(&Route) -> bool,
    ) -> &Route {
        let has = |via| self.iter().any(|route| route.via == via);
        let has_open_flex = self
            .iter()
            .any(|route| route.via == InferenceMode::Flex && is_open(route));
        let was_flex = tried.is_some_and(|(_, via)| via == InferenceMode::Flex);
        let urgent_way = if has_open_flex && !was_flex {
            Some(InferenceMode::Flex)
        } else if has(InferenceMode::Realtime) {
            Some(InferenceMode::Realtime)
        } else {
            has_open_flex.then_some(InferenceMode::Flex)
        };
        let urgent_way = urgent_way.filter(|_| age >= REALTIME_FALLBACK_AGE);
        let ways: Vec<&Route> = match urgent_way {
            Some(way) => self.iter().filter(|it| it.via == way).collect(),
            None => self.default_routes().collect(),
        };
        let before = tried.and_then(|(provider, via)| {
            ways.iter()
                .position(|it| it.provider == provider && it.via == via)
        });
        let turn = before.map_or(0, |at| (at + 1) % ways.len().max(1));
        let in_turn = || ways.iter().cycle().skip(turn).take(ways.len());
        let open = in_turn().find(|route| is_open(route));
        open.or_else(|| in_turn().next()).unwrap_or(&&self.first)
    }

    /// The batch routes; if there are none, the flex routes; otherwise all routes.
    fn default_routes(&self) -> impl Iterator<Item = &Route> {
        let has = |via: &InferenceMode| self.iter().any(|route| route.via == *via);
        let cheapest = [InferenceMode::Batch, InferenceMode::Flex]
            .into_iter()
            .find(has);
        self.iter()
            .filter(move |route| cheapest.is_none_or(|via| route.via == via))
    }
}

impl From<Route> for Routes {
    fn from(only: Route) -> Self {
        Self::new(only, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(provider: &str, via: InferenceMode) -> Route {
        Route::plain(provider, "theirs", via)
    }

    fn routes() -> Routes {
        Routes::new(
            route("spare", InferenceMode::Realtime),
            vec![
                route("a", InferenceMode::Batch),
                route("b", InferenceMode::Batch),
                route("own", InferenceMode::Realtime),
            ],
        )
    }

    fn next(tried: Option<(&str, InferenceMode)>, hours: i64, closed: &[&str]) -> String {
        let routes = routes();
        let next = routes.next(tried, TimeDelta::hours(hours), |it| {
            !closed.contains(&it.provider.as_str())
        });
        next.provider.clone()
    }

    #[test]
    fn batch_routes_take_turns_until_the_realtime_fallback() {
        assert_eq!(routes().preferred("north").provider, "a");
        assert_eq!(next(None, 0, &[]), "a");
        assert_eq!(next(Some(("a", InferenceMode::Batch)), 1, &[]), "b");
        assert_eq!(next(Some(("b", InferenceMode::Batch)), 19, &[]), "a");
        assert_eq!(next(Some(("b", InferenceMode::Batch)), 20, &[]), "spare");
        assert_eq!(
            next(Some(("spare", InferenceMode::Realtime)), 21, &[]),
            "own"
        );
    }

    #[test]
    fn a_closed_route_is_skipped_unless_all_are_closed() {
        assert_eq!(next(None, 0, &["a"]), "b");
        assert_eq!(next(Some(("a", InferenceMode::Batch)), 0, &["b"]), "a");
        assert_eq!(next(Some(("a", InferenceMode::Batch)), 0, &["a", "b"]), "b");
    }

    #[test]
    fn a_route_of_another_shard_is_never_taken() {
        let of = |provider: &str, shard: &str| Route {
            shards: vec![shard.to_owned()],
            ..route(provider, InferenceMode::Batch)
        };
        let routes = Routes::new(of("a", "north"), vec![of("b", "south")]);
        assert_eq!(routes.preferred("south").provider, "b");
        let south = routes.for_shard("south");
        for tried in [
            None,
            Some(("a", InferenceMode::Batch)),
            Some(("b", InferenceMode::Batch)),
        ] {
            let next = south.next(tried, TimeDelta::zero(), |_| false);
            assert_eq!(next.provider, "b");
        }
    }

    #[test]
    fn cargo_that_comes_back_from_flex_takes_a_batch() {
        let flex = || route("a", InferenceMode::Flex);
        let both = Routes::new(flex(), vec![route("a", InferenceMode::Batch)]);
        assert_eq!(both.preferred("north").via, InferenceMode::Batch);
        let tried = Some(("a", InferenceMode::Flex));
        let next = both.next(tried, TimeDelta::zero(), |_| true);
        assert_eq!(next.via, InferenceMode::Batch);
        let urgent = |tried| both.next(tried, REALTIME_FALLBACK_AGE, |_| true).via;
        assert_eq!(
            urgent(Some(("a", InferenceMode::Batch))),
            InferenceMode::Flex
        );
        let is_open = |route: &Route| route.via != InferenceMode::Flex;
        let tried_batch = Some(("a", InferenceMode::Batch));
        let without_flex = both.next(tried_batch, REALTIME_FALLBACK_AGE, is_open);
        assert_eq!(without_flex.via, InferenceMode::Batch);
        // Without a batch route it does not fall back to realtime before it is urgent.
        let single = Routes::new(flex(), vec![route("own", InferenceMode::Realtime)]);
        let next = |age| single.next(tried, age, |_| true).via;
        assert_eq!(next(TimeDelta::zero()), InferenceMode::Flex);
        assert_eq!(next(REALTIME_FALLBACK_AGE), InferenceMode::Realtime);
    }

    #[test]
    fn a_model_of_servers_alone_is_asked_for_at_any_age() {
        let only = Routes::from(route("own", InferenceMode::Realtime));
        assert_eq!(only.preferred("north").provider, "own");
        let next = only.next(
            Some(("own", InferenceMode::Realtime)),
            TimeDelta::zero(),
            |_| true,
        );
        assert_eq!(next.provider, "own");
        let batch = Routes::from(route("a", InferenceMode::Batch));
        let next = batch.next(
            Some(("a", InferenceMode::Batch)),
            REALTIME_FALLBACK_AGE,
            |_| true,
        );
        assert_eq!(next.provider, "a");
    }
}
