//! The journey with money: held at load, charged or given back with the outcome.

use std::time::Duration;

use domain::model::{Kind, Price};
use domain::money::Money;
use domain::outcome::Usage;
use serde_json::{Value, json};
use store::shard::node::Claim;
use store::shard::outcome::{self, NewOutcome, Standing};
use workers::stage::Stage as _;

use crate::support::claims::claim_gathered;
use crate::support::credit::{PRICE, ask, priced};
use crate::support::{Customer, MOCK_DELAY, Service};

const DOLLAR: Money = Money(1_000_000_000);

/// In how many transactions the newest version of these rows was written.
async fn transactions(service: &Service, customer: &Customer, cargo: &str) -> i64 {
    let cargo: domain::id::CargoId = cargo.parse().unwrap();
    let statement = "select count(distinct wrote) from (
             select xmin::text from shard.account where organization = $1
             union all select xmin::text from shard.cargo where id = $2
             union all select xmin::text from shard.outcome where cargo = $2
             union all select xmin::text from shard.posting where $2 = any(cargo)
         ) as newest (wrote)";
    sqlx::query_scalar(statement)
        .bind(customer.organization.uuid())
        .bind(cargo.uuid())
        .fetch_one(&service.north.pool)
        .await
        .unwrap()
}

/// The version of the account's row: another one after every write.
async fn version(service: &Service, customer: &Customer) -> String {
    let statement = "select xmin::text from shard.account where organization = $1";
    sqlx::query_scalar(statement)
        .bind(customer.organization.uuid())
        .fetch_one(&service.north.pool)
        .await
        .unwrap()
}

async fn cost(service: &Service, customer: &Customer, cargo: &str) -> Value {
    service.track(customer, cargo).await["cost"].take()
}

