//! Where cargo goes that comes back without an outcome.

use std::collections::HashMap;

use chrono::TimeDelta;
use domain::id;
use domain::lane::{Lane, LaneId};
use domain::model::Catalogue;
use domain::route::URGENT;
use domain::time::Timestamp;
use store::Shard;
use store::shard::batch::Onward;
use store::shard::lane;
use store::shard::provider::Paused;

/// The next route of the lane's model, and another one for what is urgent.
pub(crate) async fn onward(
    shard: &Shard,
    catalogue: &Catalogue,
    (id, lane): (LaneId, &Lane),
    paused: &HashMap<String, Paused>,
    now: Timestamp,
) -> Result<Onward, store::Error> {
    let Some(model) = catalogue.find(&lane.model) else {
        return Ok(Onward::default());
    };
    let tried = Some((lane.provider.as_str(), lane.via));
    let routes = model.routes.on(&shard.name);
    let next = |age: TimeDelta| {
        let route = routes.next(tried, age, |route| !paused.contains_key(&route.provider));
        Lane::of(model, route)
    };
    let (usual, urgent) = (next(TimeDelta::zero()), next(URGENT));
    Ok(Onward {
        lane: Some(row(shard, (id, lane), &usual).await?),
        urgent: Some((
            id::floor(now - URGENT),
            row(shard, (id, lane), &urgent).await?,
        )),
    })
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
