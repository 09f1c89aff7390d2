//! Groups of outcomes: attempts that are over, and two outcomes for one cargo.

use domain::money::Money;
use domain::outcome::TokenUsage;
use domain::token_buckets::TokenBuckets;
use store::shard::node::Claim;
use store::shard::outcome::{self, ExpectedCargoState, NewOutcome};
use workers::stage::Stage as _;

use crate::support::claims::claim_gathered;
use crate::support::credit::{ONE_DOLLAR, model_chat_request, tracked_cost};
use crate::support::{Customer, MOCK_DELAY, TestService};

const CLAIM: Claim = Claim {
    node: uuid::Uuid::nil(),
    epoch: 1,
};

fn new_outcome(customer: &Customer, cargo: &str, attempt: u32, success: bool) -> NewOutcome {
    NewOutcome {
        cargo: cargo.parse().unwrap(),
        project: customer.project,
        attempt,
        success,
        failure_code: None,
        body: store::body::pack(b"{}"),
        usage: TokenBuckets::plain(TokenUsage {
            input_tokens: 2,
            output_tokens: 2,
        }),
        cost: None,
        served: None,
        realtime: None,
        claim_delivery: false,
    }
}

#[tokio::test]
async fn a_release_in_another_attempt_leaves_the_cargo_in_the_queue() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cargo = service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    let late = vec![new_outcome(&customer, &cargo, 2, false)];
    let now = service.clock.advance(MOCK_DELAY);
    let stored = outcome::record(
        &service.north,
        ExpectedCargoState::Waiting,
        CLAIM,
        late,
        now,
    )
    .await;
    assert_eq!(stored.unwrap(), []);
    service.run_until_idle().await;
    assert_eq!(
        tracked_cost(&service, &customer, &cargo).await["charged"],
        1000
    );
}

#[tokio::test]
async fn of_two_outcomes_in_one_group_one_is_stored_and_nothing_of_the_other() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cargo = service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    let now = service.now();
    service.worker_sets[0].gather.step(now).await.unwrap();
    let claimed = claim_gathered(&service.north, CLAIM, 1, now).await;
    let expected = ExpectedCargoState::InBatch(claimed.unwrap()[0].id);
    let both = [true, false].map(|success| new_outcome(&customer, &cargo, 1, success));
    let stored = outcome::record(&service.north, expected, CLAIM, both.to_vec(), now).await;
    assert_eq!(stored.unwrap().len(), 1);
    let record = service.track(&customer, &cargo).await;
    let charged = if record["success"] == true { 1000 } else { 0 };
    assert_eq!(record["cost"]["charged"], charged);
    let left = service.read_account(&customer).await.posted;
    assert_eq!(left, ONE_DOLLAR - Money(charged));
    let statement =
        "select c.success = o.success from shard.cargo c join shard.outcome o on o.cargo = c.id";
    let alike: bool = sqlx::query_scalar(statement)
        .fetch_one(&service.north.pool)
        .await
        .unwrap();
    assert!(alike);
}
