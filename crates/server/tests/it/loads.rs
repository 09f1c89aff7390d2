//! `POST /cargo/load` and the record that tracking shows at once.

use std::pin::pin;

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use store::shard::recovery;

use crate::support::TestService;
use crate::support::http::{chat_request, send, with_body};

#[tokio::test]
async fn a_load_is_acknowledged() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let answer = service
        .post_load(&customer, &chat_request("Hello.", None))
        .await;
    assert!(answer.cargo_id().starts_with("crg_"));
    insta::with_settings!({filters => vec![("crg_[0-9a-f]{32}", "[cargo]")]}, {
        insta::assert_snapshot!(answer, @r#"
        202 {
          "cargo_id": "[cargo]",
          "status": "success",
          "message": "Cargo loaded."
        }
        "#);
    });
}

/// A process of a restored database probes its shards before it takes requests.
#[tokio::test]
async fn a_process_that_starts_while_its_shard_is_paused_takes_no_load() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let (shard, now) = (&service.north, service.now());
    let paused = recovery::pause(shard, "restored", None, None, now).await;
    assert!(paused.unwrap());
    let app = service.create_another_app();
    app.probe_shards().await;
    let request = Request::post("/cargo/load").header("X-API-Key", &customer.key);
    let body = Body::from(chat_request("Hello.", None).to_string());
    let answer = send(api::router(app), request.body(body).unwrap()).await;
    assert_eq!(answer.status, 503, "{}", answer.body);
}

#[tokio::test]
async fn a_new_record_has_every_field() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", Some("http://127.0.0.1:9/callback"));
    body["metadata"] = json!({"order": 7, "tags": ["a\u{0}b"]});
    let cargo = service.load(&customer, &body).await;
    let record = service.track(&customer, &cargo).await;
    insta::assert_json_snapshot!(record, {".cargo_id" => "[cargo]"}, @r#"
    {
      "cargo_id": "[cargo]",
      "status": "PENDING",
      "model": "svc-mock",
      "kind": "chat",
      "attempt": 1,
      "created_at": "2026-01-01T00:00:00.000000Z",
      "batched_at": null,
      "processing_at": null,
      "completed_at": null,
      "deadline_at": "2026-01-02T00:00:00.000000Z",
      "success": null,
      "response": null,
      "error": null,
      "error_code": null,
      "usage": null,
      "cost": {
        "held": 0,
        "charged": null,
        "realtime": null,
        "saved": null,
        "currency": "USD",
        "scale": 9
      },
      "callback": {
        "url": "http://127.0.0.1:9/callback",
        "attempts": 0,
        "last_attempt_at": null,
        "last_status_code": null,
        "last_error": null,
        "next_attempt_at": null,
        "delivered_at": null
      },
      "waiting": {
        "code": "waiting_for_batch",
        "reason": "waiting to be gathered into a batch",
        "since": "2026-01-01T00:00:00.000000Z",
        "expected_at": null
      },
      "metadata": {
        "order": 7,
        "tags": [
          "a\u0000b"
        ]
      },
      "erased_at": null
    }
    "#);
}

#[tokio::test]
async fn an_unknown_model_is_refused_with_the_list() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["params"]["model"] = json!("SVC-MOCK");
    insta::assert_snapshot!(service.post_load(&customer, &body).await, @r#"
    400 {
      "detail": {
        "error": "invalid_model",
        "message": "No such model. Model ids are case-sensitive. Did you mean `svc-mock`?",
        "supported_models": [
          "failing",
          "small",
          "svc-mock",
          "vectors",
          "vision"
        ]
      }
    }
    "#);
}

