//! The two output formats: JSON for scripts, aligned text for people.

use domain::money::Money;
use serde::Serialize;

use crate::admin::AdminFailure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Printer {
    Json,
    Text,
}

/// A value with labelled fields in display order.
pub(super) trait AdminView: Serialize {
    fn fields(&self) -> Vec<(&'static str, String)>;

    /// A note for people below a single value.
    fn note(&self) -> Option<&'static str> {
        None
    }
}

impl Printer {
    pub(super) fn render_one(self, shown: &impl AdminView) -> Result<String, AdminFailure> {
        if self == Self::Json {
            return Ok(serde_json::to_string(shown)? + "\n");
        }
        let rows: Vec<Vec<String>> = shown
            .fields()
            .into_iter()
            .map(|(label, value)| vec![label.to_owned(), value])
            .collect();
        let remark = shown
            .note()
            .map(|remark| format!("\n{remark}\n"))
            .unwrap_or_default();
        Ok(align_columns(&rows) + &remark)
    }

    pub(super) fn render_many<T: AdminView>(self, shown: &[T]) -> Result<String, AdminFailure> {
        if self == Self::Json {
            return Ok(serde_json::to_string(shown)? + "\n");
        }
        let Some(first) = shown.first() else {
            return Ok("none\n".to_owned());
        };
        let headings = first
            .fields()
            .into_iter()
            .map(|(label, _)| label.to_uppercase())
            .collect();
        let mut rows: Vec<Vec<String>> = vec![headings];
        for one in shown {
            rows.push(one.fields().into_iter().map(|(_, value)| value).collect());
        }
        Ok(align_columns(&rows))
    }
}

fn align_columns(rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = cell.chars().count();
            match widths.get_mut(column) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

pub(super) fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

pub(super) fn dollars(amount: Money) -> String {
    format!("{amount} USD")
}

pub(super) fn or_dash(text: Option<&String>) -> String {
    text.map_or_else(|| "-".to_owned(), String::clone)
}