#[tokio::test]
async fn a_load_is_held_for_and_its_outcome_charges_and_gives_the_rest_back() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 1.00 held 0.00 postings 1 | 1970-01-01 used 0 reserved 0");

    // 10 bytes, 8 tokens around each of 2 texts, and 64 that may be written.
    let cargo = service.load(&customer, &ask("priced", "Hello.", 64)).await;
    insta::assert_json_snapshot!(cost(&service, &customer, &cargo).await, @r#"
    {
      "held": 28200,
      "charged": null,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 1.00 held 0.0000282 postings 1 | 2026-01-01 used 0 reserved 90");
    assert_eq!(transactions(&service, &customer, &cargo).await, 1);

    service.clock.advance(MOCK_DELAY);
    service.work().await;
    insta::assert_json_snapshot!(cost(&service, &customer, &cargo).await, @r#"
    {
      "held": 28200,
      "charged": 1000,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 0.999999 held 0.00 postings 2 | 2026-01-01 used 4 reserved 0");
    assert_eq!(transactions(&service, &customer, &cargo).await, 1);
}

#[tokio::test]
async fn failed_cargo_releases_its_hold_and_costs_nothing() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    let cargo = service
        .load(&customer, &ask("priced-failing", "No.", 64))
        .await;
    assert!(service.account(&customer).await.held > Money::ZERO);
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(cost(&service, &customer, &cargo).await["charged"], 0);
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 1.00 held 0.00 postings 1 | 2026-01-01 used 0 reserved 0");
    assert_eq!(transactions(&service, &customer, &cargo).await, 1);
}

#[tokio::test]
async fn the_mock_model_holds_nothing_and_touches_no_account() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    let before = version(&service, &customer).await;
    let cargo = service.load(&customer, &ask("svc-mock", "Free.", 64)).await;
    assert_eq!(cost(&service, &customer, &cargo).await["held"], 0);
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(cost(&service, &customer, &cargo).await["charged"], 0);
    assert_eq!(version(&service, &customer).await, before);
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 0.00 held 0.00 postings 0 | 1970-01-01 used 0 reserved 0");
}

#[tokio::test]
async fn a_load_beyond_the_credit_is_refused() {
    let service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, Money(28_199)).await;
    let refused = service
        .post_load(&customer, &ask("priced", "Hello.", 64))
        .await;
    insta::assert_snapshot!(refused, @r#"
    429 {
      "detail": {
        "error": "insufficient_credits",
        "message": "This load may cost 0.0000282 dollars, and 0.000028199 are available. Add credit, or ask for fewer tokens with max_tokens.",
        "required": 28200,
        "available": 28199,
        "currency": "USD",
        "scale": 9
      }
    }
    "#);
    assert!(refused.headers.get("retry-after").is_none());

    service.add_credit(&customer, Money(1)).await;
    service.load(&customer, &ask("priced", "Hello.", 64)).await;
}

#[tokio::test]
async fn a_load_beyond_the_months_tokens_is_refused() {
    let service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    service.limit_tokens(&customer, 100).await;
    service.load(&customer, &ask("priced", "Hello.", 64)).await;
    let refused = service
        .post_load(&customer, &ask("priced", "Hello.", 64))
        .await;
    insta::assert_snapshot!(refused, @r#"
    429 {
      "detail": {
        "error": "quota_exceeded",
        "message": "The month's tokens are used up: 90 of 100 are used or reserved, and this load may need 90. They begin anew at 2026-02-01T00:00:00.000000Z.",
        "monthly_tokens": 100,
        "used_tokens": 90,
        "required_tokens": 90,
        "resets_at": "2026-02-01T00:00:00.000000Z"
      }
    }
    "#);
    assert!(refused.headers.get("retry-after").is_none());
    // What counts for nothing is taken all the same.
    service
        .load(&customer, &ask("svc-mock", "Hello.", 64))
        .await;
}

#[tokio::test]
async fn fields_model_and_quota_are_checked_before_credit() {
    let service = Service::with_prices().await;
    let customer = service.customer().await;
    service.limit_tokens(&customer, 89).await;
    let mut body = ask("prized", "Hello.", 64);
    let unknown = service.post_load(&customer, &body).await;
    assert_eq!(unknown.body["detail"]["error"], "invalid_model");
    body["params"]["max_tokens"] = json!(0);
    assert_eq!(service.post_load(&customer, &body).await.status, 422);

    let body = ask("priced", "Hello.", 64);
    let refused = service.post_load(&customer, &body).await;
    assert_eq!(refused.body["detail"]["error"], "quota_exceeded");
    service.limit_tokens(&customer, 90).await;
    let refused = service.post_load(&customer, &body).await;
    assert_eq!(refused.body["detail"]["error"], "insufficient_credits");
}

#[tokio::test]
async fn a_reservation_of_january_settled_in_february_changes_nothing_there() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    service.limit_tokens(&customer, 100).await;
    // The last minute of January.
    let last = Duration::from_mins(31 * 24 * 60 - 1);
    let now = service.clock.advance(last);
    service.crews[0].sweep.step(now).await.unwrap();
    service.load(&customer, &ask("priced", "Hello.", 64)).await;
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 1.00 held 0.0000282 postings 1 | 2026-01-01 used 0 reserved 90");

    // A new month begins with nothing spoken for, though January's cargo is under way.
    service.clock.advance(MOCK_DELAY);
    service.load(&customer, &ask("priced", "Hello.", 60)).await;
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 1.00 held 0.0000548 postings 1 | 2026-02-01 used 0 reserved 86");
    service.work().await;
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 0.999999 held 0.0000266 postings 2 | 2026-02-01 used 0 reserved 86");

    service.clock.advance(MOCK_DELAY);
    service.work().await;
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 0.999998 held 0.00 postings 3 | 2026-02-01 used 4 reserved 0");
}

#[tokio::test]
async fn a_replay_places_no_second_hold() {
    let service = Service::with_prices().await;
    let customer = service.customer().await;
    // Enough for one.
    service.add_credit(&customer, Money(30_000)).await;
    let body = ask("priced", "Hello.", 64);
    let first = service.load_named(&customer, "order-7", &body).await;
    let before = service.books(&customer).await;
    let again = service.load_named(&customer, "order-7", &body).await;
    assert_eq!(first.cargo_id(), again.cargo_id());
    assert_eq!(service.books(&customer).await, before);
}

#[tokio::test]
async fn cargo_that_misses_its_deadline_gives_everything_back() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    let cargo = service.load(&customer, &ask("priced", "Late.", 64)).await;
    let deadline = Duration::from_hours(24) + Duration::from_secs(1);
    let now = service.clock.advance(deadline);
    service.crews[0].sweep.step(now).await.unwrap();
    assert_eq!(cost(&service, &customer, &cargo).await["charged"], 0);
    insta::assert_snapshot!(service.books(&customer).await,
        @"posted 1.00 held 0.00 postings 1 | 2026-01-01 used 0 reserved 0");
}

