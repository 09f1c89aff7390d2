//! What a collector gets, and what happens when it does not answer well.

use domain::span::{SpanKind, SpanTimes};
use domain::time::Timestamp;
use domain::trace_context::{SpanId, TraceContext, TraceId};
use serde_json::{Value, json};
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};

use super::*;

fn options(receiver: &ScriptedReceiver) -> SpanExportOptions {
    SpanExportOptions {
        endpoint: receiver.url().parse().unwrap(),
        headers: vec![(
            HeaderName::from_static("x-collector-key"),
            HeaderValue::from_static("secret"),
        )],
        ratio: SampleRatio::parse("1").unwrap(),
        flush_interval: Duration::ZERO,
        instance: "test".to_owned(),
    }
}

fn context(span: u64) -> TraceContext {
    TraceContext::sampled(TraceId::from_entropy(0xa), SpanId::from_entropy(span))
}

fn span(id: u64) -> Span {
    let times = SpanTimes {
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Timestamp::from_timestamp_micros(1_500_000).unwrap(),
    };
    Span::new(context(id), "deliver", SpanKind::Client, times)
        .with_parent(Some(SpanId::from_entropy(1)))
        .with_text("longshore.cargo.id", "crg_1")
        .with_number("longshore.attempt", 2)
        .with_links([context(7)])
        .with_error(Some("503".to_owned()))
}

/// Exports spans until everything queued is sent, and returns the bodies that arrived.
async fn export(receiver: &ScriptedReceiver, spans: Vec<Span>) -> Vec<Value> {
    let (tracer, exporter) = open(options(receiver), RootCertStore::empty()).unwrap();
    tracer.record(spans);
    exporter.run(std::future::ready(())).await;
    let requests = receiver.received();
    let bodies = requests.iter().map(|it| serde_json::from_slice(&it.body));
    bodies.map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_span_arrives_as_the_specification_says() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "{}")]).await;
    let bodies = export(&receiver, vec![span(2)]).await;
    let requests = receiver.received();
    assert_eq!(requests[0].header("content-type"), Some("application/json"));
    assert_eq!(requests[0].header("x-collector-key"), Some("secret"));
    let scope = &bodies[0]["resourceSpans"][0];
    let service = &scope["resource"]["attributes"][0];
    let expected = json!({"key": "service.name", "value": {"stringValue": "longshore"}});
    assert_eq!(service, &expected);
    let expected = json!({
        "traceId": "0000000000000000000000000000000a",
        "spanId": "0000000000000002",
        "parentSpanId": "0000000000000001",
        "name": "deliver",
        "kind": 3,
        "startTimeUnixNano": "0",
        "endTimeUnixNano": "1500000000",
        "attributes": [
            {"key": "longshore.cargo.id", "value": {"stringValue": "crg_1"}},
            {"key": "longshore.attempt", "value": {"intValue": "2"}},
        ],
        "links": [{
            "traceId": "0000000000000000000000000000000a",
            "spanId": "0000000000000007",
        }],
        "status": {"code": 2, "message": "503"},
    });
    assert_eq!(scope["scopeSpans"][0]["spans"], json!([expected]));
}

#[tokio::test]
async fn many_spans_are_sent_in_groups() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "{}")]).await;
    let spans = (1..=513).map(span).collect();
    let bodies = export(&receiver, spans).await;
    let count = |body: &Value| {
        let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.as_array().map_or(0, Vec::len)
    };
    let counts: Vec<usize> = bodies.iter().map(count).collect();
    assert_eq!(counts, [MAX_SPANS_PER_EXPORT, 1]);
}

#[tokio::test]
async fn a_full_queue_drops_spans_and_nothing_waits() {
    let receiver = ScriptedReceiver::start([plain_reply(200, "{}")]).await;
    let (tracer, exporter) = open(options(&receiver), RootCertStore::empty()).unwrap();
    tracer.record((0..=16_384).map(span));
    assert_eq!(exporter.queue.len(), MAX_QUEUED_SPANS);
}

#[test]
fn only_failures_that_may_pass_are_retried() {
    let status = |code| ExportFailure::Status(StatusCode::from_u16(code).unwrap());
    assert!(
        [429, 502, 503, 504]
            .into_iter()
            .all(|it| status(it).is_retryable())
    );
    assert!(
        ![400, 401, 404, 500]
            .into_iter()
            .any(|it| status(it).is_retryable())
    );
    let lost = ExportFailure::Exchange(HttpFailure::ResponseCut);
    assert!(lost.is_retryable());
}

#[test]
fn a_collector_may_reject_some_spans() {
    let rejected = |body: &str| read_rejected_spans(body.as_bytes());
    assert_eq!(rejected(r#"{"partialSuccess":{"rejectedSpans":"3"}}"#), 3);
    assert_eq!(rejected(r#"{"partialSuccess":{"rejectedSpans":3}}"#), 3);
    assert_eq!(rejected(r#"{"partialSuccess":{}}"#), 0);
    assert_eq!(rejected("{}"), 0);
    assert_eq!(rejected(""), 0);
}
