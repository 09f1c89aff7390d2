//! The two forms of every answer: JSON for scripts, aligned text for people.

use domain::money::Money;
use serde::Serialize;

use crate::admin::AdminFailure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Printer {
    Json,
    Text,
}

/// Something that can be shown; its fields in the order in which people read them.
pub(super) trait Shown: Serialize {
    fn fields(&self) -> Vec<(&'static str, String)>;

    /// What a person should know about the one thing that was just made.
    fn remark(&self) -> Option<&'static str> {
        None
    }
}

impl Printer {
    pub(super) fn one(self, shown: &impl Shown) -> Result<String, AdminFailure> {
        if self == Self::Json {
            return Ok(serde_json::to_string(shown)? + "\n");
        }
        let rows: Vec<Vec<String>> = shown
            .fields()
            .into_iter()
            .map(|(label, value)| vec![label.to_owned(), value])
            .collect();
        let remark = shown
            .remark()
            .map(|remark| format!("\n{remark}\n"))
            .unwrap_or_default();
        Ok(aligned(&rows) + &remark)
    }

    pub(super) fn many<T: Shown>(self, shown: &[T]) -> Result<String, AdminFailure> {
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
        Ok(aligned(&rows))
    }
}

fn aligned(rows: &[Vec<String>]) -> String {
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

/// How text says yes, no, and nothing.
pub(super) fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

pub(super) fn dollars(amount: Money) -> String {
    format!("{amount} USD")
}

pub(super) fn or_dash(text: Option<&String>) -> String {
    text.map_or_else(|| "-".to_owned(), String::clone)
}