#[tokio::test]
async fn an_embedding_is_held_for_by_its_input_alone() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    let body = json!({"params": {"model": "priced-vectors", "input_text": ["abcd", "efgh"]}});
    let cargo = service.load(&customer, &body).await;
    // 8 bytes, and 8 tokens around each of 2 texts.
    assert_eq!(cost(&service, &customer, &cargo).await["held"], 2400);
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    assert_eq!(cost(&service, &customer, &cargo).await["charged"], 200);
}

#[tokio::test]
async fn the_price_noted_with_the_hold_is_the_one_that_is_charged() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    let cargo = service.load(&customer, &ask("priced", "Hello.", 64)).await;
    let tenfold = Price {
        input: Money(PRICE.input.nanos() * 10),
        output: Money(PRICE.output.nanos() * 10),
    };
    service.sell(priced("priced", Kind::Chat, tenfold));
    let dear = service.load(&customer, &ask("priced", "Hello.", 64)).await;
    service.clock.advance(MOCK_DELAY);
    service.work().await;
    let charged = cost(&service, &customer, &cargo).await["charged"].take();
    assert_eq!(charged, 1000);
    let charged = cost(&service, &customer, &dear).await["charged"].take();
    assert_eq!(charged, 10_000);
}

#[tokio::test]
async fn what_was_charged_is_folded_into_the_usage() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    for model in ["priced", "priced", "priced-failing", "svc-mock"] {
        service.load(&customer, &ask(model, "Hello.", 64)).await;
    }
    let now = service.clock.advance(MOCK_DELAY);
    service.work().await;
    service.crews[0].sweep.step(now).await.unwrap();
    let statement = "select string_agg(format('%s %s %s %s', model, event, count, money), E'\\n'
                         order by model, event)
                     from shard.usage where project = $1";
    let usage: String = sqlx::query_scalar(statement)
        .bind(customer.project.uuid())
        .fetch_one(&service.north.pool)
        .await
        .unwrap();
    insta::assert_snapshot!(usage, @r"
    priced loaded 2 0
    priced succeeded 2 2000
    priced-failing failed 1 0
    priced-failing loaded 1 0
    svc-mock loaded 1 0
    svc-mock succeeded 1 0
    ");
}

const CLAIM: Claim = Claim {
    node: uuid::Uuid::nil(),
    epoch: 1,
};

fn outcome_of(cargo: &str, attempt: u32, success: bool) -> NewOutcome {
    NewOutcome {
        cargo: cargo.parse().unwrap(),
        attempt,
        success,
        body: store::body::pack(b"{}"),
        usage: Usage {
            input_tokens: 2,
            output_tokens: 2,
        },
        realtime: None,
        claim_delivery: false,
    }
}

#[tokio::test]
async fn a_release_in_another_attempt_leaves_the_cargo_in_the_queue() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    let cargo = service.load(&customer, &ask("priced", "Hello.", 64)).await;
    let late = vec![outcome_of(&cargo, 2, false)];
    let now = service.clock.advance(MOCK_DELAY);
    let stored = outcome::record(&service.north, Standing::Waiting, CLAIM, late, now).await;
    assert_eq!(stored.unwrap(), []);
    service.work().await;
    assert_eq!(cost(&service, &customer, &cargo).await["charged"], 1000);
}

#[tokio::test]
async fn of_two_outcomes_in_one_group_one_is_stored_and_nothing_of_the_other() {
    let mut service = Service::with_prices().await;
    let customer = service.customer().await;
    service.add_credit(&customer, DOLLAR).await;
    let cargo = service.load(&customer, &ask("priced", "Hello.", 64)).await;
    let now = service.now();
    service.crews[0].gather.step(now).await.unwrap();
    let claimed = claim_gathered(&service.north, CLAIM, 1, now).await;
    let standing = Standing::InBatch(claimed.unwrap()[0].id);
    let both = [true, false].map(|success| outcome_of(&cargo, 1, success));
    let stored = outcome::record(&service.north, standing, CLAIM, both.to_vec(), now).await;
    assert_eq!(stored.unwrap().len(), 1);
    let record = service.track(&customer, &cargo).await;
    let charged = if record["success"] == true { 1000 } else { 0 };
    assert_eq!(record["cost"]["charged"], charged);
    let left = service.account(&customer).await.posted;
    assert_eq!(left, DOLLAR - Money(charged));
    let statement =
        "select c.success = o.success from shard.cargo c join shard.outcome o on o.cargo = c.id";
    let alike: bool = sqlx::query_scalar(statement)
        .fetch_one(&service.north.pool)
        .await
        .unwrap();
    assert!(alike);
}
