//! Runs the exporter of spans, if tracing is on.

use std::time::Duration;

use outbound::otlp::{self, SpanExportOptions, Tracer};
use outbound::tls::{TlsSetupFailure, native_roots};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::databases;
use crate::settings::table::SettingValues;

/// How long spans wait for others before they are exported together.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// How long a shutdown waits until the last spans are exported.
const LAST_EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// The exporter of this process; without an endpoint there is none.
#[derive(Debug)]
pub struct SpanExport {
    tracer: Option<Tracer>,
    exporter_task: TaskTracker,
    stop: CancellationToken,
}

impl SpanExport {
    pub fn start(values: &SettingValues) -> Result<Self, TlsSetupFailure> {
        let (exporter_task, stop) = (TaskTracker::new(), CancellationToken::new());
        let mut tracer = None;
        if let Some(endpoint) = values.tracing_endpoint.clone() {
            let options = SpanExportOptions {
                endpoint,
                headers: values.tracing_headers.0.clone(),
                ratio: values.tracing_sample,
                flush_interval: FLUSH_INTERVAL,
                instance: databases::node_name(),
            };
            let (opened, exporter) = otlp::open(options, native_roots())?;
            exporter_task.spawn(exporter.run(stop.clone().cancelled_owned()));
            tracer = Some(opened);
        }
        exporter_task.close();
        Ok(Self {
            tracer,
            exporter_task,
            stop,
        })
    }

    /// None: tracing is off.
    pub fn tracer(&self) -> Option<Tracer> {
        self.tracer.clone()
    }

    /// Exports what is queued. A collector that does not answer delays the exit by seconds at most.
    pub async fn finish(&self) {
        self.stop.cancel();
        let ended = timeout(LAST_EXPORT_TIMEOUT, self.exporter_task.wait()).await;
        if ended.is_err() {
            tracing::warn!(
                "the last spans were not exported: the collector did not answer in time"
            );
        }
    }
}
