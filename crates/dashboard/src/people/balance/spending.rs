//! Spending by day and project, the daily average, and how long the credit lasts.

use std::collections::{BTreeMap, HashMap};

use chrono::{Days, NaiveDate, NaiveTime};
use domain::account::first_day_of_month;
use domain::id::ProjectId;
use domain::money::Money;
use domain::time::Timestamp;

use crate::chart::{self, ChartColumn};
use crate::text::{self, Markup};

/// Days in the chart, and days in the daily average.
const CHART_DAYS: u64 = 30;
const AVERAGE_DAYS: u64 = 7;

#[derive(Debug)]
pub(crate) struct SpendingTrend {
    pub(crate) this_month: Money,
    pub(crate) last_30_days: Money,
    /// Average since the first spending of the last seven days; none without spending.
    pub(crate) daily_average: Option<Money>,
    pub(crate) days_left: Option<u64>,
    pub(crate) chart: Markup,
    pub(crate) highest: Money,
    /// Class and name of each project with its own colour.
    pub(crate) legend: Vec<(&'static str, String)>,
    pub(crate) first: String,
    pub(crate) last: String,
}

/// The start of the data that the chart and the sums need.
pub(crate) fn data_start(now: Timestamp) -> Timestamp {
    let first = days_before(now.date_naive(), CHART_DAYS - 1).min(first_day_of_month(now));
    first.and_time(NaiveTime::MIN).and_utc()
}

fn days_before(day: NaiveDate, days: u64) -> NaiveDate {
    day.checked_sub_days(Days::new(days)).unwrap_or(day)
}

const PROJECT_CLASSES: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];

impl SpendingTrend {
    pub(crate) fn of(
        spent: &[(NaiveDate, ProjectId, Money)],
        slugs: &HashMap<ProjectId, String>,
        free: Money,
        now: Timestamp,
    ) -> Self {
        let today = now.date_naive();
        let first = days_before(today, CHART_DAYS - 1);
        let from = |day: NaiveDate| spent.iter().filter(move |(of, _, _)| *of >= day);
        let sum = |day: NaiveDate| from(day).map(|(_, _, money)| *money).sum::<Money>();
        let by_day = daily_average(spent, today);
        let classes = assign_classes(from(first));
        let (columns, highest) = columns(spent, slugs, &classes, first, today);
        let mut legend: Vec<_> = classes
            .iter()
            .map(|(project, class)| (*class, slug(slugs, *project)))
            .collect();
        legend.sort_unstable();
        if from(first).any(|(_, project, _)| !classes.contains_key(project)) {
            legend.push(("s6", "other".to_owned()));
        }
        Self {
            this_month: sum(first_day_of_month(now)),
            last_30_days: sum(first),
            daily_average: by_day,
            days_left: by_day.and_then(|by_day| {
                let days = free.nanos().checked_div(by_day.nanos())?;
                u64::try_from(days).ok()
            }),
            chart: chart::column_chart_with("Spending by day", 120.0, &columns, dollars),
            highest,
            legend,
            first: first.format("%-d %b").to_string(),
            last: today.format("%-d %b").to_string(),
        }
    }
}

fn slug(slugs: &HashMap<ProjectId, String>, project: ProjectId) -> String {
    slugs
        .get(&project)
        .cloned()
        .unwrap_or_else(|| project.to_string())
}

fn dollars(nanos: u64) -> String {
    text::money(Money(i64::try_from(nanos).unwrap_or(i64::MAX)))
}

fn daily_average(spent: &[(NaiveDate, ProjectId, Money)], today: NaiveDate) -> Option<Money> {
    let week = days_before(today, AVERAGE_DAYS - 1);
    let recent = || spent.iter().filter(|(day, _, _)| *day >= week);
    let first = recent().map(|(day, _, _)| *day).min()?;
    let days = (today - first).num_days() + 1;
    let sum: Money = recent().map(|(_, _, money)| *money).sum();
    Some(Money(sum.nanos() / days.max(1))).filter(|by_day| by_day.nanos() > 0)
}

/// Assigns a colour to each of the projects that spent the most.
fn assign_classes<'a>(
    spent: impl Iterator<Item = &'a (NaiveDate, ProjectId, Money)>,
) -> HashMap<ProjectId, &'static str> {
    let mut sums: BTreeMap<ProjectId, Money> = BTreeMap::new();
    for (_, project, money) in spent {
        let sum = sums.entry(*project).or_default();
        *sum = *sum + *money;
    }
    let mut ranked: Vec<_> = sums.into_iter().collect();
    ranked.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    let ranked = ranked.into_iter().map(|(project, _)| project);
    ranked.zip(PROJECT_CLASSES).collect()
}

fn columns(
    spent: &[(NaiveDate, ProjectId, Money)],
    slugs: &HashMap<ProjectId, String>,
    classes: &HashMap<ProjectId, &'static str>,
    first: NaiveDate,
    today: NaiveDate,
) -> (Vec<ChartColumn>, Money) {
    let (mut columns, mut highest) = (Vec::new(), Money::ZERO);
    for day in first.iter_days().take_while(|day| *day <= today) {
        let of_day = spent.iter().filter(|(of, _, _)| *of == day);
        let mut parts: Vec<_> = of_day
            .map(|(_, project, money)| {
                let class = classes.get(project).copied().unwrap_or("s6");
                let size = u64::try_from(money.nanos()).unwrap_or_default();
                (class, slug(slugs, *project), size)
            })
            .collect();
        parts.sort_unstable();
        let sum: u64 = parts.iter().map(|(_, _, size)| size).sum();
        highest = highest.max(Money(i64::try_from(sum).unwrap_or(i64::MAX)));
        columns.push(ChartColumn {
            label: day.format("%a %-d %b %Y").to_string(),
            parts,
            ..ChartColumn::default()
        });
    }
    (columns, highest)
}
