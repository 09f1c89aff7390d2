//! Holds and settlement: a load places a hold, and its outcome charges or releases it.

use std::time::Duration;

use domain::model::ModelKind;
use domain::money::Money;
use domain::price::Price;
use serde_json::json;
use workers::stage::Stage as _;

use crate::support::credit::{ONE_DOLLAR, PRICE, model_chat_request, priced_model, tracked_cost};
use crate::support::{Customer, MOCK_DELAY, TestService};

/// In how many transactions the newest version of these rows was written.
async fn count_transactions(service: &TestService, customer: &Customer, cargo: &str) -> i64 {
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

/// The version of the account's row. It changes with every write.
async fn account_version(service: &TestService, customer: &Customer) -> String {
    let statement = "select xmin::text from shard.account where organization = $1";
    sqlx::query_scalar(statement)
        .bind(customer.organization.uuid())
        .fetch_one(&service.north.pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_load_places_a_hold_and_its_outcome_charges_and_releases_it() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 1.00 held 0.00 postings 1 | 1970-01-01 used 0 reserved 0");

    // 10 bytes, 8 overhead tokens for each of 2 texts, and at most 64 output tokens.
    let cargo = service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    insta::assert_json_snapshot!(tracked_cost(&service, &customer, &cargo).await, @r#"
    {
      "held": 28200,
      "charged": null,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 1.00 held 0.0000282 postings 1 | 2026-01-01 used 0 reserved 90");
    assert_eq!(count_transactions(&service, &customer, &cargo).await, 1);

    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    insta::assert_json_snapshot!(tracked_cost(&service, &customer, &cargo).await, @r#"
    {
      "held": 28200,
      "charged": 1000,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 0.999999 held 0.00 postings 2 | 2026-01-01 used 4 reserved 0");
    assert_eq!(count_transactions(&service, &customer, &cargo).await, 1);
}

#[tokio::test]
async fn failed_cargo_releases_its_hold_and_costs_nothing() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cargo = service
        .load(&customer, &model_chat_request("priced-failing", "No.", 64))
        .await;
    assert!(service.read_account(&customer).await.held > Money::ZERO);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(
        tracked_cost(&service, &customer, &cargo).await["charged"],
        0
    );
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 1.00 held 0.00 postings 1 | 2026-01-01 used 0 reserved 0");
    assert_eq!(count_transactions(&service, &customer, &cargo).await, 1);
}

#[tokio::test]
async fn the_mock_model_holds_nothing_and_touches_no_account() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let before = account_version(&service, &customer).await;
    let cargo = service
        .load(&customer, &model_chat_request("svc-mock", "Free.", 64))
        .await;
    assert_eq!(tracked_cost(&service, &customer, &cargo).await["held"], 0);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(
        tracked_cost(&service, &customer, &cargo).await["charged"],
        0
    );
    assert_eq!(account_version(&service, &customer).await, before);
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 0.00 held 0.00 postings 0 | 1970-01-01 used 0 reserved 0");
}

#[tokio::test]
async fn a_load_beyond_the_credit_is_refused() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, Money(28_199)).await;
    let refused = service
        .post_load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    insta::assert_snapshot!(refused, @r#"
    429 {
      "detail": {
        "error": "insufficient_credits",
        "message": "This load may cost 0.0000282 dollars, but only 0.000028199 dollars of credit are available. Add credit, or lower max_tokens.",
        "required": 28200,
        "available": 28199,
        "currency": "USD",
        "scale": 9
      }
    }
    "#);
    assert!(refused.headers.get("retry-after").is_none());

    service.add_credit(&customer, Money(1)).await;
    service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
}

#[tokio::test]
async fn a_load_beyond_the_months_tokens_is_refused() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    service.set_monthly_tokens(&customer, 100).await;
    service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    let refused = service
        .post_load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    insta::assert_snapshot!(refused, @r#"
    429 {
      "detail": {
        "error": "quota_exceeded",
        "message": "The monthly token quota is used up: 90 of 100 tokens are used or reserved, and this load may need 90. The quota resets at 2026-02-01T00:00:00.000000Z.",
        "monthly_tokens": 100,
        "used_tokens": 90,
        "required_tokens": 90,
        "resets_at": "2026-02-01T00:00:00.000000Z"
      }
    }
    "#);
    assert!(refused.headers.get("retry-after").is_none());
    // A model without a price is still accepted.
    service
        .load(&customer, &model_chat_request("svc-mock", "Hello.", 64))
        .await;
}

#[tokio::test]
async fn fields_model_and_quota_are_checked_before_credit() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.set_monthly_tokens(&customer, 89).await;
    let mut body = model_chat_request("prized", "Hello.", 64);
    let unknown = service.post_load(&customer, &body).await;
    assert_eq!(unknown.body["detail"]["error"], "invalid_model");
    body["params"]["max_tokens"] = json!(0);
    assert_eq!(service.post_load(&customer, &body).await.status, 422);

    let body = model_chat_request("priced", "Hello.", 64);
    let refused = service.post_load(&customer, &body).await;
    assert_eq!(refused.body["detail"]["error"], "quota_exceeded");
    service.set_monthly_tokens(&customer, 90).await;
    let refused = service.post_load(&customer, &body).await;
    assert_eq!(refused.body["detail"]["error"], "insufficient_credits");
}

#[tokio::test]
async fn a_reservation_of_january_settled_in_february_changes_nothing_there() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    service.set_monthly_tokens(&customer, 100).await;
    // The last minute of January.
    let last = Duration::from_mins(31 * 24 * 60 - 1);
    let now = service.clock.advance(last);
    service.worker_sets[0].sweep.step(now).await.unwrap();
    service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 1.00 held 0.0000282 postings 1 | 2026-01-01 used 0 reserved 90");

    // A new month starts without reservations, although January's cargo is still open.
    service.clock.advance(MOCK_DELAY);
    service
        .load(&customer, &model_chat_request("priced", "Hello.", 60))
        .await;
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 1.00 held 0.0000548 postings 1 | 2026-02-01 used 0 reserved 86");
    service.run_until_idle().await;
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 0.999999 held 0.0000266 postings 2 | 2026-02-01 used 0 reserved 86");

    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 0.999998 held 0.00 postings 3 | 2026-02-01 used 4 reserved 0");
}

#[tokio::test]
async fn a_replay_places_no_second_hold() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    // Enough credit for one load.
    service.add_credit(&customer, Money(30_000)).await;
    let body = model_chat_request("priced", "Hello.", 64);
    let first = service
        .post_load_with_key(&customer, "order-7", &body)
        .await;
    let before = service.describe_account(&customer).await;
    let again = service
        .post_load_with_key(&customer, "order-7", &body)
        .await;
    assert_eq!(first.cargo_id(), again.cargo_id());
    assert_eq!(service.describe_account(&customer).await, before);
}

