//! Savings of batching: tracked per cargo, summed by the admin command.

use std::time::Duration;

use domain::model::{Model, Prices};
use domain::money::Money;
use domain::price::Price;
use domain::route::{InferenceMode, Route};
use serde_json::Value;
use simulator::SimulatedProvider;
use workers::stage::Stage as _;

use crate::ledger::admin_output;
use crate::support::credit::PRICE;
use crate::support::simulated_providers::{ProviderFixture, routed_model};

const ADVANCE_STEP: Duration = Duration::from_secs(30);
/// As long as an id, so that the columns stay aligned.
const ORGANIZATION_PLACEHOLDER: &str = "org_00000000000000000000000000000000";

/// Twice the batch price.
const REALTIME_PRICE: Price = Price::flat(Money(200_000_000), Money(800_000_000));

async fn tracked_cost(fixture: &ProviderFixture, cargo: &str) -> Value {
    fixture.service.track(&fixture.customer, cargo).await["cost"].take()
}

/// A fixture whose first model has a realtime price. The routes of the two models have no cost of
/// their own.
async fn start_with_realtime_price() -> ProviderFixture {
    let fixture = ProviderFixture::start().await;
    let without_cost = |provider: &str| {
        routed_model(
            provider,
            Route::plain(provider, "theirs", InferenceMode::Batch),
        )
    };
    fixture.service.add_model(without_cost("gemini"));
    fixture.service.add_model(Model {
        prices: Some(Prices {
            batch: PRICE,
            realtime: Some(REALTIME_PRICE),
        }),
        ..without_cost("openai")
    });
    fixture
}

/// The output of the command, with a placeholder for the organization.
fn savings_output(fixture: &ProviderFixture, options: &str) -> String {
    let printed = admin_output(&fixture.service, &format!("savings{options}"));
    printed.replace(
        &fixture.customer.organization.to_string(),
        ORGANIZATION_PLACEHOLDER,
    )
}

#[tokio::test]
async fn savings_are_tracked_and_summed() {
    let mut fixture = start_with_realtime_price().await;
    let callback = "https://callback.example/";
    let good = fixture
        .load(SimulatedProvider::OpenAi, "one crate", callback)
        .await;
    let bad = fixture
        .load(SimulatedProvider::OpenAi, "[[fail 400]] two", callback)
        .await;
    let unknown = fixture
        .load(SimulatedProvider::Gemini, "three crates", callback)
        .await;
    insta::assert_json_snapshot!(tracked_cost(&fixture, &good).await, @r#"
    {
      "held": 28500,
      "charged": null,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);

    for _ in 0..10 {
        fixture.advance(ADVANCE_STEP).await;
    }
    insta::assert_json_snapshot!(tracked_cost(&fixture, &good).await, @r#"
    {
      "held": 28500,
      "charged": 1500,
      "realtime": 3000,
      "saved": 1500,
      "currency": "USD",
      "scale": 9
    }
    "#);
    insta::assert_json_snapshot!(tracked_cost(&fixture, &bad).await, @r#"
    {
      "held": 29200,
      "charged": 0,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);
    insta::assert_json_snapshot!(tracked_cost(&fixture, &unknown).await, @r#"
    {
      "held": 28800,
      "charged": 1500,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);

    // Without a cost of their own, routes cost us what callers pay.
    insta::assert_snapshot!(savings_output(&fixture, ""), @"
    ORGANIZATION                          MODEL   CARGO  CHARGED        REALTIME      SAVED          PERCENT  COST           MARGIN
    org_00000000000000000000000000000000  gemini  1      0.0000015 USD  -             -              -        0.0000015 USD  0.00 USD
    org_00000000000000000000000000000000  openai  1      0.0000015 USD  0.000003 USD  0.0000015 USD  50.0     0.0000015 USD  0.00 USD
    total                                         2      0.000003 USD   0.000003 USD  0.0000015 USD  50.0     0.000003 USD   0.00 USD
    ");
    insta::assert_snapshot!(savings_output(&fixture, " --json"), @r#"{"since":null,"currency":"USD","scale":9,"savings":[{"organization_id":"org_00000000000000000000000000000000","model":"gemini","cargo":1,"charged":1500,"realtime":null,"saved":null,"percent":null,"cost":1500,"margin":0},{"organization_id":"org_00000000000000000000000000000000","model":"openai","cargo":1,"charged":1500,"realtime":3000,"saved":1500,"percent":"50.0","cost":1500,"margin":0}],"total":{"cargo":2,"charged":3000,"realtime":3000,"saved":1500,"percent":"50.0","cost":3000,"margin":0}}"#);
}

#[tokio::test]
async fn savings_of_one_organization_since_a_day() {
    let mut fixture = start_with_realtime_price().await;
    fixture
        .load(
            SimulatedProvider::OpenAi,
            "one crate",
            "https://callback.example/",
        )
        .await;
    for _ in 0..10 {
        fixture.advance(ADVANCE_STEP).await;
    }
    let other = fixture.service.create_customer().await;
    let of = |id: String| format!(" --organization {id}");
    let own = savings_output(&fixture, &of(fixture.customer.organization.to_string()));
    assert_eq!(own, savings_output(&fixture, ""));
    assert_eq!(own, savings_output(&fixture, " --since 2026-01-01"));
    assert_eq!(savings_output(&fixture, " --since 2026-01-02"), "none\n");
    assert_eq!(
        savings_output(&fixture, &of(other.organization.to_string())),
        "none\n"
    );

    // Folding the counts does not change the sums.
    let now = fixture.service.clock.advance(ADVANCE_STEP);
    fixture.service.worker_sets[0]
        .sweep
        .step(now)
        .await
        .unwrap();
    assert_eq!(own, savings_output(&fixture, ""));
}
