//! What a process counts about itself.

use std::net::SocketAddr;

use crate::failure::{During as _, Failure, Result};
use crate::http::Target;
use crate::request;

/// One reading of `/metrics`.
#[derive(Debug)]
pub struct Metrics(String);

impl Metrics {
    /// Asks on the listener that callers never see.
    pub async fn read(address: SocketAddr) -> Result<Self> {
        let asked = request::open_get("/metrics", address);
        let answer = Target::new(address).send(asked.as_bytes()).await;
        let answer = answer.during("reading metrics")?;
        if !answer.is_success() {
            return Err(Failure::new(format!("/metrics answers {}", answer.status)));
        }
        String::from_utf8(answer.body)
            .during("reading metrics")
            .map(Self)
    }

    /// A metric over all its labels; what was never counted is 0.
    pub fn sum(&self, name: &str) -> f64 {
        let values = self.0.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            let is_whole_name = rest.starts_with(['{', ' ']);
            let value = rest.rsplit(' ').next()?.parse::<f64>().ok()?;
            is_whole_name.then_some(value)
        });
        values.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels_and_never_taken_for_a_longer_name() {
        let text = "# TYPE fallback_total counter\nfallback_total{why=\"a b\"} 2\n\
            fallback_total 3\nfallback_total_seconds 99\n";
        let metrics = Metrics(text.to_owned());
        assert!((metrics.sum("fallback_total") - 5.0).abs() < 1e-9);
        assert!(metrics.sum("absent").abs() < 1e-9);
    }
}
