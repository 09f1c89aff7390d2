//! Batches: wrong files, cancelling, lists, repeats and other endpoints.

use serde_json::{Value, json};

use super::{
    CHAT, call, call_with, create, field, file_part, find, finish_all, id_of, line, lines_of,
    unpack_all, upload,
};
use crate::support::TestService;

#[tokio::test]
async fn a_wrong_line_fails_the_batch_before_anything_is_loaded() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut elsewhere = line("b", "svc-mock");
    elsewhere["url"] = json!("/v1/embeddings");
    let lines = [
        line("a", "svc-mock"),
        elsewhere,
        line("a", "svc-mock"),
        json!(7),
    ];
    let created = create(&service, &customer, &lines).await;
    let id = id_of(&created);
    assert_eq!(created.body["status"], "validating");
    unpack_all(&service).await;
    let failed = find(&service, &customer, &id).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let errors = failed["errors"]["data"].as_array().unwrap();
    let errors: Vec<(&Value, &Value)> =
        errors.iter().map(|it| (&it["line"], &it["code"])).collect();
    let expected = [
        (json!(2), json!("invalid_url")),
        (json!(3), json!("duplicate_custom_id")),
        (json!(4), json!("invalid_json_line")),
    ];
    let expected: Vec<(&Value, &Value)> = expected.iter().map(|(a, b)| (a, b)).collect();
    assert_eq!(errors, expected);
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
    let cancel = call(
        &service,
        &customer,
        "POST",
        &format!("/batches/{id}/cancel"),
    )
    .await;
    assert_eq!(cancel.status, 409);
    assert_eq!(cancel.headers["x-should-retry"], "false");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn a_batch_that_fails_its_checks_is_never_stored_without_its_failure() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    // A process that stops after the first statement leaves nothing: a later statement that writes
    // the failure would be refused here.
    let refuse = "create function refuse() returns trigger language plpgsql
                  as $$ begin raise exception 'refused'; end $$";
    let trigger = "create trigger refuse before update on shard.dropin_batch
                   for each row execute function refuse()";
    for statement in [refuse, trigger] {
        let done = sqlx::query(statement).execute(&service.north.pool).await;
        done.unwrap();
    }
    let created = create(&service, &customer, &[json!(7)]).await;
    assert_eq!(created.body["status"], "validating", "{created}");
    let failed = find(&service, &customer, &id_of(&created)).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let group = id_of(&created).replace("batch_", "grp_");
    let record = service.get(&customer, &format!("/groups/{group}")).await;
    assert_eq!(record.body["status"], "completed", "{record}");
}

#[tokio::test]
async fn an_empty_file_fails() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let created = create(&service, &customer, &[]).await;
    let failed = find(&service, &customer, &id_of(&created)).await;
    assert_eq!(failed["errors"]["data"][0]["code"], "empty_file");
}

#[tokio::test]
async fn a_batch_without_credit_fails_with_one_error() {
    let service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let created = create(&service, &customer, &[line("a", "priced")]).await;
    let failed = find(&service, &customer, &id_of(&created)).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["errors"]["data"][0]["code"], "insufficient_quota");
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
}

#[tokio::test]
async fn a_cancelled_batch_has_a_line_for_every_request() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = ["a", "b", "c"].map(|name| line(name, "svc-mock"));
    let id = id_of(&create(&service, &customer, &lines).await);
    let path = format!("/batches/{id}/cancel");
    let cancelling = call(&service, &customer, "POST", &path).await;
    assert_eq!(cancelling.status, 200, "{cancelling}");
    assert_eq!(cancelling.body["status"], "cancelling");
    assert!(cancelling.body["cancelling_at"].is_i64());
    finish_all(&mut service).await;
    let ended = find(&service, &customer, &id).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert_eq!(ended["output_file_id"], Value::Null);
    let errors = lines_of(&service, &customer, &ended["error_file_id"]).await;
    assert_eq!(errors.len(), 3);
    for error in errors {
        assert_eq!(error["response"], Value::Null);
        assert_eq!(error["error"]["code"], "batch_cancelled");
    }
    let again = call(&service, &customer, "POST", &path).await;
    assert_eq!(again.status, 409, "{again}");
}

