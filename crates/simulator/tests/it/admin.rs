//! The admin API does the same as the control handle.

use std::time::Duration;

use serde_json::{Value, json};
use simulator::{FaultName, Options, SimulatedFault, SimulatedPace, SimulatedProvider, Simulator};

use crate::support::{TEST_KEY, TestSimulator};

async fn call_admin(stage: &TestSimulator, method: &str, path: &str, body: &Value) -> (u16, Value) {
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
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let before = stage.simulator.now();
    let (status, body) = call_admin(&stage, "PUT", "clock", &json!({"advance_ms": 1500})).await;
    assert_eq!(status, 200);
    assert_eq!((stage.simulator.now() - before).num_milliseconds(), 1500);
    assert_eq!(body["now"], json!(stage.simulator.now()));
    assert_eq!(
        call_admin(&stage, "PUT", "clock", &json!({"advance": 1}))
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn faults_are_set_added_and_cleared_over_http() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let path = format!("openai/{TEST_KEY}/faults");
    let faults = json!([{"name": "create_500_after", "times": 1}]);
    assert_eq!(
        call_admin(&stage, "PUT", &path, &faults).await,
        (200, faults)
    );
    assert_eq!(
        stage.simulator.faults(SimulatedProvider::OpenAi, TEST_KEY),
        [SimulatedFault::once(FaultName::Create500After)]
    );
    call_admin(&stage, "POST", &path, &json!([{"name": "stuck"}])).await;
    assert_eq!(
        stage
            .simulator
            .faults(SimulatedProvider::OpenAi, TEST_KEY)
            .len(),
        2
    );
    assert_eq!(
        call_admin(&stage, "DELETE", &path, &Value::Null).await,
        (200, json!([]))
    );
    let (status, body) = call_admin(&stage, "PUT", &path, &json!([{"name": "nothing"}])).await;
    assert_eq!(status, 400);
    assert!(body["error"].as_str().unwrap().contains("nothing"));
    assert_eq!(
        call_admin(&stage, "PUT", "unknown/x/faults", &json!([]))
            .await
            .0,
        404
    );
}

#[tokio::test]
async fn pace_is_set_and_records_are_read_over_http() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let pace = json!({"running_ms": 60000});
    assert_eq!(
        call_admin(&stage, "PUT", &format!("openai/{TEST_KEY}/pace"), &pace)
            .await
            .0,
        200
    );
    let expected = SimulatedPace {
        running_ms: 60_000,
        ..SimulatedPace::default()
    };
    assert_eq!(
        stage.simulator.pace(SimulatedProvider::OpenAi, TEST_KEY),
        expected
    );
    let id = stage.create_batch(&["x", "y"]).await;
    stage.finish_jobs();
    let (_, submissions) = call_admin(
        &stage,
        "GET",
        &format!("openai/{TEST_KEY}/submissions"),
        &Value::Null,
    )
    .await;
    assert_eq!(
        submissions,
        json!(
            stage
                .simulator
                .submissions(SimulatedProvider::OpenAi, TEST_KEY)
        )
    );
    assert_eq!(submissions[0]["label"], "sub-1");
    let (_, jobs) = call_admin(
        &stage,
        "GET",
        &format!("openai/{TEST_KEY}/jobs"),
        &Value::Null,
    )
    .await;
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
        .expect_ok();
    let (_, calls) = call_admin(
        &stage,
        "GET",
        &format!("openai/{TEST_KEY}/calls"),
        &Value::Null,
    )
    .await;
    assert_eq!(calls[0]["path"], "/v1/chat/completions");
}

#[tokio::test]
async fn any_credential_names_an_account() {
    let mut stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    stage.key = "key/with spaces".to_owned();
    call_admin(
        &stage,
        "PUT",
        "openai/key%2Fwith%20spaces/faults",
        &json!([{"name": "unauthorized"}]),
    )
    .await;
    assert_eq!(stage.get("/v1/batches").await.status, 401);
}

#[tokio::test]
async fn a_stopped_simulator_accepts_no_connection() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let address = stage.simulator.address();
    assert_eq!(stage.get("/v1/batches").await.status, 200);
    stage.simulator.stop().await;
    std::net::TcpStream::connect(address).expect_err("the port is closed");
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
async fn a_forgotten_account_starts_empty() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let id = stage.create_batch(&["x"]).await;
    assert_eq!(
        call_admin(
            &stage,
            "DELETE",
            &format!("openai/{TEST_KEY}"),
            &Value::Null
        )
        .await
        .0,
        200
    );
    assert_eq!(stage.get(&format!("/v1/batches/{id}")).await.status, 404);
    assert!(
        stage
            .simulator
            .submissions(SimulatedProvider::OpenAi, TEST_KEY)
            .is_empty()
    );
}
