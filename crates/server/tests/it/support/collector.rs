//! A collector of spans inside the test, and a service that exports to it.

use std::time::Duration;

use api::{App, AppDependencies};
use domain::trace_context::SampleRatio;
use outbound::otlp::{self, SpanExportOptions, Tracer};
use outbound::tls::native_roots;
use serde::Deserialize;
use serde_json::Value;
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use workers::{WorkerSet, WorkerSetDeps};

use crate::support::{TestService, app_dependencies};

pub(crate) struct TestCollector {
    receiver: ScriptedReceiver,
    tracer: Tracer,
    exporter: JoinHandle<()>,
    stop: CancellationToken,
}

/// What arrived at the collector.
pub(crate) struct CollectedSpans {
    pub(crate) spans: Vec<CollectedSpan>,
    /// The bodies as they arrived.
    pub(crate) bodies: Vec<String>,
}

/// A span by the names of the OTLP specification.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CollectedSpan {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    #[serde(default)]
    pub(crate) parent_span_id: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: u8,
    pub(crate) start_time_unix_nano: String,
    pub(crate) end_time_unix_nano: String,
    pub(crate) attributes: Vec<Value>,
    #[serde(default)]
    pub(crate) links: Vec<CollectedLink>,
    #[serde(default)]
    pub(crate) dropped_links_count: u32,
    #[serde(default)]
    pub(crate) status: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CollectedLink {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
}

impl TestCollector {
    /// Traces this share of the loads whose callers do not decide.
    pub(crate) async fn start(ratio: &str) -> Self {
        let receiver = ScriptedReceiver::start([plain_reply(200, "{}")]).await;
        let options = SpanExportOptions {
            endpoint: receiver.url().parse().unwrap(),
            headers: Vec::new(),
            ratio: SampleRatio::parse(ratio).unwrap(),
            flush_interval: Duration::ZERO,
            instance: "test".to_owned(),
        };
        let (tracer, exporter) = otlp::open(options, native_roots()).unwrap();
        let stop = CancellationToken::new();
        let exporter = tokio::spawn(exporter.run(stop.clone().cancelled_owned()));
        Self {
            receiver,
            tracer,
            exporter,
            stop,
        }
    }

    pub(crate) fn tracer(&self) -> Tracer {
        self.tracer.clone()
    }

    /// Stops the exporter, which first exports what is queued.
    pub(crate) async fn finish(self) -> CollectedSpans {
        self.stop.cancel();
        self.exporter.await.unwrap();
        let received = self.receiver.received().into_iter();
        let bodies = received.map(|request| String::from_utf8(request.body).unwrap());
        let bodies: Vec<String> = bodies.collect();
        let spans = bodies.iter().flat_map(|body| {
            let body: Value = serde_json::from_str(body).unwrap();
            let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
            serde_json::from_value::<Vec<CollectedSpan>>(spans).unwrap()
        });
        CollectedSpans {
            spans: spans.collect(),
            bodies,
        }
    }
}

impl CollectedSpans {
    /// The names of all spans, sorted.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.spans.iter().map(|span| span.name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// The spans with this name, by their start.
    pub(crate) fn all(&self, name: &str) -> Vec<&CollectedSpan> {
        let named = self.spans.iter().filter(|span| span.name == name);
        let mut named: Vec<&CollectedSpan> = named.collect();
        named.sort_by_key(|span| span.start_time_unix_nano.parse::<u64>().unwrap());
        named
    }

    /// The only span with this name.
    pub(crate) fn one(&self, name: &str) -> &CollectedSpan {
        let named = self.all(name);
        assert_eq!(named.len(), 1, "{name}");
        named[0]
    }
}

impl CollectedSpan {
    pub(crate) fn as_link(&self) -> CollectedLink {
        CollectedLink {
            trace_id: self.trace_id.clone(),
            span_id: self.span_id.clone(),
        }
    }

    /// The text or number of an attribute, as JSON; null if there is none.
    pub(crate) fn attribute(&self, name: &str) -> Value {
        let found = self.attributes.iter().find(|it| it["key"] == name);
        let value = found.map(|it| it["value"].clone()).unwrap_or_default();
        let value = value.as_object().and_then(|value| value.values().next());
        value.cloned().unwrap_or_default()
    }
}

impl TestService {
    /// Replaces the API and the workers by processes that export spans.
    pub(crate) async fn export_spans_to(&mut self, collector: &TestCollector) {
        let tracer = Some(collector.tracer());
        let (shards, served) = (self.shards(), self.catalogue.subscribe());
        let deps = app_dependencies(&self.control, &shards, served, &self.clock, &self.limits);
        let app = App::new(AppDependencies {
            tracer: tracer.clone(),
            ..deps
        });
        app.spawn(&TaskTracker::new(), &self.stop);
        app.refresh_keys().await;
        self.router = api::router(app.clone());
        self.app = app;
        self.worker_deps.tracer = tracer;
        for workers in std::mem::take(&mut self.worker_sets) {
            workers.leave().await.unwrap();
        }
        for shard in shards {
            let mut deps = WorkerSetDeps {
                shard,
                ..self.worker_deps.clone()
            };
            deps.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
            self.worker_sets.push(WorkerSet::join(deps).await.unwrap());
        }
    }
}
