//! Where cargo goes that comes back without an outcome.

use chrono::TimeDelta;
use domain::again;
use domain::id;
use domain::lane::{Lane, LaneId};
use domain::model::Catalogue;
use domain::outcome::Outcome;
use domain::route::{Route, URGENT};
use domain::time::Timestamp;
use store::Shard;
use store::shard::batch::Onward;
use store::shard::lane;
use store::shard::manifest::Head;
use store::shard::provider;

use crate::providers::Providers;

/// When what has no outcome goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Going {
    AtOnce,
    /// Who had it did not answer it.
    Rested,
}

/// The next route of the lane's model, and another one for what is urgent.
pub(crate) async fn onward(
    shard: &Shard,
    catalogue: &Catalogue,
    (id, lane): (LaneId, &Lane),
    providers: &Providers,
    going: Going,
    now: Timestamp,
) -> Result<Onward, store::Error> {
    let rests = match going {
        Going::AtOnce => Vec::new(),
        Going::Rested => again::rests().collect(),
    };
    let Some(model) = catalogue.find(&lane.model) else {
        return Ok(Onward {
            rests,
            ..Onward::default()
        });
    };
    let paused = provider::paused(shard).await?;
    let is_open = |route: &Route| {
        let is_paused = paused.get(&route.provider).is_some_and(|it| it.lasts(now));
        !is_paused && providers.find(&route.provider).is_some()
    };
    let tried = Some((lane.provider.as_str(), lane.via));
    let routes = model.routes.on(&shard.name);
    let next = |age: TimeDelta| Lane::of(model, routes.next(tried, age, is_open));
    let (usual, urgent) = (next(TimeDelta::zero()), next(URGENT));
    Ok(Onward {
        lane: Some(row(shard, (id, lane), &usual).await?),
        urgent: Some((
            id::floor(now - URGENT),
            row(shard, (id, lane), &urgent).await?,
        )),
        rests,
    })
}

/// The outcome of what has gone to providers often enough and was not answered by any.
pub(crate) fn last_word(head: &Head, why: &str) -> Option<Outcome> {
    let attempts = head.attempt;
    again::is_enough(attempts)
        .then(|| Outcome::Failure(format!("no answer in {attempts} attempts: {why}")))
}

async fn row(
    shard: &Shard,
    (id, same): (LaneId, &Lane),
    wanted: &Lane,
) -> Result<LaneId, store::Error> {
    if wanted == same {
        return Ok(id);
    }
    lane::ensure(shard, wanted).await
}
