//! Metrics of files: uploads, verification, and the bucket.

use crate::metrics::catalogue::MetricEntry;
use crate::metrics::catalogue::MetricKind::{
    Counter, CounterBy, Gauge, Histogram, LabelledCounter,
};

/// In alphabetical order. The end of a name says the unit.
pub(super) const FILE_METRICS: &[MetricEntry] = &[
    (
        Gauge,
        "longshore_files_dependency_healthy",
        "1 while the object store, its credentials, the scanner or the file probe pass every health check.",
    ),
    (
        LabelledCounter,
        "longshore_files_failed_total",
        "Uploaded files that failed, by reason.",
    ),
    (
        Counter,
        "longshore_files_ready_total",
        "Uploaded files that became ready.",
    ),
    (
        Gauge,
        "longshore_files_validating",
        "Files that wait for or are in validation.",
    ),
    (
        Gauge,
        "longshore_files_validating_oldest_age_seconds",
        "Age of the oldest file in validation; 0 when there is none.",
    ),
    (
        Counter,
        "longshore_object_credentials_refresh_failures_total",
        "Failed attempts to fetch new credentials of the object store's role.",
    ),
    (
        Gauge,
        "longshore_object_credentials_remaining_seconds",
        "Time until the credentials of the object store's role expire; not there with static keys.",
    ),
    (
        Gauge,
        "longshore_object_removal_held",
        "1 while objects are not removed because the database was restored, promoted or copied.",
    ),
    (
        Counter,
        "longshore_patrol_missing_objects_total",
        "Ready files whose bytes are missing in the object store. Page above 0.",
    ),
    (
        CounterBy("kind", &["published", "staging", "upload"]),
        "longshore_patrol_removed_objects_total",
        "Objects removed because no database row refers to them, by kind.",
    ),
    (
        Histogram,
        "longshore_scan_duration_seconds",
        "Time to verify one file.",
    ),
    (
        Counter,
        "longshore_scanned_bytes_total",
        "Bytes of verified files.",
    ),
];
