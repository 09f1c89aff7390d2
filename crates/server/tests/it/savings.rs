//! What batching saved, from the load to the command that sums it up.

use std::time::Duration;

use domain::model::{Model, Price, Prices};
use domain::money::Money;
use domain::route::Via;
use serde_json::Value;
use simulator::Provider;
use workers::stage::Stage as _;

use crate::ledger::done;
use crate::support::credit::PRICE;
use crate::support::jobs::{Port, model, route};

const STEP: Duration = Duration::from_secs(30);
/// As long as an id, so that columns stay where they are.
const OURS: &str = "org_00000000000000000000000000000000";

/// Twice what a batch costs.
const REALTIME: Price = Price {
    input: Money(200_000_000),
    output: Money(800_000_000),
};

async fn cost(port: &Port, cargo: &str) -> Value {
    port.service.track(&port.customer, cargo).await["cost"].take()
}

/// A port whose first model has a realtime price, and whose others have none.
async fn port() -> Port {
    let port = Port::open().await;
    port.service.sell(Model {
        prices: Some(Prices {
            batch: PRICE,
            realtime: Some(REALTIME),
        }),
        ..model("openai", route("openai", Via::Batch))
    });
    port
}

/// What was printed, with a name for the organization.
fn savings(port: &Port, options: &str) -> String {
    let printed = done(&port.service, &format!("savings{options}"));
    printed.replace(&port.customer.organization.to_string(), OURS)
}

#[tokio::test]
async fn what_a_batch_saves_is_tracked_and_summed_up() {
    let mut port = port().await;
    let callback = "https://callback.example/";
    let good = port.load(Provider::OpenAi, "one crate", callback).await;
    let bad = port
        .load(Provider::OpenAi, "[[fail 400]] two", callback)
        .await;
    let unknown = port.load(Provider::Gemini, "three crates", callback).await;
    insta::assert_json_snapshot!(cost(&port, &good).await, @r#"
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
        port.advance(STEP).await;
    }
    insta::assert_json_snapshot!(cost(&port, &good).await, @r#"
    {
      "held": 28500,
      "charged": 1500,
      "realtime": 3000,
      "saved": 1500,
      "currency": "USD",
      "scale": 9
    }
    "#);
    insta::assert_json_snapshot!(cost(&port, &bad).await, @r#"
    {
      "held": 29200,
      "charged": 0,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);
    insta::assert_json_snapshot!(cost(&port, &unknown).await, @r#"
    {
      "held": 28800,
      "charged": 1500,
      "realtime": null,
      "saved": null,
      "currency": "USD",
      "scale": 9
    }
    "#);

    insta::assert_snapshot!(savings(&port, ""), @"
    ORGANIZATION                          MODEL   CARGO  CHARGED        REALTIME      SAVED          PERCENT
    org_00000000000000000000000000000000  gemini  1      0.0000015 USD  -             -              -
    org_00000000000000000000000000000000  openai  1      0.0000015 USD  0.000003 USD  0.0000015 USD  50.0
    total                                         2      0.000003 USD   0.000003 USD  0.0000015 USD  50.0
    ");
    insta::assert_snapshot!(savings(&port, " --json"), @r#"{"since":null,"currency":"USD","scale":9,"savings":[{"organization_id":"org_00000000000000000000000000000000","model":"gemini","cargo":1,"charged":1500,"realtime":null,"saved":null,"percent":null},{"organization_id":"org_00000000000000000000000000000000","model":"openai","cargo":1,"charged":1500,"realtime":3000,"saved":1500,"percent":"50.0"}],"total":{"cargo":2,"charged":3000,"realtime":3000,"saved":1500,"percent":"50.0"}}"#);
}

#[tokio::test]
async fn savings_of_one_organization_since_a_day() {
    let mut port = port().await;
    port.load(Provider::OpenAi, "one crate", "https://callback.example/")
        .await;
    for _ in 0..10 {
        port.advance(STEP).await;
    }
    let other = port.service.customer().await;
    let of = |id: String| format!(" --organization {id}");
    let ours = savings(&port, &of(port.customer.organization.to_string()));
    assert_eq!(ours, savings(&port, ""));
    assert_eq!(ours, savings(&port, " --since 2026-01-01"));
    assert_eq!(savings(&port, " --since 2026-01-02"), "none\n");
    assert_eq!(
        savings(&port, &of(other.organization.to_string())),
        "none\n"
    );

    // What is folded is counted as before.
    let now = port.service.clock.advance(STEP);
    port.service.crews[0].sweep.step(now).await.unwrap();
    assert_eq!(ours, savings(&port, ""));
}
