//! Gather: organizations take turns, whatever waits.

use domain::lane::{Lane, LaneId};
use domain::model::Kind;
use store::shard::lane;
use store::shard::node::Claim;
use workers::stage::{Stage as _, Step};

use crate::support::Service;
use crate::support::claims::claim_gathered;
use crate::support::http::chat;

#[tokio::test]
async fn one_load_is_in_the_next_batch_beside_a_flood() {
    let mut service = Service::new().await;
    let (flood, small) = (service.customer().await, service.customer().await);
    for number in 0..30 {
        service
            .load(&flood, &chat(&format!("flood {number}"), None))
            .await;
    }
    let one = service.load(&small, &chat("just one", None)).await;
    let now = service.now();
    let gathered = service.crews[0].gather.step(now).await.unwrap();
    assert_eq!(gathered, Step::Did(10));
    assert_eq!(service.status(&small, &one).await, "BATCHED");
}

#[tokio::test]
async fn everything_that_waits_is_gathered_once() {
    let mut service = Service::new().await;
    let customers = [
        service.customer().await,
        service.customer().await,
        service.customer().await,
    ];
    let mut loaded = 0;
    for (customer, count) in customers.iter().zip([25, 3, 1]) {
        for number in 0..count {
            service
                .load(customer, &chat(&format!("{number}"), None))
                .await;
            loaded += 1;
        }
    }
    let now = service.now();
    let mut gathered = 0;
    while let Step::Did(count) = service.crews[0].gather.step(now).await.unwrap() {
        gathered += count;
    }
    assert_eq!(gathered, loaded);
    let claim = Claim {
        node: uuid::Uuid::nil(),
        epoch: 1,
    };
    let batches = claim_gathered(&service.north, claim, 100, now)
        .await
        .unwrap();
    let mut cargo: Vec<_> = batches
        .iter()
        .flat_map(|batch| batch.cargo.clone())
        .collect();
    cargo.sort();
    cargo.dedup();
    assert_eq!(cargo.len(), loaded);
}

#[tokio::test]
async fn a_lane_is_made_once() {
    let service = Service::new().await;
    let wanted = Lane {
        via: domain::route::Via::Batch,
        provider: "p".to_owned(),
        model: "m".to_owned(),
        kind: Kind::Chat,
    };
    let LaneId(first) = lane::ensure(&service.north, &wanted).await.unwrap();
    let LaneId(again) = lane::ensure(&service.north, &wanted).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(
        lane::find(&service.north, LaneId(first)).await.unwrap(),
        wanted
    );
}
