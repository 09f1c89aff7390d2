//! Prometheus metrics, on a separate listener that callers cannot reach.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio_util::sync::CancellationToken;

pub mod catalogue;

/// Histogram buckets for durations: from a fast commit to the callback timeout.
const SECONDS_BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Histogram buckets for the verification of a file: large videos take minutes.
const SCAN_BUCKETS: [f64; 14] = [
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0,
];
/// Histogram buckets for the time from a load to its callback: from seconds to the deadline of a
/// cargo, and the retries of its callback.
const CARGO_CALLBACK_BUCKETS: [f64; 16] = [
    1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0,
    57_600.0, 86_400.0, 172_800.0,
];
/// Histogram buckets for batch and group sizes.
const SIZE_BUCKETS: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0];

/// How often histograms are compacted, so that their memory stays bounded between scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Installs the recorder; earlier measurements are lost.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    let handle = builder()?.install_recorder()?;
    catalogue::register();
    Ok(handle)
}

/// A full name wins over a suffix.
fn builder() -> Result<PrometheusBuilder, BuildError> {
    let cargo_callback = Matcher::Full("longshore_cargo_callback_seconds".to_owned());
    let scan = Matcher::Full("longshore_scan_duration_seconds".to_owned());
    PrometheusBuilder::new()
        .set_buckets_for_metric(cargo_callback, &CARGO_CALLBACK_BUCKETS)?
        .set_buckets_for_metric(scan, &SCAN_BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_loads".to_owned()), &SIZE_BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_batch_cargo".to_owned()), &SIZE_BUCKETS)
}

pub fn router(handle: PrometheusHandle) -> Router {
    let page = move || {
        let handle = handle.clone();
        async move {
            (
                [("content-type", "text/plain; version=0.0.4; charset=utf-8")],
                handle.render(),
            )
        }
    };
    // `longshored work` has no other listener for a health check.
    Router::new()
        .route("/metrics", get(page))
        .route("/health", get(|| async { "ok" }))
}

/// Compacts histograms at an interval, until `stop`.
pub async fn run_upkeep(handle: PrometheusHandle, stop: CancellationToken) {
    let mut beat = tokio::time::interval(UPKEEP_INTERVAL);
    loop {
        tokio::select! {
            _ = beat.tick() => handle.run_upkeep(),
            () = stop.cancelled() => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::builder;

    #[test]
    fn long_durations_have_buckets_of_their_own() {
        let recorder = builder().unwrap().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            metrics::histogram!("longshore_cargo_callback_seconds").record(4000.0);
            metrics::histogram!("longshore_scan_duration_seconds").record(200.0);
            metrics::histogram!("longshore_callback_duration_seconds").record(0.2);
        });
        let page = recorder.handle().render();
        for line in [
            r#"longshore_cargo_callback_seconds_bucket{le="3600"} 0"#,
            r#"longshore_cargo_callback_seconds_bucket{le="86400"} 1"#,
            r#"longshore_scan_duration_seconds_bucket{le="180"} 0"#,
            r#"longshore_scan_duration_seconds_bucket{le="600"} 1"#,
            r#"longshore_callback_duration_seconds_bucket{le="0.25"} 1"#,
        ] {
            assert!(page.lines().any(|it| it == line), "{line} is not in {page}");
        }
    }
}
