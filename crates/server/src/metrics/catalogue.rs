//! Every metric with its kind and help text, in a file for each subject.

mod files;
mod serving;
#[cfg(test)]
mod tests;
mod work;

use domain::file::FileFailureReason;
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

use self::files::FILE_METRICS;
use self::serving::SERVING_METRICS;
use self::work::WORK_METRICS;
use MetricKind::{Counter, CounterBy, Gauge, Histogram, LabelledCounter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It is there from the start, with 0.
    Counter,
    /// A counter with one label and all its values: each series is there from the start, with 0.
    CounterBy(&'static str, &'static [&'static str]),
    /// A counter whose labels have values that are known later, such as shards. What counts it
    /// also starts its series.
    LabelledCounter,
    Gauge,
    Histogram,
}

/// Kind, name and help text.
pub type MetricEntry = (MetricKind, &'static str, &'static str);

/// The statuses of loads whose share alerts compute. Their series are there from the start, because
/// `increase` does not see the step from no series to 1.
const LOAD_STATUSES: &[&str] = &["202", "500", "503"];

pub fn entries() -> impl Iterator<Item = &'static MetricEntry> {
    [SERVING_METRICS, WORK_METRICS, FILE_METRICS]
        .into_iter()
        .flatten()
}

/// Tells the recorder about all metrics.
pub fn register() {
    for (kind, name, help) in entries() {
        let unit = unit_of(name);
        match kind {
            Counter => {
                describe_counter!(*name, unit, *help);
                counter!(*name).absolute(0);
            }
            CounterBy(label, values) => {
                describe_counter!(*name, unit, *help);
                for value in *values {
                    counter!(*name, *label => *value).absolute(0);
                }
            }
            LabelledCounter => describe_counter!(*name, unit, *help),
            Gauge => describe_gauge!(*name, unit, *help),
            Histogram => describe_histogram!(*name, unit, *help),
        }
    }
    // Workers do not count uploads that their callers abort.
    let is_counted = |reason: &&FileFailureReason| **reason != FileFailureReason::UploadAborted;
    for reason in FileFailureReason::ALL.iter().filter(is_counted) {
        counter!("longshore_files_failed_total", "reason" => reason.as_str()).absolute(0);
    }
    // The labels have the order in which the API counts.
    for status in LOAD_STATUSES {
        counter!("longshore_http_requests_total", "route" => "/cargo/load", "method" => "POST", "status" => *status)
            .absolute(0);
    }
}

fn unit_of(name: &str) -> Unit {
    let name = name.strip_suffix("_total").unwrap_or(name);
    if name.ends_with("_seconds") {
        Unit::Seconds
    } else if name.ends_with("_bytes") {
        Unit::Bytes
    } else {
        Unit::Count
    }
}
