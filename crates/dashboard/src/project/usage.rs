//! A project's usage by day, model and key, and what batching saved.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use chrono::{Days, NaiveTime, TimeDelta};
use domain::id::ApiKeyId;
use domain::money::Money;
use domain::time::{Timestamp, start_of_hour};
use store::view::usage::{self, DailyUsage, HourlyUsage};

use crate::access::{ClientInfo, ProjectAccess};
use crate::csv;
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::project::key_names;
use crate::read_audit::record_export;
use crate::state::DashboardState;
use crate::text::{self, Markup};

mod usage_chart;

mod totals;

mod query;

use query::{UsageGrouping, UsageMetric, UsageQuery};
use totals::{UsageBreakdown, UsageTotals};

/// Hours in the hourly chart.
const HOURLY_CHART_HOURS: i64 = 7 * 24;

#[derive(Debug, Template)]
#[template(path = "usage.html")]
struct UsagePage {
    page: PageLayout,
    query: UsageQuery,
    /// One row per model or key, largest first.
    rows: Vec<UsageRow>,
    total: UsageTotals,
    chart: Markup,
    highest: String,
    first: String,
    last: String,
    /// JSON for `usage.js`: hours, loaded, succeeded, failed.
    hours: String,
    has_hours: bool,
}

#[derive(Debug)]
struct UsageRow {
    class: &'static str,
    name: String,
    /// The same page, filtered to this row and grouped the other way.
    href: String,
    totals: UsageTotals,
}

impl UsagePage {
    /// Whether several rows share the last colour.
    fn has_others(&self) -> bool {
        self.rows
            .iter()
            .filter(|row| row.class == totals::OTHER_CLASS)
            .count()
            > 1
    }

    fn legend(&self) -> impl Iterator<Item = &UsageRow> {
        let own = |row: &&UsageRow| row.class != totals::OTHER_CLASS || !self.has_others();
        self.rows.iter().filter(own)
    }
}

/// Midnight (UTC) at the start of the first of `days` days.
fn first_day_start(now: Timestamp, days: u16) -> Timestamp {
    let back = Days::new(u64::from(days.saturating_sub(1)));
    let first = now.date_naive().checked_sub_days(back);
    let first = first.unwrap_or_else(|| now.date_naive());
    first.and_time(NaiveTime::MIN).and_utc()
}

async fn read_usage(
    state: &DashboardState,
    within: &ProjectAccess,
    wanted: &UsageQuery,
) -> Result<Vec<DailyUsage>, PageError> {
    let since = first_day_start(state.clock.now(), wanted.days);
    let model = wanted.model.as_deref();
    Ok(usage::list_daily(within.shard(), within.id(), since, model, wanted.key).await?)
}

fn key_name(names: &HashMap<ApiKeyId, String>, key: ApiKeyId) -> String {
    names.get(&key).cloned().unwrap_or_else(|| key.to_string())
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Query(params): Query<query::UsageQueryParams>,
) -> Result<Response, PageError> {
    let wanted = UsageQuery::from(params);
    let now = state.clock.now();
    let used = read_usage(&state, &within, &wanted).await?;
    let names = key_names::read_key_names(&state, &within).await?;
    let from = now - TimeDelta::hours(HOURLY_CHART_HOURS);
    let hours = usage::list_hourly(within.shard(), within.id(), from).await?;
    let sums = UsageBreakdown::of(&used, &wanted);
    let picture = usage_chart::draw(&sums, &wanted, &names, now);
    let rows = sums.ranked.iter().map(|(class, what, sum)| UsageRow {
        class,
        name: what.name(&names),
        href: wanted.drill_down(what),
        totals: *sum,
    });
    Ok(render_page(&UsagePage {
        rows: rows.collect(),
        total: sums.total,
        chart: picture.chart,
        highest: picture.highest,
        first: picture.first,
        last: picture.last,
        has_hours: hours
            .iter()
            .any(|it| it.loaded + it.succeeded + it.failed > 0),
        hours: hourly_series(&hours, from, now),
        page: PageLayout::for_project("Usage", NavItem::Usage, &within, &client),
        query: wanted.with_key_name(&names),
    }))
}

/// Includes hours without activity. Holds only numbers, so it needs no escaping.
fn hourly_series(hours: &[HourlyUsage], from: Timestamp, now: Timestamp) -> String {
    let found: HashMap<i64, &HourlyUsage> =
        hours.iter().map(|it| (it.hour.timestamp(), it)).collect();
    let (mut at, last) = (
        start_of_hour(from).timestamp(),
        start_of_hour(now).timestamp(),
    );
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

const CSV_HEADINGS: [&str; 18] = [
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
    "cached_tokens",
    "cache_write_tokens",
    "thinking_tokens",
];

/// The usage as CSV, one row per day, model and key.
pub(crate) async fn download_csv(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Query(params): Query<query::UsageQueryParams>,
) -> Result<Response, PageError> {
    let wanted = UsageQuery::from(params);
    record_export(
        &state,
        &within,
        "usage.exported",
        within.project.slug.clone(),
    )
    .await?;
    let used = read_usage(&state, &within, &wanted).await?;
    let names = key_names::read_key_names(&state, &within).await?;
    let mut body = csv::record(CSV_HEADINGS);
    for it in used {
        let amount = |amount: Money| [amount.to_string(), amount.nanos().to_string()];
        let mut fields = vec![
            it.day.to_string(),
            csv::escape_formula(&it.model),
            it.key.to_string(),
            csv::escape_formula(&key_name(&names, it.key)),
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
        let parts = [it.cached_tokens, it.cache_write_tokens, it.thinking_tokens];
        fields.extend(parts.map(|count| count.to_string()));
        body.push_str(&csv::record(fields.iter().map(String::as_str)));
    }
    let name = format!("usage-{}-{}-days.csv", within.project.slug, wanted.days);
    Ok(csv::download(&name, body))
}
