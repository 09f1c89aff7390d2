//! Files and batches in `OpenAI`'s format: what its clients send, and what they expect.

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::support::http::AppResponse;
use crate::support::{Customer, MOCK_DELAY, TestService};

mod batches;
mod deleted_files;
mod files;
mod key_scopes;
mod retention;

const CHAT: &str = "/v1/chat/completions";
const BOUNDARY: &str = "b0undary";

/// A part of a form: its name, and its file name if it is a file.
struct FormPart<'a> {
    name: &'a str,
    filename: Option<&'a str>,
    content: &'a str,
}

const fn field<'a>(name: &'a str, content: &'a str) -> FormPart<'a> {
    FormPart {
        name,
        filename: None,
        content,
    }
}

const fn file_part(content: &str) -> FormPart<'_> {
    FormPart {
        name: "file",
        filename: Some("in.jsonl"),
        content,
    }
}

async fn call(service: &TestService, customer: &Customer, method: &str, path: &str) -> AppResponse {
    call_with(service, customer, method, path, &Value::Null, &[]).await
}

/// As the clients call it: the key is a bearer token.
async fn call_with(
    service: &TestService,
    customer: &Customer,
    method: &str,
    path: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> AppResponse {
    let request = Request::builder()
        .method(method)
        .uri(format!("/openai/v1{path}"))
        .header("authorization", format!("Bearer {}", customer.key))
        .header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let body = if body.is_null() {
        Body::empty()
    } else {
        Body::from(body.to_string())
    };
    service.send(request.body(body).unwrap()).await
}

async fn upload(service: &TestService, customer: &Customer, parts: &[FormPart<'_>]) -> AppResponse {
    let mut form = String::new();
    for part in parts {
        let filename = part.filename.map(|name| format!("; filename=\"{name}\""));
        let part = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"{}\r\n\r\n{}\r\n",
            part.name,
            filename.unwrap_or_default(),
            part.content
        );
        form.push_str(&part);
    }
    form.push_str(&["--", BOUNDARY, "--\r\n"].concat());
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let request = Request::post("/openai/v1/files")
        .header("authorization", format!("Bearer {}", customer.key))
        .header("content-type", content_type);
    service.send(request.body(Body::from(form)).unwrap()).await
}

/// Uploads these lines, and creates a batch of them.
async fn create(service: &TestService, customer: &Customer, lines: &[Value]) -> AppResponse {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let lines = lines.join("\n");
    let parts = [field("purpose", "batch"), file_part(&lines)];
    let file = upload(service, customer, &parts).await;
    let body = json!({
        "input_file_id": id_of(&file), "endpoint": CHAT, "completion_window": "24h",
    });
    call_with(service, customer, "POST", "/batches", &body, &[]).await
}

async fn find(service: &TestService, customer: &Customer, id: &str) -> Value {
    let answer = call(service, customer, "GET", &format!("/batches/{id}")).await;
    assert_eq!(answer.status, 200, "{answer}");
    answer.body
}

/// The content of a file, as it is.
async fn content(service: &TestService, customer: &Customer, id: &str) -> (u16, String) {
    let request = Request::get(format!("/openai/v1/files/{id}/content"))
        .header("authorization", format!("Bearer {}", customer.key));
    let request = request.body(Body::empty()).unwrap();
    let answer = service.router.clone().oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

/// The lines of a file that a batch names.
async fn lines_of(service: &TestService, customer: &Customer, id: &Value) -> Vec<Value> {
    let (status, text) = content(service, customer, id.as_str().unwrap()).await;
    assert_eq!(status, 200, "{text}");
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

async fn unpack_all(service: &TestService) {
    let unpacked = api::unpack_dropins(&service.app).await;
    unpacked.map_err(|error| error.status()).unwrap();
}

async fn finish_all(service: &mut TestService) {
    unpack_all(service).await;
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
}

fn line(custom_id: &str, model: &str) -> Value {
    json!({"custom_id": custom_id, "method": "POST", "url": CHAT, "body": {
        "model": model, "max_tokens": 16, "messages": [{"role": "user", "content": custom_id}],
    }})
}

fn id_of(answer: &AppResponse) -> String {
    assert_eq!(answer.status, 200, "{answer}");
    answer.body["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_batch_goes_from_its_file_to_output_and_error_files() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut unsupported = line("n", "svc-mock");
    unsupported["body"]["n"] = json!(2);
    let lines = [
        line("b", "svc-mock"),
        line("a", "failing"),
        unsupported,
        line("c", "svc-mock"),
    ];
    let created = create(&service, &customer, &lines).await;
    let id = id_of(&created);
    assert!(id.starts_with("batch_"));
    assert_eq!(created.body["status"], "validating");
    assert_eq!(created.body["output_file_id"], Value::Null);
    finish_all(&mut service).await;
    let ended = find(&service, &customer, &id).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let counts = json!({"total": 4, "completed": 2, "failed": 2});
    assert_eq!(ended["request_counts"], counts);
    let output = lines_of(&service, &customer, &ended["output_file_id"]).await;
    let names: Vec<&str> = output
        .iter()
        .filter_map(|it| it["custom_id"].as_str())
        .collect();
    assert_eq!(names, ["b", "c"]);
    let response = &output[0]["response"];
    assert_eq!(
        (&output[0]["error"], &response["status_code"]),
        (&Value::Null, &json!(200))
    );
    assert!(response["request_id"].as_str().unwrap().starts_with("crg_"));
    assert_eq!(response["body"]["object"], "chat.completion");
    assert_eq!(response["body"]["choices"][0]["finish_reason"], "stop");
    let errors = lines_of(&service, &customer, &ended["error_file_id"]).await;
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0]["custom_id"], "a");
    let refused = &errors[1]["response"];
    assert_eq!(refused["status_code"], 400);
    let message = refused["body"]["error"]["message"].as_str().unwrap();
    assert!(message.contains("'n'"), "{message}");
    // The same results in our own words.
    let group = id.replace("batch_", "grp_");
    let record = service.get(&customer, &format!("/groups/{group}")).await;
    assert_eq!(record.body["status"], "completed", "{record}");
    let results = call(
        &service,
        &customer,
        "GET",
        &format!("/files/{}", ended["output_file_id"].as_str().unwrap()),
    )
    .await;
    assert_eq!(results.body["purpose"], "batch_output");
    // Counting them would read every result.
    assert_eq!(results.body["bytes"], 0);
}

#[tokio::test]
async fn errors_have_the_format_of_the_clients() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let without_key = Request::get("/openai/v1/batches")
        .body(Body::empty())
        .unwrap();
    let refused = service.send(without_key).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.body["error"]["code"], "invalid_api_key");
    assert_eq!(refused.body["error"]["type"], "invalid_request_error");
    for (method, path, status) in [
        ("GET", "/batches/batch_1", 404),
        ("GET", "/files/file-1", 404),
        ("GET", "/files/file-1/content", 404),
        ("DELETE", "/files/file-1", 404),
        ("GET", "/models/none", 404),
        ("POST", "/chat/completions", 404),
        ("GET", "/batches?limit=0", 400),
    ] {
        let refused = call(&service, &customer, method, path).await;
        assert_eq!(refused.status, status, "{method} {path}: {refused}");
        let error = &refused.body["error"];
        assert!(
            error["message"].is_string() && error.get("param").is_some(),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn models_are_those_of_the_key() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let models = call(&service, &customer, "GET", "/models").await;
    assert_eq!(models.body["object"], "list");
    let data = models.body["data"].as_array().unwrap();
    assert!(data.iter().any(|model| model["id"] == "svc-mock"));
    let model = call(&service, &customer, "GET", "/models/svc-mock").await;
    assert_eq!(model.body["object"], "model");
}