#[tokio::test]
async fn lists_have_pages() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        service.clock.advance(std::time::Duration::from_secs(1));
        ids.push(id_of(
            &create(&service, &customer, &[line("a", "svc-mock")]).await,
        ));
    }
    let page = call(&service, &customer, "GET", "/batches?limit=2").await;
    assert_eq!(
        (&page.body["object"], &page.body["has_more"]),
        (&json!("list"), &json!(true))
    );
    assert_eq!(
        (&page.body["first_id"], &page.body["last_id"]),
        (&json!(ids[2]), &json!(ids[1]))
    );
    let path = format!("/batches?limit=2&after={}", ids[1]);
    let page = call(&service, &customer, "GET", &path).await;
    assert_eq!(page.body["data"][0]["id"], json!(ids[0]));
    assert_eq!(page.body["has_more"], false);
}

#[tokio::test]
async fn a_retry_gets_the_batch_of_the_first_request() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = line("a", "svc-mock").to_string();
    let parts = [field("purpose", "batch"), file_part(&lines)];
    let file = id_of(&upload(&service, &customer, &parts).await);
    let body = json!({"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"});
    let retry = [("x-stainless-retry-count", "1")];
    let send = async |headers: &[(&str, &str)]| {
        let answer = call_with(&service, &customer, "POST", "/batches", &body, headers).await;
        id_of(&answer)
    };
    let first = send(&[]).await;
    assert_eq!(send(&retry).await, first);
    // A file may be sent twice.
    assert_ne!(send(&[]).await, first);
}

#[tokio::test]
async fn a_request_says_which_field_is_wrong() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = line("a", "svc-mock").to_string();
    let parts = [field("purpose", "batch"), file_part(&lines)];
    let file = id_of(&upload(&service, &customer, &parts).await);
    let valid = json!({"input_file_id": file, "endpoint": CHAT, "completion_window": "1h"});
    for (name, value) in [
        ("input_file_id", json!(format!("file-{:032x}", 1))),
        ("endpoint", json!("/v1/completions")),
        ("completion_window", json!("25h")),
        ("callback_url", json!("nowhere")),
        ("webhook", json!(1)),
    ] {
        let mut body = valid.clone();
        body[name] = value;
        let refused = call_with(&service, &customer, "POST", "/batches", &body, &[]).await;
        assert_eq!(refused.status, 400, "{refused}");
        assert_eq!(refused.body["error"]["param"], name, "{refused}");
    }
    let accepted = call_with(&service, &customer, "POST", "/batches", &valid, &[]).await;
    let window = |name: &str| accepted.body[name].as_i64().unwrap();
    assert_eq!(window("expires_at") - window("created_at"), 3600);
}

#[tokio::test]
async fn responses_are_answered_in_their_format() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = json!({"custom_id": "a", "method": "POST", "url": "/v1/responses", "body": {
        "model": "svc-mock", "input": "Hello", "instructions": "Be brief.",
    }});
    let lines = lines.to_string();
    let parts = [field("purpose", "batch"), file_part(&lines)];
    let file = id_of(&upload(&service, &customer, &parts).await);
    let body = json!({
        "input_file_id": file, "endpoint": "/v1/responses", "completion_window": "24h",
    });
    let created = call_with(&service, &customer, "POST", "/batches", &body, &[]).await;
    let id = id_of(&created);
    finish_all(&mut service).await;
    let ended = find(&service, &customer, &id).await;
    let output = lines_of(&service, &customer, &ended["output_file_id"]).await;
    let body = &output[0]["response"]["body"];
    assert_eq!(
        (&body["object"], &body["status"]),
        (&json!("response"), &json!("completed"))
    );
    assert_eq!(body["output"][0]["content"][0]["type"], "output_text");
}
