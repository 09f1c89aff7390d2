//! What a project used: by day, by model, by key; and what batching saved.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use chrono::{Days, NaiveTime, TimeDelta};
use domain::id::KeyId;
use domain::money::Money;
use domain::time::{Timestamp, hour};
use store::view::usage::{self, Hour, Used};

use crate::csv;
use crate::no::No;
use crate::page::{Here, Page, show};
use crate::project::key_names;
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text::{self, Markup};

mod picture;

mod sums;

mod wanted;

use sums::{Sum, Sums};
use wanted::{By, Show, Wanted};

/// How far back the picture by hours goes.
const HOURS: i64 = 7 * 24;

#[derive(Debug, Template)]
#[template(path = "usage.html")]
struct Usage {
    page: Page,
    wanted: Wanted,
    /// By what is asked for, the largest first: the class of its colour, its name, its sum.
    rows: Vec<Row>,
    total: Sum,
    columns: Markup,
    highest: String,
    first: String,
    last: String,
    /// Three rows of numbers beside their hours, for the script.
    hours: String,
    has_hours: bool,
}

#[derive(Debug)]
struct Row {
    class: &'static str,
    name: String,
    /// The same page for this one alone, by the other.
    href: String,
    sum: Sum,
}

impl Usage {
    /// What is left out of `columns` because there are too many colours to tell apart.
    fn others(&self) -> bool {
        self.rows
            .iter()
            .filter(|row| row.class == sums::OTHER)
            .count()
            > 1
    }

    fn legend(&self) -> impl Iterator<Item = &Row> {
        let own = |row: &&Row| row.class != sums::OTHER || !self.others();
        self.rows.iter().filter(own)
    }
}

/// From the midnight (UTC) with which the first of so many days begins.
fn since(now: Timestamp, days: u16) -> Timestamp {
    let back = Days::new(u64::from(days.saturating_sub(1)));
    let first = now.date_naive().checked_sub_days(back);
    let first = first.unwrap_or_else(|| now.date_naive());
    first.and_time(NaiveTime::MIN).and_utc()
}

async fn read(desk: &Desk, within: &InProject, wanted: &Wanted) -> Result<Vec<Used>, No> {
    let since = since(desk.clock.now(), wanted.days);
    let model = wanted.model.as_deref();
    Ok(usage::days(within.shard(), within.id(), since, model, wanted.key).await?)
}

fn named(names: &HashMap<KeyId, String>, key: KeyId) -> String {
    names.get(&key).cloned().unwrap_or_else(|| key.to_string())
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Query(asked): Query<wanted::Asked>,
) -> Result<Response, No> {
    let wanted = Wanted::from(asked);
    let now = desk.clock.now();
    let used = read(&desk, &within, &wanted).await?;
    let names = key_names::of(&desk, &within).await?;
    let from = now - TimeDelta::hours(HOURS);
    let hours = usage::hours(within.shard(), within.id(), from).await?;
    let sums = Sums::of(&used, &wanted);
    let picture = picture::draw(&sums, &wanted, &names, now);
    let rows = sums.ranked.iter().map(|(class, what, sum)| Row {
        class,
        name: what.name(&names),
        href: wanted.only(what),
        sum: *sum,
    });
    Ok(show(&Usage {
        rows: rows.collect(),
        total: sums.total,
        columns: picture.columns,
        highest: picture.highest,
        first: picture.first,
        last: picture.last,
        has_hours: hours
            .iter()
            .any(|it| it.loaded + it.succeeded + it.failed > 0),
        hours: series(&hours, from, now),
        page: Page::of_project("Usage", Here::Usage, &within, &visitor),
        wanted: wanted.with_key_name(&names),
    }))
}

/// Every hour, also those in which nothing happened: numbers alone, so that nothing is to be escaped.
fn series(hours: &[Hour], from: Timestamp, now: Timestamp) -> String {
    let found: HashMap<i64, &Hour> = hours.iter().map(|it| (it.hour.timestamp(), it)).collect();
    let (mut at, last) = (hour(from).timestamp(), hour(now).timestamp());
    let mut rows: [Vec<String>; 4] = Default::default();
    while at <= last {
        let hour = found.get(&at);
        let numbers = [
            at,
            hour.map_or(0, |it| i64::try_from(it.loaded).unwrap_or_default()),
            hour.map_or(0, |it| i64::try_from(it.succeeded).unwrap_or_default()),
            hour.map_or(0, |it| i64::try_from(it.failed).unwrap_or_default()),
        ];
        for (row, number) in rows.iter_mut().zip(numbers) {
            row.push(number.to_string());
        }
        at += 3600;
    }
    let rows = rows.map(|row| format!("[{}]", row.join(",")));
    format!("[{}]", rows.join(","))
}

const HEADINGS: [&str; 15] = [
    "day",
    "model",
    "key_id",
    "key",
    "loaded",
    "succeeded",
    "failed",
    "input_tokens",
    "output_tokens",
    "charged_dollars",
    "charged_nanodollars",
    "realtime_dollars",
    "realtime_nanodollars",
    "saved_dollars",
    "saved_nanodollars",
];

/// The same days, each model and key apart.
pub(crate) async fn table(
    State(desk): State<Desk>,
    within: InProject,
    Query(asked): Query<wanted::Asked>,
) -> Result<Response, No> {
    let wanted = Wanted::from(asked);
    let used = read(&desk, &within, &wanted).await?;
    let names = key_names::of(&desk, &within).await?;
    let mut body = csv::record(HEADINGS);
    for it in used {
        let amount = |amount: Money| [amount.to_string(), amount.nanos().to_string()];
        let mut fields = vec![
            it.day.to_string(),
            csv::harmless(&it.model),
            it.key.to_string(),
            csv::harmless(&named(&names, it.key)),
        ];
        let counts = [
            it.loaded,
            it.succeeded,
            it.failed,
            it.input_tokens,
            it.output_tokens,
        ];
        fields.extend(counts.map(|count| count.to_string()));
        for money in [it.charged, it.realtime, it.saved] {
            fields.extend(amount(money));
        }
        body.push_str(&csv::record(fields.iter().map(String::as_str)));
    }
    let name = format!("usage-{}-{}-days.csv", within.project.slug, wanted.days);
    Ok(csv::download(&name, body))
}
