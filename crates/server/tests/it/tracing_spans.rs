//! One trace of one cargo: from the caller's span to the receiver, also after a crash.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;
use test_support::callback_receiver::CallbackReceiver;
use test_support::environment::optional_path;
use workers::stage::Stage as _;

use crate::support::collector::{CollectedSpan, CollectedSpans, TestCollector};
use crate::support::http::chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};
use crate::takeover::expire_first_lease;

const CALLER_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN: &str = "b7ad6b7169203331";
const PROMPT: &str = "My pet's name is Zanzibar.";

const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const CLIENT: u8 = 3;

/// Loads a cargo as a caller with this `traceparent`.
async fn load_with_trace(
    service: &TestService,
    customer: &Customer,
    body: &Value,
    traceparent: &str,
) -> String {
    let request = Request::post("/cargo/load")
        .header("X-API-Key", &customer.key)
        .header("traceparent", traceparent);
    let request = request.body(Body::from(body.to_string())).unwrap();
    service.send(request).await.cargo_id()
}

fn sampled_caller() -> String {
    format!("00-{CALLER_TRACE}-{CALLER_SPAN}-01")
}

/// The spans of a cargo that belong to its load: they have its trace and are its children.
fn assert_children_of_load(spans: &CollectedSpans, load: &CollectedSpan) {
    for name in ["gather", "outcome", "deliver"] {
        for span in spans.all(name) {
            assert_eq!(span.trace_id, load.trace_id, "{name}");
            assert_eq!(span.parent_span_id.as_ref(), Some(&load.span_id), "{name}");
        }
    }
}

/// The cargo and its batch are linked in both directions.
fn assert_linked_with_batch(spans: &CollectedSpans, load: &CollectedSpan) {
    let (batch, submit) = (spans.one("batch"), spans.one("submit"));
    assert_eq!((batch.kind, submit.kind), (INTERNAL, CLIENT));
    assert_ne!(batch.trace_id, load.trace_id);
    assert_eq!(batch.parent_span_id, None);
    assert_eq!(submit.trace_id, batch.trace_id);
    assert_eq!(submit.parent_span_id.as_ref(), Some(&batch.span_id));
    for span in [batch, submit] {
        assert_eq!(span.links, [load.as_link()]);
        assert_eq!(span.dropped_links_count, 0);
        assert_eq!(span.attribute("longshore.provider.account"), "mock");
    }
    for name in ["gather", "outcome"] {
        let span = spans.one(name);
        assert_eq!((span.kind, &span.links), (INTERNAL, &vec![batch.as_link()]));
        let id = batch.attribute("longshore.batch.id");
        assert_eq!(span.attribute("longshore.batch.id"), id, "{name}");
    }
}

/// For `tools/monitoring/trace_picture.py`: `TRACE_DUMP=FILE ./dev test -p server one_cargo_is`.
fn dump(spans: &CollectedSpans) {
    if let Some(path) = optional_path("TRACE_DUMP") {
        let mut file = std::fs::File::create(path).unwrap();
        for body in &spans.bodies {
            writeln!(file, "{body}").unwrap();
        }
    }
}