#[tokio::test]
async fn cargo_that_misses_its_deadline_releases_its_hold() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cargo = service
        .load(&customer, &model_chat_request("priced", "Late.", 64))
        .await;
    let deadline = Duration::from_hours(24) + Duration::from_secs(1);
    let now = service.clock.advance(deadline);
    service.worker_sets[0].sweep.step(now).await.unwrap();
    assert_eq!(
        tracked_cost(&service, &customer, &cargo).await["charged"],
        0
    );
    insta::assert_snapshot!(service.describe_account(&customer).await,
        @"posted 1.00 held 0.00 postings 1 | 2026-01-01 used 0 reserved 0");
}

#[tokio::test]
async fn the_hold_of_an_embedding_covers_only_its_input() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let body = json!({"params": {"model": "priced-vectors", "input_text": ["abcd", "efgh"]}});
    let cargo = service.load(&customer, &body).await;
    // 8 bytes, and 8 overhead tokens for each of 2 texts.
    assert_eq!(
        tracked_cost(&service, &customer, &cargo).await["held"],
        2400
    );
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(
        tracked_cost(&service, &customer, &cargo).await["charged"],
        200
    );
}

#[tokio::test]
async fn the_price_stored_with_the_hold_is_charged() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let cargo = service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    let tenfold = Price::flat(
        Money(PRICE.base.input.nanos() * 10),
        Money(PRICE.base.output.nanos() * 10),
    );
    service.add_model(priced_model("priced", ModelKind::Chat, tenfold));
    let dear = service
        .load(&customer, &model_chat_request("priced", "Hello.", 64))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let charged = tracked_cost(&service, &customer, &cargo).await["charged"].take();
    assert_eq!(charged, 1000);
    let charged = tracked_cost(&service, &customer, &dear).await["charged"].take();
    assert_eq!(charged, 10_000);
}

#[tokio::test]
async fn charges_are_folded_into_the_usage() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    for model in ["priced", "priced", "priced-failing", "svc-mock"] {
        service
            .load(&customer, &model_chat_request(model, "Hello.", 64))
            .await;
    }
    let now = service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.worker_sets[0].sweep.step(now).await.unwrap();
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
