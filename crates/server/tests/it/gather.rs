//! Gather: organizations share batches fairly, however much each has waiting.

use domain::lane::{Lane, LaneId};
use domain::model::ModelKind;
use store::shard::lane;
use store::shard::node::Claim;
use workers::stage::{Stage as _, StepResult};

use crate::support::TestService;
use crate::support::claims::claim_gathered;
use crate::support::http::chat_request;

#[tokio::test]
async fn one_load_is_in_the_next_batch_beside_a_flood() {
    let mut service = TestService::new().await;
    let (flood, small) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    for number in 0..30 {
        service
            .load(&flood, &chat_request(&format!("flood {number}"), None))
            .await;
    }
    let one = service.load(&small, &chat_request("just one", None)).await;
    let now = service.now();
    let gathered = service.worker_sets[0].gather.step(now).await.unwrap();
    assert_eq!(gathered, StepResult::Processed(10));
    assert_eq!(service.status(&small, &one).await, "BATCHED");
}

#[tokio::test]
async fn all_waiting_cargo_is_gathered_once() {
    let mut service = TestService::new().await;
    let customers = [
        service.create_customer().await,
        service.create_customer().await,
        service.create_customer().await,
    ];
    let mut loaded = 0;
    for (customer, count) in customers.iter().zip([25, 3, 1]) {
        for number in 0..count {
            service
                .load(customer, &chat_request(&format!("{number}"), None))
                .await;
            loaded += 1;
        }
    }
    let now = service.now();
    let mut gathered = 0;
    while let StepResult::Processed(count) = service.worker_sets[0].gather.step(now).await.unwrap()
    {
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
    let service = TestService::new().await;
    let expected = Lane {
        via: domain::route::InferenceMode::Batch,
        provider: "p".to_owned(),
        model: "m".to_owned(),
        kind: ModelKind::Chat,
    };
    let LaneId(first) = lane::ensure(&service.north, &expected).await.unwrap();
    let LaneId(again) = lane::ensure(&service.north, &expected).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(
        lane::find(&service.north, LaneId(first)).await.unwrap(),
        expected
    );
}