#[tokio::test]
async fn one_cargo_is_one_trace_from_the_caller_to_the_receiver() {
    let mut service = Box::pin(TestService::new()).await;
    let collector = TestCollector::start("0").await;
    Box::pin(service.export_spans_to(&collector)).await;
    let receiver = CallbackReceiver::new().await;
    receiver.queue_statuses([500]);
    let customer = service.create_customer().await;
    let body = chat_request(PROMPT, Some(receiver.url()));
    let cargo = load_with_trace(&service, &customer, &body, &sampled_caller()).await;
    service.clock.advance(Duration::from_secs(5));
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.clock.advance(Duration::from_secs(30));
    service.run_until_idle().await;
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );

    let spans = collector.finish().await;
    dump(&spans);
    let expected = [
        "POST /cargo/load",
        "batch",
        "deliver",
        "deliver",
        "gather",
        "outcome",
        "submit",
    ];
    assert_eq!(spans.names(), expected);
    let load = spans.one("POST /cargo/load");
    assert_eq!((load.kind, load.trace_id.as_str()), (SERVER, CALLER_TRACE));
    assert_eq!(load.parent_span_id.as_deref(), Some(CALLER_SPAN));
    assert_eq!(load.attribute("http.response.status_code"), "202");
    assert_children_of_load(&spans, load);
    assert_linked_with_batch(&spans, load);
    assert_eq!(spans.one("outcome").status, None);
    // The receiver continues the span of the attempt that reached it.
    let requests = receiver.requests();
    let attempts = spans.all("deliver");
    for (number, (attempt, request)) in (1..).zip(attempts.iter().zip(&requests)) {
        assert_eq!(attempt.kind, CLIENT);
        assert_eq!(attempt.attribute("longshore.attempt"), number.to_string());
        let sent = format!("00-{CALLER_TRACE}-{}-01", attempt.span_id);
        assert_eq!(request.header("traceparent"), Some(sent.as_str()));
    }
    let statuses = attempts.iter().map(|it| it.status.is_some());
    assert_eq!(statuses.collect::<Vec<_>>(), [true, false]);
    for span in &spans.spans {
        let of_cargo = span.trace_id == CALLER_TRACE;
        let expected = if of_cargo {
            cargo.as_str().into()
        } else {
            Value::Null
        };
        assert_eq!(
            span.attribute("longshore.cargo.id"),
            expected,
            "{}",
            span.name
        );
        let times = [&span.start_time_unix_nano, &span.end_time_unix_nano];
        let [start, end] = times.map(|time| time.parse::<u64>().unwrap());
        assert!(start <= end, "{}", span.name);
    }
    let exported = spans.bodies.concat();
    for secret in ["Zanzibar", customer.key.as_str()] {
        assert!(!exported.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn a_worker_that_takes_over_records_the_whole_path() {
    let mut service = Box::pin(TestService::new()).await;
    let lost = TestCollector::start("1").await;
    Box::pin(service.export_spans_to(&lost)).await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let body = chat_request(PROMPT, Some(receiver.url()));
    let cargo = service.load(&customer, &body).await;
    let now = service.now();
    service.worker_sets[0].gather.step(now).await.unwrap();
    service.worker_sets[0].dispatch.step(now).await.unwrap();
    expire_first_lease(&service).await;
    let lost = lost.finish().await;
    assert_eq!(lost.names(), ["POST /cargo/load"]);

    let collector = TestCollector::start("1").await;
    let mut successor = service
        .join_worker_set_with(|deps| deps.tracer = Some(collector.tracer()))
        .await;
    let now = service.clock.advance(MOCK_DELAY);
    successor.collect.step(now).await.unwrap();
    successor.deliver.run_until_idle(now).await.unwrap();
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
    let spans = collector.finish().await;
    let expected = ["batch", "deliver", "gather", "outcome", "submit"];
    assert_eq!(spans.names(), expected);
    let load = lost.one("POST /cargo/load");
    assert_eq!(load.parent_span_id, None);
    assert_children_of_load(&spans, load);
    assert_linked_with_batch(&spans, load);
}

#[tokio::test]
async fn an_attempt_without_an_outcome_is_a_failed_span() {
    let mut service = Box::pin(TestService::new()).await;
    let collector = TestCollector::start("1").await;
    Box::pin(service.export_spans_to(&collector)).await;
    let customer = service.create_customer().await;
    service.load(&customer, &chat_request(PROMPT, None)).await;
    let now = service.now();
    service.worker_sets[0].gather.step(now).await.unwrap();
    service.worker_sets[0].dispatch.step(now).await.unwrap();
    // Collect does not know the provider any more: the cargo takes another route.
    let mut successor = service
        .join_worker_set_with(|deps| deps.providers = Arc::default())
        .await;
    let now = service.clock.advance(MOCK_DELAY);
    successor.collect.step(now).await.unwrap();

    let spans = collector.finish().await;
    let outcome = spans.one("outcome");
    assert_eq!(outcome.attribute("error.type"), "requeued");
    assert_eq!(outcome.attribute("longshore.attempt"), "1");
    assert_eq!(outcome.status.as_ref().unwrap()["code"], 2);
}

#[tokio::test]
async fn a_caller_that_does_not_sample_is_not_traced() {
    let mut service = Box::pin(TestService::new()).await;
    let collector = TestCollector::start("1").await;
    Box::pin(service.export_spans_to(&collector)).await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let body = chat_request(PROMPT, Some(receiver.url()));
    let unsampled = format!("00-{CALLER_TRACE}-{CALLER_SPAN}-00");
    load_with_trace(&service, &customer, &body, &unsampled).await;
    service
        .load(&customer, &chat_request("Traced.", None))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;

    assert_eq!(receiver.requests()[0].header("traceparent"), None);
    let spans = collector.finish().await;
    assert!(spans.spans.iter().all(|it| it.trace_id != CALLER_TRACE));
    // Both are in the same batch, which links to the traced one only.
    let batch = spans.one("batch");
    assert_eq!(batch.attribute("messaging.batch.message_count"), "2");
    assert_eq!(batch.links, [spans.one("POST /cargo/load").as_link()]);
}

#[tokio::test]
async fn a_refused_load_is_traced_without_a_cargo() {
    let mut service = Box::pin(TestService::new()).await;
    let collector = TestCollector::start("1").await;
    Box::pin(service.export_spans_to(&collector)).await;
    let customer = service.create_customer().await;
    let refused = service.post_load(&customer, &Value::Null).await;
    assert_eq!(refused.status, 422, "{refused}");

    let spans = collector.finish().await;
    let load = spans.one("POST /cargo/load");
    assert_eq!(load.attribute("http.response.status_code"), "422");
    assert_eq!(load.attribute("longshore.cargo.id"), Value::Null);
    assert_eq!(load.status, None);
}

#[tokio::test]
async fn a_request_without_a_valid_key_is_not_traced() {
    let mut service = Box::pin(TestService::new()).await;
    let collector = TestCollector::start("1").await;
    Box::pin(service.export_spans_to(&collector)).await;
    for key in ["", "svc_sk_wrong"] {
        let request = Request::post("/cargo/load")
            .header("X-API-Key", key)
            .header("traceparent", sampled_caller());
        let refused = service.send(request.body(Body::from("{}")).unwrap()).await;
        assert_eq!(refused.status, 401, "{refused}");
    }
    assert_eq!(collector.finish().await.names(), [""; 0]);
}

#[tokio::test]
async fn callers_of_a_project_have_ten_traces_a_second() {
    let mut service = Box::pin(TestService::new()).await;
    let collector = TestCollector::start("0").await;
    Box::pin(service.export_spans_to(&collector)).await;
    let customer = service.create_customer().await;
    let sibling = service.create_sibling_project(&customer).await;
    let body = chat_request(PROMPT, None);
    for _ in 0..15 {
        load_with_trace(&service, &customer, &body, &sampled_caller()).await;
    }
    load_with_trace(&service, &sibling, &body, &sampled_caller()).await;
    service.clock.advance(Duration::from_millis(300));
    for _ in 0..15 {
        load_with_trace(&service, &customer, &body, &sampled_caller()).await;
    }
    let traced = "select count(*) from shard.cargo where trace is not null";
    let traced = sqlx::query_scalar::<_, i64>(traced);
    assert_eq!(traced.fetch_one(&service.north.pool).await.unwrap(), 14);
    assert_eq!(collector.finish().await.names().len(), 14);
}

#[tokio::test]
async fn without_an_endpoint_nothing_is_traced() {
    let mut service = Box::pin(TestService::new()).await;
    let receiver = CallbackReceiver::new().await;
    let customer = service.create_customer().await;
    let body = chat_request(PROMPT, Some(receiver.url()));
    load_with_trace(&service, &customer, &body, &sampled_caller()).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    assert_eq!(receiver.requests()[0].header("traceparent"), None);
    let traced = "select count(*) from shard.cargo where trace is not null";
    let traced = sqlx::query_scalar::<_, i64>(traced);
    assert_eq!(traced.fetch_one(&service.north.pool).await.unwrap(), 0);
}
