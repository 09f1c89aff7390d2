//! The usage chart: one column per day, stacked by model or key.

use std::collections::HashMap;

use chrono::Days;
use domain::id::ApiKeyId;
use domain::money::Money;
use domain::time::Timestamp;

use super::query::{UsageMetric, UsageQuery};
use super::totals::{OTHER_CLASS, UsageBreakdown, UsageTotals};
use crate::chart::{self, ChartColumn};
use crate::text::{self, Markup};

pub(crate) struct UsageChart {
    pub(crate) chart: Markup,
    /// The value of the highest column.
    pub(crate) highest: String,
    pub(crate) first: String,
    pub(crate) last: String,
}

const HEIGHT: f64 = 180.0;

fn dollars(nanos: u64) -> String {
    text::money(Money(i64::try_from(nanos).unwrap_or(i64::MAX)))
}

pub(crate) fn draw(
    sums: &UsageBreakdown,
    wanted: &UsageQuery,
    names: &HashMap<ApiKeyId, String>,
    now: Timestamp,
) -> UsageChart {
    let (last, mut day) = (
        now.date_naive(),
        super::first_day_start(now, wanted.days).date_naive(),
    );
    let first = day;
    let mut columns = Vec::new();
    let mut highest = 0;
    while day <= last {
        let mut column = ChartColumn {
            label: day.format("%a %-d %b %Y").to_string(),
            ..ChartColumn::default()
        };
        let of_day = sums.by_day.get(&day);
        let mut others = 0;
        for (class, what, _) in &sums.ranked {
            let size = of_day.and_then(|of_day| of_day.get(what));
            let size = size.map_or(0, |sum: &UsageTotals| sum.value(wanted.metric));
            if *class == OTHER_CLASS {
                others += size;
            } else if size > 0 {
                column.parts.push((class, what.name(names), size));
            }
        }
        if others > 0 {
            column.parts.push((OTHER_CLASS, "other".to_owned(), others));
        }
        highest = highest.max(column.parts.iter().map(|(_, _, size)| size).sum());
        columns.push(column);
        let Some(next) = day.checked_add_days(Days::new(1)) else {
            break;
        };
        day = next;
    }
    let (name, write): (_, fn(u64) -> String) = match wanted.metric {
        UsageMetric::Cost => ("Cost by day", dollars),
        UsageMetric::Tokens => ("Tokens by day", text::count),
        UsageMetric::Cargo => ("Cargo loaded by day", text::count),
    };
    UsageChart {
        chart: chart::column_chart_with(name, HEIGHT, &columns, write),
        highest: write(highest),
        first: first.format("%-d %b").to_string(),
        last: last.format("%-d %b").to_string(),
    }
}
