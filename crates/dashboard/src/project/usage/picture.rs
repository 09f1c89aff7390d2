//! The columns: a day each, parted by model or key.

use std::collections::HashMap;

use chrono::Days;
use domain::id::KeyId;
use domain::money::Money;
use domain::time::Timestamp;

use super::sums::{OTHER, Sum, Sums};
use super::wanted::{Show, Wanted};
use crate::chart::{self, Column};
use crate::text::{self, Markup};

pub(crate) struct Picture {
    pub(crate) columns: Markup,
    /// What the highest column stands for.
    pub(crate) highest: String,
    pub(crate) first: String,
    pub(crate) last: String,
}

const HEIGHT: f64 = 180.0;

fn dollars(nanos: u64) -> String {
    text::money(Money(i64::try_from(nanos).unwrap_or(i64::MAX)))
}

pub(crate) fn draw(
    sums: &Sums,
    wanted: &Wanted,
    names: &HashMap<KeyId, String>,
    now: Timestamp,
) -> Picture {
    let (last, mut day) = (
        now.date_naive(),
        super::since(now, wanted.days).date_naive(),
    );
    let first = day;
    let mut columns = Vec::new();
    let mut highest = 0;
    while day <= last {
        let mut column = Column {
            label: day.format("%a %-d %b %Y").to_string(),
            ..Column::default()
        };
        let of_day = sums.by_day.get(&day);
        let mut others = 0;
        for (class, what, _) in &sums.ranked {
            let size = of_day.and_then(|of_day| of_day.get(what));
            let size = size.map_or(0, |sum: &Sum| sum.size(wanted.show));
            if *class == OTHER {
                others += size;
            } else if size > 0 {
                column.parts.push((class, what.name(names), size));
            }
        }
        if others > 0 {
            column.parts.push((OTHER, "others".to_owned(), others));
        }
        highest = highest.max(column.parts.iter().map(|(_, _, size)| size).sum());
        columns.push(column);
        let Some(next) = day.checked_add_days(Days::new(1)) else {
            break;
        };
        day = next;
    }
    let (name, write): (_, fn(u64) -> String) = match wanted.show {
        Show::Cost => ("Cost by day", dollars),
        Show::Tokens => ("Tokens by day", text::count),
        Show::Cargo => ("Cargo loaded by day", text::count),
    };
    Picture {
        columns: chart::columns_in(name, HEIGHT, &columns, write),
        highest: write(highest),
        first: first.format("%-d %b").to_string(),
        last: last.format("%-d %b").to_string(),
    }
}
