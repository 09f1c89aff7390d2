//! Loads over time as a chart. A click on a column selects its hour or day.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::view::loads::{LoadChart, LoadCounts as Sums};

use crate::chart::{self, ChartColumn};
use crate::project::cargo::filter::{CargoQuery, format_minute};
use crate::project::cargo::time_window::TimeWindow;
use crate::text::{Markup, count};

const MODEL_CLASSES: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];
const OTHER_CLASS: &str = "s6";

#[derive(Debug)]
pub(crate) struct LoadHistogram {
    pub(crate) loads: Markup,
    /// Failures over time; none without failures.
    pub(crate) failures: Option<Markup>,
    /// Class and label of each colour.
    pub(crate) legend: Vec<(&'static str, String)>,
    /// Labels of the time axis.
    pub(crate) axis: Vec<String>,
}

/// Without a selected time, `choices` are the models of the whole window, most used first.
pub(crate) fn draw(
    loads: &LoadChart,
    window: &TimeWindow,
    choices: &[(String, u64)],
    params: &CargoQuery,
    base: &str,
) -> LoadHistogram {
    let models = match window.selected {
        None => choices.to_vec(),
        Some(_) => rank_models(loads),
    };
    let named: Vec<(&'static str, &str)> = MODEL_CLASSES
        .into_iter()
        .zip(models.iter().map(|(model, _)| model.as_str()))
        .collect();
    let step = window.range.step();
    let nothing = Sums::default();
    let (mut columns, mut failures) = (Vec::new(), Vec::new());
    let mut at = window.from;
    while at < window.to {
        let sums = loads.columns.get(&at).unwrap_or(&nothing);
        let column = ChartColumn {
            label: label(at, step),
            is_selected: is_selected(window, at, step),
            href: None,
            parts: Vec::new(),
        };
        let href = || href(window, at, step, params, base);
        let failed = failure_parts(sums);
        failures.push(ChartColumn {
            href: (!failed.is_empty()).then(href),
            parts: failed,
            ..column.clone()
        });
        columns.push(ChartColumn {
            label: format!("{}\n{} loaded", column.label, count(loaded_count(sums))),
            // Columns without loads have no link.
            href: (loaded_count(sums) > 0 || column.is_selected).then(href),
            parts: parts_by_model(sums, &named),
            ..column
        });
        at += step;
    }
    let is_drawn = |class: &str| {
        let mut parts = columns.iter().flat_map(|column| &column.parts);
        parts.any(|(drawn, _, _)| *drawn == class)
    };
    let mut legend: Vec<_> = named
        .iter()
        .filter(|(class, _)| is_drawn(class))
        .map(|(class, model)| (*class, (*model).to_owned()))
        .collect();
    if is_drawn(OTHER_CLASS) {
        legend.push((OTHER_CLASS, "other models".to_owned()));
    }
    let has_failures = failures
        .iter()
        .flat_map(|column| &column.parts)
        .next()
        .is_some();
    LoadHistogram {
        loads: chart::column_chart("Loads by model over time", 96.0, &columns),
        failures: has_failures.then(|| chart::column_chart("Failures over time", 28.0, &failures)),
        legend,
        axis: axis(window),
    }
}

fn rank_models(loads: &LoadChart) -> Vec<(String, u64)> {
    let mut models: BTreeMap<&str, u64> = BTreeMap::new();
    for (model, size) in loads.columns.values().flat_map(|sums| &sums.models) {
        *models.entry(model).or_default() += size;
    }
    let mut models: Vec<(String, u64)> = models
        .into_iter()
        .map(|(model, size)| (model.to_owned(), size))
        .collect();
    models.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    models
}

fn loaded_count(sums: &Sums) -> u64 {
    sums.events.get("loaded").copied().unwrap_or_default()
}

fn parts_by_model(sums: &Sums, named: &[(&'static str, &str)]) -> Vec<(&'static str, String, u64)> {
    let size = |model: &str| sums.models.get(model).copied().unwrap_or_default();
    let mut parts: Vec<_> = named
        .iter()
        .map(|(class, model)| (*class, (*model).to_owned(), size(model)))
        .filter(|(_, _, size)| *size > 0)
        .collect();
    let shown: u64 = parts.iter().map(|(_, _, size)| size).sum();
    let others = loaded_count(sums).saturating_sub(shown);
    if others > 0 {
        parts.push((OTHER_CLASS, "other models".to_owned(), others));
    }
    parts
}

fn failure_parts(sums: &Sums) -> Vec<(&'static str, String, u64)> {
    [
        ("bad", "failed", "failed"),
        ("warm", "callbacks failed", "callback_failed"),
    ]
    .into_iter()
    .filter_map(|(class, name, event)| {
        let size = sums.events.get(event).copied().filter(|size| *size > 0)?;
        Some((class, name.to_owned(), size))
    })
    .collect()
}

fn label(at: Timestamp, step: TimeDelta) -> String {
    if step >= TimeDelta::days(1) {
        at.format("%a %d %b").to_string()
    } else {
        format!(
            "{}–{} UTC",
            at.format("%a %d %b %H:%M"),
            (at + step).format("%H:%M")
        )
    }
}

fn is_selected(window: &TimeWindow, at: Timestamp, step: TimeDelta) -> bool {
    window
        .selected
        .is_some_and(|(from, to)| from < at + step && to > at)
}

/// Selects the column, or clears the selection if it is selected already.
fn href(
    window: &TimeWindow,
    at: Timestamp,
    step: TimeDelta,
    params: &CargoQuery,
    base: &str,
) -> String {
    let range = ("range", window.range.as_str());
    if window.selected == Some((at, at + step)) {
        return params.url_with(base, &[range, ("from", ""), ("to", "")]);
    }
    let (from, to) = (format_minute(at), format_minute(at + step));
    params.url_with(base, &[range, ("from", &from), ("to", &to)])
}

fn axis(window: &TimeWindow) -> Vec<String> {
    let length = window.to - window.from;
    let form = if window.range.is_per_day() {
        "%d %b"
    } else {
        "%d %b %H:%M"
    };
    (0..=4)
        .map(|quarter| {
            (window.from + length * quarter / 4)
                .format(form)
                .to_string()
        })
        .collect()
}
