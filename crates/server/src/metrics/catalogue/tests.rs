//! The catalogue agrees with its page, and counters start at 0.

use std::collections::BTreeSet;

use metrics_exporter_prometheus::PrometheusBuilder;

use super::*;

const PAGE: &str = include_str!("../../../../../docs/metrics.md");

/// Name, type, whether it has labels (of counters only), and meaning.
type MetricRow<'a> = (&'a str, &'static str, Option<bool>, &'a str);

fn listed_row(&(kind, name, help): &'static MetricEntry) -> MetricRow<'static> {
    let (kind, has_labels) = match kind {
        Counter => ("counter", Some(false)),
        CounterBy(..) | LabelledCounter => ("counter", Some(true)),
        Gauge => ("gauge", None),
        Histogram => ("histogram", None),
    };
    (name, kind, has_labels, help)
}

/// A line such as "| `longshore_cargo_loaded_total` | counter | `shard` | Accepted cargo. |".
fn documented_row(line: &str) -> Option<MetricRow<'_>> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, name, kind, labels, help, _] = cells[..] else {
        return None;
    };
    let name = name.strip_prefix('`')?.strip_suffix('`')?;
    let kind = ["counter", "gauge", "histogram"]
        .into_iter()
        .find(|it| *it == kind)?;
    let has_labels = (kind == "counter").then_some(!labels.is_empty());
    Some((name, kind, has_labels, help))
}

#[test]
fn counters_are_there_from_the_start() {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, register);
    let page = recorder.handle().render();
    for (kind, name, _) in entries() {
        let series = match kind {
            Counter => vec![(*name).to_owned()],
            CounterBy(label, values) => values
                .iter()
                .map(|value| format!("{name}{{{label}=\"{value}\"}}"))
                .collect(),
            LabelledCounter | Gauge | Histogram => Vec::new(),
        };
        for series in series {
            let line = format!("{series} 0");
            assert!(page.lines().any(|it| it == line), "{line}");
        }
    }
    let scanned = "longshore_files_failed_total{reason=\"malware_detected\"} 0";
    assert!(page.contains(scanned));
    assert!(!page.contains("upload_aborted"));
    let refused =
        r#"longshore_http_requests_total{route="/cargo/load",method="POST",status="503"} 0"#;
    assert!(page.contains(refused), "{page}");
}

#[test]
fn counters_start_with_the_label_of_their_page() {
    for (kind, name, _) in entries() {
        if let CounterBy(label, _) = kind {
            let row = format!("| `{name}` | counter | `{label}` |");
            assert!(PAGE.contains(&row), "{row}");
        }
    }
}

#[test]
fn the_page_of_metrics_agrees_with_the_catalogue() {
    let listed: BTreeSet<MetricRow<'_>> = entries().map(listed_row).collect();
    let documented: BTreeSet<MetricRow<'_>> = PAGE.lines().filter_map(documented_row).collect();
    let missing: Vec<_> = listed.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/metrics.md: {missing:#?}");
    let unknown: Vec<_> = documented.difference(&listed).collect();
    assert!(unknown.is_empty(), "not in the catalogue: {unknown:#?}");
    assert_eq!(listed.len(), entries().count(), "a metric is listed twice");
}
