//! What was loaded, as a picture whose columns choose their time.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::view::loads::{Column as Sums, Loads};

use crate::chart::{self, Column};
use crate::project::cargo::filter::{Asked, minute};
use crate::project::cargo::window::Window;
use crate::text::{Markup, count};

const CLASSES: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];
const OTHERS: &str = "s6";

#[derive(Debug)]
pub(crate) struct Histogram {
    pub(crate) loads: Markup,
    /// What failed in each hour; nothing where nothing did.
    pub(crate) troubles: Option<Markup>,
    /// The colours: a class, and what it stands for.
    pub(crate) legend: Vec<(&'static str, String)>,
    /// Times below the picture.
    pub(crate) axis: Vec<String>,
}

/// Without a choice of time, `choices` are the models of the whole window, most first.
pub(crate) fn draw(
    loads: &Loads,
    window: &Window,
    choices: &[(String, u64)],
    asked: &Asked,
    base: &str,
) -> Histogram {
    let models = match window.chosen {
        None => choices.to_vec(),
        Some(_) => most_first(loads),
    };
    let named: Vec<(&'static str, &str)> = CLASSES
        .into_iter()
        .zip(models.iter().map(|(model, _)| model.as_str()))
        .collect();
    let step = window.range.step();
    let nothing = Sums::default();
    let (mut columns, mut troubles) = (Vec::new(), Vec::new());
    let mut at = window.from;
    while at < window.to {
        let sums = loads.columns.get(&at).unwrap_or(&nothing);
        let column = Column {
            label: label(at, step),
            is_chosen: is_chosen(window, at, step),
            href: None,
            parts: Vec::new(),
        };
        let href = || href(window, at, step, asked, base);
        let went_wrong = in_trouble(sums);
        troubles.push(Column {
            href: (!went_wrong.is_empty()).then(href),
            parts: went_wrong,
            ..column.clone()
        });
        columns.push(Column {
            label: format!("{}\n{} loaded", column.label, count(loaded(sums))),
            // An hour in which nothing was loaded leads nowhere.
            href: (loaded(sums) > 0 || column.is_chosen).then(href),
            parts: by_model(sums, &named),
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
    if is_drawn(OTHERS) {
        legend.push((OTHERS, "other models".to_owned()));
    }
    let has_trouble = troubles
        .iter()
        .flat_map(|column| &column.parts)
        .next()
        .is_some();
    Histogram {
        loads: chart::columns("Loads by model over time", 96.0, &columns),
        troubles: has_trouble.then(|| chart::columns("What failed over time", 28.0, &troubles)),
        legend,
        axis: axis(window),
    }
}

fn most_first(loads: &Loads) -> Vec<(String, u64)> {
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

fn loaded(sums: &Sums) -> u64 {
    sums.events.get("loaded").copied().unwrap_or_default()
}

fn by_model(sums: &Sums, named: &[(&'static str, &str)]) -> Vec<(&'static str, String, u64)> {
    let size = |model: &str| sums.models.get(model).copied().unwrap_or_default();
    let mut parts: Vec<_> = named
        .iter()
        .map(|(class, model)| (*class, (*model).to_owned(), size(model)))
        .filter(|(_, _, size)| *size > 0)
        .collect();
    let shown: u64 = parts.iter().map(|(_, _, size)| size).sum();
    let others = loaded(sums).saturating_sub(shown);
    if others > 0 {
        parts.push((OTHERS, "other models".to_owned(), others));
    }
    parts
}

fn in_trouble(sums: &Sums) -> Vec<(&'static str, String, u64)> {
    [
        ("bad", "failed", "failed"),
        ("warm", "callbacks given up", "callback_failed"),
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

fn is_chosen(window: &Window, at: Timestamp, step: TimeDelta) -> bool {
    window
        .chosen
        .is_some_and(|(from, to)| from < at + step && to > at)
}

/// Chooses the column; the one that is chosen already is let go.
fn href(window: &Window, at: Timestamp, step: TimeDelta, asked: &Asked, base: &str) -> String {
    let range = ("range", window.range.as_str());
    if window.chosen == Some((at, at + step)) {
        return asked.with(base, &[range, ("from", ""), ("to", "")]);
    }
    let (from, to) = (minute(at), minute(at + step));
    asked.with(base, &[range, ("from", &from), ("to", &to)])
}

fn axis(window: &Window) -> Vec<String> {
    let length = window.to - window.from;
    let form = if window.range.per_day() {
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
