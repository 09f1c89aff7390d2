//! `SVC_ENVIRONMENT=production`, as a process: plain http callbacks are refused, and so is a database
//! that can lose what it acknowledged; the rest works.

use serde_json::Value;

use crate::support::http::chat_request;
use crate::support::server_process::{ServerProcess, run_refused};

#[tokio::test]
async fn production_refuses_plain_http_callbacks_and_accepts_https() {
    let settings = vec![
        ("SVC_ENVIRONMENT", "production".to_owned()),
        ("SVC_MOCK_DELAY_SECONDS", "0".to_owned()),
    ];
    let program = ServerProcess::start(settings).await;
    let load = async |callback_url: Option<&'static str>| {
        let body = chat_request("Hello.", callback_url);
        program.request("POST", "/cargo/load", &body).await
    };
    let (status, refused) = load(Some("http://longshore.example/callback")).await;
    insta::assert_snapshot!(format!("{status} {refused}"), @r#"422 {"detail":[{"type":"value_error","loc":["body","callback_url"],"msg":"callback_url must use https"}]}"#);
    let (status, accepted) = load(Some("https://longshore.example/callback")).await;
    assert_eq!(status, 202, "{accepted}");
    let (status, polled) = load(None).await;
    assert_eq!(status, 202, "{polled}");
    let path = format!("/cargo/{}/tracking", polled["cargo_id"].as_str().unwrap());
    let is_completed = |record: &Value| record["status"] == "COMPLETED";
    program.wait_for(&path, is_completed).await;
    program.kill().await;
}

#[tokio::test]
async fn production_does_not_start_on_a_server_that_can_lose_accepted_cargo() {
    let lossy = "?options=-csynchronous_commit=off";
    for role in ["serve", "work"] {
        let refused = run_refused(role, lossy, Vec::new()).await;
        let why = "can lose what was accepted: synchronous_commit: off: a server crash loses";
        assert!(refused.contains(why), "{refused}");
        let replicated = ("SVC_DURABILITY", "replicated".to_owned());
        let refused = run_refused(role, "", vec![replicated]).await;
        assert!(refused.contains("can lose what was accepted"), "{refused}");
    }
}
