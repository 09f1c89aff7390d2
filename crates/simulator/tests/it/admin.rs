//! The administration over HTTP does what the one in the process does.

use std::time::Duration;

use serde_json::{Value, json};
use simulator::{Fault, FaultName, Options, Pace, Provider, Simulator};

use crate::support::{KEY, Stage};

/// A call to the administration.
async fn admin(stage: &Stage, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let url = format!("http://{}/admin/{path}", stage.simulator.address());
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let seen = stage.send(method, &url, &[], body).await.unwrap();
    (seen.status, seen.json())
}

#[tokio::test]
async fn the_clock_is_moved_over_http() {
    let stage = Stage::of(Provider::OpenAi).await;
    let before = stage.simulator.now();
    let (status, body) = admin(&stage, "PUT", "clock", &json!({"advance_ms": 1500})).await;
    assert_eq!(status, 200);
    assert_eq!((stage.simulator.now() - before).num_milliseconds(), 1500);
    assert_eq!(body["now"], json!(stage.simulator.now()));
    assert_eq!(
        admin(&stage, "PUT", "clock", &json!({"advance": 1}))
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn faults_are_set_added_and_cleared_over_http() {
    let stage = Stage::of(Provider::OpenAi).await;
    let path = format!("openai/{KEY}/faults");
    let faults = json!([{"name": "create_500_after", "times": 1}]);
    assert_eq!(admin(&stage, "PUT", &path, &faults).await, (200, faults));
    assert_eq!(
        stage.simulator.faults(Provider::OpenAi, KEY),
        [Fault::once(FaultName::Create500After)]
    );
    admin(&stage, "POST", &path, &json!([{"name": "stuck"}])).await;
    assert_eq!(stage.simulator.faults(Provider::OpenAi, KEY).len(), 2);
    assert_eq!(
        admin(&stage, "DELETE", &path, &Value::Null).await,
        (200, json!([]))
    );
    let (status, body) = admin(&stage, "PUT", &path, &json!([{"name": "nothing"}])).await;
    assert_eq!(status, 400);
    assert!(body["error"].as_str().unwrap().contains("nothing"));
    assert_eq!(
        admin(&stage, "PUT", "nobody/x/faults", &json!([])).await.0,
        404
    );
}

#[tokio::test]
async fn pace_is_set_and_records_are_read_over_http() {
    let stage = Stage::of(Provider::OpenAi).await;
    let pace = json!({"running_ms": 60000});
    assert_eq!(
        admin(&stage, "PUT", &format!("openai/{KEY}/pace"), &pace)
            .await
            .0,
        200
    );
    let expected = Pace {
        running_ms: 60_000,
        ..Pace::default()
    };
    assert_eq!(stage.simulator.pace(Provider::OpenAi, KEY), expected);
    let id = stage.batch(&["x", "y"]).await;
    stage.finish();
    let (_, submissions) = admin(
        &stage,
        "GET",
        &format!("openai/{KEY}/submissions"),
        &Value::Null,
    )
    .await;
    assert_eq!(
        submissions,
        json!(stage.simulator.submissions(Provider::OpenAi, KEY))
    );
    assert_eq!(submissions[0]["label"], "sub-1");
    let (_, jobs) = admin(&stage, "GET", &format!("openai/{KEY}/jobs"), &Value::Null).await;
    assert_eq!(
        (&jobs[0]["id"], &jobs[0]["state"]),
        (&json!(id), &json!("running"))
    );
    stage
        .post(
            "/v1/chat/completions",
            &json!({"model": "m", "messages": [{"role": "user", "content": "x"}]}),
        )
        .await
        .ok();
    let (_, calls) = admin(&stage, "GET", &format!("openai/{KEY}/calls"), &Value::Null).await;
    assert_eq!(calls[0]["path"], "/v1/chat/completions");
}

#[tokio::test]
async fn an_account_is_named_by_its_credential_whatever_its_letters() {
    let mut stage = Stage::of(Provider::OpenAi).await;
    stage.key = "key/with spaces".to_owned();
    admin(
        &stage,
        "PUT",
        "openai/key%2Fwith%20spaces/faults",
        &json!([{"name": "unauthorized"}]),
    )
    .await;
    assert_eq!(stage.get("/v1/batches").await.status, 401);
}

#[tokio::test]
async fn a_stopped_simulator_hears_nobody() {
    let stage = Stage::of(Provider::OpenAi).await;
    let address = stage.simulator.address();
    assert_eq!(stage.get("/v1/batches").await.status, 200);
    stage.simulator.stop().await;
    std::net::TcpStream::connect(address).expect_err("nobody listens");
}

#[tokio::test]
async fn a_clock_that_goes_with_the_host_can_be_moved_ahead() {
    let simulator = Simulator::start(Options::default()).await.unwrap();
    let before = simulator.now();
    simulator.advance(Duration::from_hours(2));
    let ahead = (simulator.now() - before).num_minutes();
    assert!((120..125).contains(&ahead), "{ahead}");
}

#[tokio::test]
async fn a_forgotten_account_begins_anew() {
    let stage = Stage::of(Provider::OpenAi).await;
    let id = stage.batch(&["x"]).await;
    assert_eq!(
        admin(&stage, "DELETE", &format!("openai/{KEY}"), &Value::Null)
            .await
            .0,
        200
    );
    assert_eq!(stage.get(&format!("/v1/batches/{id}")).await.status, 404);
    assert!(
        stage
            .simulator
            .submissions(Provider::OpenAi, KEY)
            .is_empty()
    );
}
