//! A finished span of a trace, as data. The exporter encodes it.
//!
//! No attribute may contain a prompt, an answer, a key or the body of a callback.

use crate::time::Timestamp;
use crate::trace_context::{SpanId, TraceContext, TraceId};

/// The limit of the `OpenTelemetry` specification. A span counts the links beyond it.
pub const MAX_LINKS_PER_SPAN: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub name: &'static str,
    pub kind: SpanKind,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub attributes: Vec<SpanAttribute>,
    /// Spans of other traces.
    pub links: Vec<TraceContext>,
    pub dropped_links: usize,
    /// What went wrong: a code, or a text of ours.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    Server,
    Client,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanAttribute {
    pub name: &'static str,
    pub value: SpanAttributeValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanAttributeValue {
    Text(String),
    Number(i64),
}

/// When a span started and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanTimes {
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
}

impl Span {
    pub fn new(
        context: TraceContext,
        name: &'static str,
        kind: SpanKind,
        times: SpanTimes,
    ) -> Self {
        Self {
            trace: context.trace,
            id: context.span,
            parent: None,
            name,
            kind,
            started_at: times.started_at,
            // The times may come from different clocks, and from ids with milliseconds only.
            ended_at: times.ended_at.max(times.started_at),
            attributes: Vec::new(),
            links: Vec::new(),
            dropped_links: 0,
            error: None,
        }
    }

    #[must_use]
    pub fn with_parent(mut self, parent: Option<SpanId>) -> Self {
        self.parent = parent;
        self
    }

    #[must_use]
    pub fn with_text(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = SpanAttributeValue::Text(value.into());
        self.attributes.push(SpanAttribute { name, value });
        self
    }

    #[must_use]
    pub fn with_number(mut self, name: &'static str, value: impl Into<i64>) -> Self {
        let value = SpanAttributeValue::Number(value.into());
        self.attributes.push(SpanAttribute { name, value });
        self
    }

    /// Adds links, up to the limit.
    #[must_use]
    pub fn with_links(mut self, links: impl IntoIterator<Item = TraceContext>) -> Self {
        for link in links {
            if self.links.len() < MAX_LINKS_PER_SPAN {
                self.links.push(link);
            } else {
                self.dropped_links += 1;
            }
        }
        self
    }

    #[must_use]
    pub fn with_error(mut self, error: Option<String>) -> Self {
        self.error = error;
        self
    }
}
