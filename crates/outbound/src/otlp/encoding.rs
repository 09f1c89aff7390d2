//! The JSON encoding of OTLP: ids in hex, 64-bit numbers as text, enums as numbers.

use domain::span::{Span, SpanAttribute, SpanAttributeValue, SpanKind};
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use serde::{Deserialize, Serialize};

const SERVICE_NAME: &str = "longshore";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// `STATUS_CODE_ERROR`.
const ERROR_STATUS: u8 = 2;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonExport<'a> {
    resource_spans: [JsonResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonResourceSpans<'a> {
    resource: JsonResource<'a>,
    scope_spans: [JsonScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct JsonResource<'a> {
    attributes: [JsonAttribute<'a>; 3],
}

#[derive(Serialize)]
struct JsonScopeSpans<'a> {
    scope: JsonScope,
    spans: Vec<JsonSpan<'a>>,
}

#[derive(Serialize)]
struct JsonScope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonSpan<'a> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: &'static str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<JsonAttribute<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<JsonLink>,
    #[serde(skip_serializing_if = "is_zero")]
    dropped_links_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<JsonStatus<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonLink {
    trace_id: String,
    span_id: String,
}

#[derive(Serialize)]
struct JsonStatus<'a> {
    code: u8,
    message: &'a str,
}

#[derive(Serialize)]
struct JsonAttribute<'a> {
    key: &'a str,
    value: JsonValue<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum JsonValue<'a> {
    StringValue(&'a str),
    IntValue(String),
}

pub(super) fn encode_spans(spans: &[Span], instance: &str) -> Result<Vec<u8>, serde_json::Error> {
    let text = |key, value| JsonAttribute {
        key,
        value: JsonValue::StringValue(value),
    };
    serde_json::to_vec(&JsonExport {
        resource_spans: [JsonResourceSpans {
            resource: JsonResource {
                attributes: [
                    text("service.name", SERVICE_NAME),
                    text("service.version", VERSION),
                    text("service.instance.id", instance),
                ],
            },
            scope_spans: [JsonScopeSpans {
                scope: JsonScope {
                    name: SERVICE_NAME,
                    version: VERSION,
                },
                spans: spans.iter().map(encode_span).collect(),
            }],
        }],
    })
}

fn encode_span(span: &Span) -> JsonSpan<'_> {
    JsonSpan {
        trace_id: span.trace.to_string(),
        span_id: span.id.to_string(),
        parent_span_id: span.parent.map(|parent| parent.to_string()),
        name: span.name,
        kind: match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
        start_time_unix_nano: to_nanos(span.started_at),
        end_time_unix_nano: to_nanos(span.ended_at),
        attributes: span.attributes.iter().map(encode_attribute).collect(),
        links: span.links.iter().map(encode_link).collect(),
        dropped_links_count: span.dropped_links,
        status: span.error.as_deref().map(|message| JsonStatus {
            code: ERROR_STATUS,
            message,
        }),
    }
}

fn encode_attribute(attribute: &SpanAttribute) -> JsonAttribute<'_> {
    JsonAttribute {
        key: attribute.name,
        value: match &attribute.value {
            SpanAttributeValue::Text(text) => JsonValue::StringValue(text),
            SpanAttributeValue::Number(number) => JsonValue::IntValue(number.to_string()),
        },
    }
}

fn encode_link(link: &TraceContext) -> JsonLink {
    JsonLink {
        trace_id: link.trace.to_string(),
        span_id: link.span.to_string(),
    }
}

/// Unix time, as text.
fn to_nanos(moment: Timestamp) -> String {
    let nanos = i128::from(moment.timestamp_micros().max(0)) * 1000;
    nanos.to_string()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonExportResponse {
    partial_success: Option<JsonPartialSuccess>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonPartialSuccess {
    rejected_spans: Option<serde_json::Value>,
}

/// How many spans the collector did not take. Some write the number as text, some as a number.
pub(super) fn read_rejected_spans(body: &[u8]) -> usize {
    let response: Option<JsonExportResponse> = serde_json::from_slice(body).ok();
    let rejected = response.and_then(|it| it.partial_success?.rejected_spans);
    let count = match rejected {
        Some(serde_json::Value::String(text)) => text.parse().ok(),
        Some(serde_json::Value::Number(number)) => number.as_u64(),
        Some(_) | None => None,
    };
    usize::try_from(count.unwrap_or_default()).unwrap_or_default()
}