#[tokio::test]
async fn more_than_the_model_takes_is_refused_at_its_fields() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request(&"fathom ".repeat(200), None);
    body["params"]["model"] = json!("small");
    body["params"]["max_tokens"] = json!(51);
    insta::assert_snapshot!(service.post_load(&customer, &body).await, @r#"
    422 {
      "detail": [
        {
          "type": "value_error",
          "loc": [
            "body",
            "params",
            "max_tokens"
          ],
          "msg": "max_tokens must be at most 50 for this model"
        },
        {
          "type": "value_error",
          "loc": [
            "body",
            "params",
            "messages"
          ],
          "msg": "The input exceeds the model's context window of 100 tokens"
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn a_chat_without_max_tokens_is_refused_in_the_contracts_words() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let body =
        json!({"params": {"model": "svc-mock", "messages": [{"role": "user", "content": "x"}]}});
    insta::assert_snapshot!(service.post_load(&customer, &body).await, @r#"
    422 {
      "detail": [
        {
          "type": "value_error",
          "loc": [
            "body",
            "params"
          ],
          "msg": "max_tokens is required for chat requests"
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn an_embedding_model_takes_no_messages() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut body = chat_request("Hello.", None);
    body["params"]["model"] = json!("vectors");
    insta::assert_snapshot!(service.post_load(&customer, &body).await, @r#"
    422 {
      "detail": [
        {
          "type": "value_error",
          "loc": [
            "body",
            "params",
            "messages"
          ],
          "msg": "This is an embedding model: send input_text, not messages"
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn a_missing_capability_and_a_missing_file_have_different_errors() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let file = format!("file_{}", "0".repeat(32));
    let image = json!([{"type": "image", "source": {"file_id": file}}]);
    let mut body = chat_request("", None);
    body["params"]["messages"][0]["content"] = image;
    insta::assert_snapshot!(service.post_load(&customer, &body).await, @r#"
    422 {
      "detail": {
        "error": "model_capability_missing",
        "message": "The model cannot read this file: it has no vision capability. Choose another model.",
        "capability": "vision"
      }
    }
    "#);
    body["params"]["model"] = json!("vision");
    insta::assert_snapshot!(service.post_load(&customer, &body).await, @r#"
    422 {
      "detail": {
        "error": "file_not_found",
        "message": "There is no such file in this project.",
        "file_id": "file_00000000000000000000000000000000"
      }
    }
    "#);
}

#[tokio::test]
async fn many_loads_at_once_are_each_their_own_cargo() {
    let service = TestService::with_second_shard().await;
    let (one, other) = (
        service.create_customer().await,
        service.create_customer_on("south").await,
    );
    let body = chat_request("Together.", None);
    let loads = (0..200).map(|n| service.load(if n % 2 == 0 { &one } else { &other }, &body));
    let mut ids = futures::future::join_all(loads).await;
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 200);
}

#[tokio::test]
async fn a_load_that_waits_for_a_lock_does_not_delay_the_loads_of_others() {
    let service = TestService::new().await;
    let (one, other) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let request = Request::post("/groups").header("X-API-Key", &one.key);
    let group = service.send(with_body(request, "{}".to_owned())).await;
    let mut locking = service.north.begin().await.unwrap();
    sqlx::raw_sql("select from shard.cargo_group for update")
        .execute(&mut *locking)
        .await
        .unwrap();
    let mut body = chat_request("Wait.", None);
    body["group_id"] = group.body["group_id"].clone();
    let mut waiting = pin!(service.load(&one, &body));
    tokio::select! {
        cargo = &mut waiting => panic!("{cargo} was stored while its group was locked"),
        () = wait_for_lock(&service) => {}
    }
    let body = chat_request("Go on.", None);
    // Loads of one organization are stored in the order in which they arrive.
    let mut next = pin!(service.load(&one, &body));
    tokio::select! {
        biased;
        cargo = &mut waiting => panic!("{cargo} was stored while its group was locked"),
        cargo = &mut next => panic!("{cargo} was stored before the load in front of it"),
        _ = service.load(&other, &body) => {}
    }
    locking.rollback().await.unwrap();
    tokio::join!(waiting, next);
}

/// Waits until a transaction waits for the lock of another one.
async fn wait_for_lock(service: &TestService) {
    let waits = "select exists (select from pg_stat_activity
                     where datname = current_database() and wait_event_type = 'Lock')";
    while !sqlx::query_scalar::<_, bool>(waits)
        .fetch_one(&service.north.pool)
        .await
        .unwrap()
    {}
}

#[tokio::test]
async fn ready_names_every_dependency() {
    let service = TestService::with_second_shard().await;
    let request = axum::http::Request::get("/ready")
        .body(axum::body::Body::empty())
        .unwrap();
    let answer = service.send(request).await;
    let names = answer.body["dependencies"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["control", "shard north", "shard south"]);
}
