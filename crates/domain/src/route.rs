//! Routes: the ways that a model's work can take, and which one is next.

use chrono::TimeDelta;

/// From this age on a cargo no longer waits for a batch, if there is another way.
pub const URGENT: TimeDelta = TimeDelta::hours(20);

/// A job that takes longer than this is believed to be stuck: what is open in it takes the batches
/// of another account, if there is one. Two accounts have their turn before it is urgent.
pub const SLOW: TimeDelta = TimeDelta::hours(10);

/// Whether work is handed over as a whole job, or asked for one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Via {
    Batch,
    Realtime,
}

impl Via {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Realtime => "realtime",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Batch, Self::Realtime]
            .into_iter()
            .find(|via| via.as_str() == text)
    }
}

/// A provider that serves a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Route {
    /// Its name in `providers.toml`, or `mock`.
    pub provider: String,
    /// What the provider calls the model.
    pub upstream: String,
    pub via: Via,
    /// The only shards that it serves; empty: all of them.
    pub shards: Vec<String>,
}

impl Route {
    pub fn serves(&self, shard: &str) -> bool {
        self.shards.is_empty() || self.shards.iter().any(|it| it == shard)
    }
}

/// The routes of a model, the preferred first. There is always one.
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

    pub fn find(&self, provider: &str, via: Via) -> Option<&Route> {
        self.iter()
            .find(|route| route.provider == provider && route.via == via)
    }

    /// The one that a cargo of a shard takes which has tried none.
    pub fn preferred(&self, shard: &str) -> &Route {
        let here = || self.iter().filter(|route| route.serves(shard));
        let batch = here().find(|route| route.via == Via::Batch);
        batch.or_else(|| here().next()).unwrap_or(&self.first)
    }

    /// Those that serve a shard; all, if none does.
    #[must_use]
    pub fn on(&self, shard: &str) -> Self {
        let mut here = self.iter().filter(|route| route.serves(shard)).cloned();
        match here.next() {
            Some(first) => Self::new(first, here.collect()),
            None => self.clone(),
        }
    }

    /// The one after `tried`, in turn; `is_open` says who can be asked now. When nobody can, the
    /// cargo waits where the turn has come to.
    ///
    /// Realtime costs us twice as much: with a batch to be had, it is for what is urgent.
    pub fn next(
        &self,
        tried: Option<(&str, Via)>,
        age: TimeDelta,
        is_open: impl Fn(&Route) -> bool,
    ) -> &Route {
        let is_urgent = age >= URGENT && self.iter().any(|route| route.via == Via::Realtime);
        let ways: Vec<&Route> = if is_urgent {
            self.iter().filter(|it| it.via == Via::Realtime).collect()
        } else {
            self.usual().collect()
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

    /// Batches, or else what there is.
    fn usual(&self) -> impl Iterator<Item = &Route> {
        let has_batch = self.iter().any(|route| route.via == Via::Batch);
        self.iter()
            .filter(move |route| !has_batch || route.via == Via::Batch)
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

    fn route(provider: &str, via: Via) -> Route {
        Route {
            provider: provider.to_owned(),
            upstream: "theirs".to_owned(),
            via,
            shards: Vec::new(),
        }
    }

    fn routes() -> Routes {
        Routes::new(
            route("spare", Via::Realtime),
            vec![
                route("a", Via::Batch),
                route("b", Via::Batch),
                route("own", Via::Realtime),
            ],
        )
    }

    fn next(tried: Option<(&str, Via)>, hours: i64, closed: &[&str]) -> String {
        let routes = routes();
        let next = routes.next(tried, TimeDelta::hours(hours), |it| {
            !closed.contains(&it.provider.as_str())
        });
        next.provider.clone()
    }

    #[test]
    fn batches_take_turns_until_it_is_urgent() {
        assert_eq!(routes().preferred("north").provider, "a");
        assert_eq!(next(None, 0, &[]), "a");
        assert_eq!(next(Some(("a", Via::Batch)), 1, &[]), "b");
        assert_eq!(next(Some(("b", Via::Batch)), 19, &[]), "a");
        assert_eq!(next(Some(("b", Via::Batch)), 20, &[]), "spare");
        assert_eq!(next(Some(("spare", Via::Realtime)), 21, &[]), "own");
    }

    #[test]
    fn who_cannot_be_asked_is_passed_over_unless_nobody_can() {
        assert_eq!(next(None, 0, &["a"]), "b");
        assert_eq!(next(Some(("a", Via::Batch)), 0, &["b"]), "a");
        assert_eq!(next(Some(("a", Via::Batch)), 0, &["a", "b"]), "b");
    }

    #[test]
    fn a_route_of_another_shard_is_never_taken() {
        let of = |provider: &str, shard: &str| Route {
            shards: vec![shard.to_owned()],
            ..route(provider, Via::Batch)
        };
        let routes = Routes::new(of("a", "north"), vec![of("b", "south")]);
        assert_eq!(routes.preferred("south").provider, "b");
        let south = routes.on("south");
        for tried in [None, Some(("a", Via::Batch)), Some(("b", Via::Batch))] {
            let next = south.next(tried, TimeDelta::zero(), |_| false);
            assert_eq!(next.provider, "b");
        }
    }

    #[test]
    fn a_model_of_servers_alone_is_asked_for_at_any_age() {
        let only = Routes::from(route("own", Via::Realtime));
        assert_eq!(only.preferred("north").provider, "own");
        let next = only.next(Some(("own", Via::Realtime)), TimeDelta::zero(), |_| true);
        assert_eq!(next.provider, "own");
        let batch = Routes::from(route("a", Via::Batch));
        let next = batch.next(Some(("a", Via::Batch)), URGENT, |_| true);
        assert_eq!(next.provider, "a");
    }
}
