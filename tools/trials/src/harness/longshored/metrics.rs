//! Metrics of a `longshored` process.

use std::net::SocketAddr;

use crate::harness::http::load_request;
use crate::harness::{FailureContext as _, Result, ServiceClient, TrialFailure};

/// One response of `/metrics`.
#[derive(Debug)]
pub struct ScrapedMetrics(String);

impl ScrapedMetrics {
    /// Uses the metrics listener, which callers do not reach.
    pub async fn scrape(address: SocketAddr) -> Result<Self> {
        let request = load_request::get_without_key("/metrics");
        let answer = ServiceClient::new(address).send(request).await;
        let answer = answer.context("reading metrics")?;
        if !answer.is_success() {
            return Err(TrialFailure::new(format!(
                "/metrics answered {}",
                answer.status
            )));
        }
        Ok(Self(answer.text()))
    }

    /// The sum over all labels; 0 for a metric that does not exist.
    pub fn sum(&self, name: &str) -> f64 {
        self.values(name).sum()
    }

    /// The mean over all labels; not a number for a metric that does not exist.
    pub fn mean(&self, name: &str) -> f64 {
        self.sum(name) / f64::from(u32::try_from(self.values(name).count()).unwrap_or(u32::MAX))
    }

    fn values(&self, name: &str) -> impl Iterator<Item = f64> {
        self.0.lines().filter_map(move |line| {
            let rest = line.strip_prefix(name)?;
            let is_whole_name = rest.starts_with(['{', ' ']);
            let value = rest.rsplit(' ').next()?.parse::<f64>().ok()?;
            is_whole_name.then_some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels_and_never_taken_for_a_longer_name() {
        let text = "# TYPE fallback_total counter\nfallback_total{why=\"a b\"} 2\n\
            fallback_total 3\nfallback_total_seconds 99\n";
        let metrics = ScrapedMetrics(text.to_owned());
        assert!((metrics.sum("fallback_total") - 5.0).abs() < 1e-9);
        assert!((metrics.mean("fallback_total") - 2.5).abs() < 1e-9);
        assert!(metrics.sum("absent").abs() < 1e-9);
    }
}
