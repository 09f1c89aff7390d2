//! The overview page of a project: alerts, activity, spending and recent failures.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chrono::{Datelike as _, NaiveTime, TimeDelta};
use domain::id::{CargoId, first_id_at};
use domain::money::Money;
use domain::time::{Timestamp, start_of_hour};
use store::control::api_key;
use store::shard::account;
use store::view::usage::{self, HourlyUsage};
use store::view::{callbacks, models, overview};

use crate::access::{ClientInfo, ProjectAccess};
use crate::chart;
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::project::alerts::{self, ProjectAlert};
use crate::state::DashboardState;
use crate::text::{self, Markup};

/// Recent failures on the page.
const MAX_FAILURES: u32 = 5;

#[derive(Debug, Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    page: PageLayout,
    alerts: Vec<ProjectAlert>,
    day: DaySummary,
    sparklines: [Markup; 4],
    month: (Money, Money),
    available: Money,
    held: Money,
    failures: Vec<(CargoId, String)>,
    onboarding: Option<Onboarding>,
}

/// Selects one number of an hour.
type HourMetric = fn(&HourlyUsage) -> u64;

/// Onboarding steps, shown until the first callback is delivered.
#[derive(Debug)]
struct Onboarding {
    has_key: bool,
    has_loaded: bool,
}

/// The last 24 hours.
#[derive(Debug)]
struct DaySummary {
    hours: Vec<HourlyUsage>,
    loaded: u64,
    succeeded: u64,
    failed: u64,
    delivered: u64,
    callbacks_failed: u64,
    charged: Money,
    saved: Money,
}

impl DaySummary {
    fn of(found: &[HourlyUsage], first: Timestamp) -> Self {
        let hours: Vec<HourlyUsage> = (0..24)
            .map(|hour| {
                let hour = first + TimeDelta::hours(hour);
                let found = found.iter().find(|one| one.hour == hour).copied();
                found.unwrap_or_else(|| empty_hour(hour))
            })
            .collect();
        let sum = |of: fn(&HourlyUsage) -> u64| hours.iter().map(of).sum();
        let money = |of: fn(&HourlyUsage) -> Money| {
            hours
                .iter()
                .map(of)
                .fold(Money::ZERO, |sum, next| sum + next)
        };
        Self {
            loaded: sum(|hour| hour.loaded),
            succeeded: sum(|hour| hour.succeeded),
            failed: sum(|hour| hour.failed),
            delivered: sum(|hour| hour.delivered),
            callbacks_failed: sum(|hour| hour.callbacks_failed),
            charged: money(|hour| hour.charged),
            saved: money(|hour| hour.saved),
            hours,
        }
    }

    fn ended(&self) -> u64 {
        self.succeeded + self.failed
    }

    /// Loaded, completed, callbacks delivered, spent.
    fn sparklines(&self) -> [Markup; 4] {
        let of: [(&str, HourMetric); 4] = [
            ("Loaded", |hour| hour.loaded),
            ("Completed", |hour| hour.succeeded),
            ("Callbacks delivered", |hour| hour.delivered),
            ("Spent", |hour| hour.charged.nanos().unsigned_abs()),
        ];
        of.map(|(name, of)| {
            let values: Vec<u64> = self.hours.iter().map(of).collect();
            chart::sparkline(&format!("{name} per hour, last 24 hours"), &values)
        })
    }

    fn columns(&self) -> Markup {
        let columns: Vec<chart::ChartColumn> = self
            .hours
            .iter()
            .map(|hour| chart::ChartColumn {
                label: hour.hour.format("%d %b %H:00 UTC").to_string(),
                parts: vec![
                    ("good", "succeeded".to_owned(), hour.succeeded),
                    ("bad", "failed".to_owned(), hour.failed),
                ],
                ..chart::ChartColumn::default()
            })
            .collect();
        chart::column_chart("Cargo completed per hour, last 24 hours", 120.0, &columns)
    }
}

const fn empty_hour(hour: Timestamp) -> HourlyUsage {
    HourlyUsage {
        hour,
        loaded: 0,
        succeeded: 0,
        failed: 0,
        delivered: 0,
        callbacks_failed: 0,
        charged: Money::ZERO,
        saved: Money::ZERO,
    }
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let (shard, project, now) = (within.shard(), within.id(), state.clock.now());
    let first = start_of_hour(now) - TimeDelta::hours(23);
    let month = now.date_naive().with_day(1).unwrap_or(now.date_naive());
    let month = month.and_time(NaiveTime::MIN).and_utc();

    let day = DaySummary::of(&usage::list_hourly(shard, project, first).await?, first);
    let keys = api_key::list(&state.control, project, None, 500).await?;
    let hosts = callbacks::count_by_host(shard, project, first).await?;
    let ways = models::list_lanes(shard).await?;
    let account = account::find(shard, within.scope.organization).await?;
    let (held, posted) = account.map_or((Money::ZERO, Money::ZERO), |account| {
        (account.held, account.posted)
    });
    let (has_loaded, has_delivered) = overview::read_first_steps(shard, project).await?;
    let since = CargoId::from_uuid(first_id_at(first));
    let needs = alerts::find_alerts(&alerts::AlertInputs {
        now,
        is_active: within.project.is_active,
        keys: &keys,
        hosts: &hosts,
        lanes: &ways,
        ended: day.ended(),
        failed: day.failed,
        callbacks_failed: day.callbacks_failed,
        available: posted - held,
        charged_today: day.charged,
    });
    Ok(render_page(&OverviewPage {
        alerts: needs,
        month: overview::sum_charges(shard, project, month).await?,
        available: posted - held,
        held,
        failures: overview::list_failures(shard, project, since, MAX_FAILURES).await?,
        onboarding: (!has_delivered).then_some(Onboarding {
            has_key: !keys.is_empty(),
            has_loaded,
        }),
        sparklines: day.sparklines(),
        day,
        page: PageLayout::for_project("Overview", NavItem::Overview, &within, &client).live(),
    }))
}
