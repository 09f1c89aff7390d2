//! Attempts without an outcome that the provider bills: the cargo keeps their cost.

use domain::money::Money;
use store::shard::batch::{self, RequeuePlan};
use store::shard::earlier_cost::{self, BilledAttempt};
use store::shard::node::Claim;
use workers::stage::Stage as _;

use crate::support::claims::claim_gathered;
use crate::support::credit::{ONE_DOLLAR, model_chat_request, tracked_cost};
use crate::support::{MOCK_DELAY, TestService};

const CLAIM: Claim = Claim {
    node: uuid::Uuid::nil(),
    epoch: 1,
};

#[tokio::test]
async fn the_cost_of_an_outcome_includes_earlier_attempts() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cargo = service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    let billed = |nanos: i64| {
        [BilledAttempt {
            cargo: cargo.parse().unwrap(),
            cost: Money(nanos),
        }]
    };
    let (now, north) = (service.now(), service.north.clone());
    service.worker_sets[0].gather.step(now).await.unwrap();
    let claimed = claim_gathered(&north, CLAIM, 1, now).await.unwrap();
    let batch = claimed[0].id;
    earlier_cost::add(&north, batch, CLAIM, &billed(5))
        .await
        .unwrap();
    let lost_claim = Claim { epoch: 2, ..CLAIM };
    let late = earlier_cost::add(&north, batch, lost_claim, &billed(1000)).await;
    assert!(matches!(late, Err(store::Error::Fenced)), "{late:?}");
    let plan = RequeuePlan::default();
    batch::end_billed(&north, batch, CLAIM, plan, &billed(7), now)
        .await
        .unwrap();
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    // The mock bills nothing for the last attempt, and the caller pays for that one only.
    let cost = sqlx::query_scalar::<_, Option<i64>>("select cost from shard.outcome");
    assert_eq!(cost.fetch_one(&north.pool).await.unwrap(), Some(12));
    let charged = tracked_cost(&service, &customer, &cargo).await;
    assert_eq!(charged["charged"], 1000);
}
