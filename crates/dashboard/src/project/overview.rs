//! A project at a glance: is it working, what does it cost, what needs somebody.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chrono::{Datelike as _, NaiveTime, TimeDelta};
use domain::id::{CargoId, floor};
use domain::money::Money;
use domain::time::{Timestamp, hour};
use store::control::api_key;
use store::shard::account;
use store::view::usage::{self, Hour};
use store::view::{callbacks, models, overview};

use crate::chart;
use crate::no::No;
use crate::page::{Here, Page, show};
use crate::project::needs::{self, Need};
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text::{self, Markup};

/// How many of the newest failures are shown.
const FAILURES: u32 = 5;

#[derive(Debug, Template)]
#[template(path = "overview.html")]
struct Overview {
    page: Page,
    needs: Vec<Need>,
    day: Day,
    sparks: [Markup; 4],
    month: (Money, Money),
    available: Money,
    held: Money,
    failures: Vec<(CargoId, String)>,
    start: Option<Start>,
}

/// One of an hour's numbers.
type Of = fn(&Hour) -> u64;

/// What is left to do until the first callback has arrived.
#[derive(Debug)]
struct Start {
    has_key: bool,
    has_loaded: bool,
}

/// The last 24 hours.
#[derive(Debug)]
struct Day {
    hours: Vec<Hour>,
    loaded: u64,
    succeeded: u64,
    failed: u64,
    delivered: u64,
    given_up: u64,
    charged: Money,
    saved: Money,
}

impl Day {
    fn of(found: &[Hour], first: Timestamp) -> Self {
        let hours: Vec<Hour> = (0..24)
            .map(|hour| {
                let hour = first + TimeDelta::hours(hour);
                let found = found.iter().find(|one| one.hour == hour).copied();
                found.unwrap_or_else(|| quiet(hour))
            })
            .collect();
        let sum = |of: fn(&Hour) -> u64| hours.iter().map(of).sum();
        let money = |of: fn(&Hour) -> Money| {
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
            given_up: sum(|hour| hour.given_up),
            charged: money(|hour| hour.charged),
            saved: money(|hour| hour.saved),
            hours,
        }
    }

    fn ended(&self) -> u64 {
        self.succeeded + self.failed
    }

    /// Loaded, answered, called back, spent.
    fn sparks(&self) -> [Markup; 4] {
        let of: [(&str, Of); 4] = [
            ("Loaded", |hour| hour.loaded),
            ("Answered", |hour| hour.succeeded),
            ("Called back", |hour| hour.delivered),
            ("Spent", |hour| hour.charged.nanos().unsigned_abs()),
        ];
        of.map(|(name, of)| {
            let values: Vec<u64> = self.hours.iter().map(of).collect();
            chart::spark(&format!("{name} in each of the last 24 hours"), &values)
        })
    }

    fn columns(&self) -> Markup {
        let columns: Vec<chart::Column> = self
            .hours
            .iter()
            .map(|hour| chart::Column {
                label: hour.hour.format("%d %b %H:00 UTC").to_string(),
                parts: vec![
                    ("good", "succeeded".to_owned(), hour.succeeded),
                    ("bad", "failed".to_owned(), hour.failed),
                ],
                ..chart::Column::default()
            })
            .collect();
        chart::columns(
            "Cargo that ended in each of the last 24 hours",
            120.0,
            &columns,
        )
    }
}

const fn quiet(hour: Timestamp) -> Hour {
    Hour {
        hour,
        loaded: 0,
        succeeded: 0,
        failed: 0,
        delivered: 0,
        given_up: 0,
        charged: Money::ZERO,
        saved: Money::ZERO,
    }
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
) -> Result<Response, No> {
    let (shard, project, now) = (within.shard(), within.id(), desk.clock.now());
    let first = hour(now) - TimeDelta::hours(23);
    let month = now.date_naive().with_day(1).unwrap_or(now.date_naive());
    let month = month.and_time(NaiveTime::MIN).and_utc();

    let day = Day::of(&usage::hours(shard, project, first).await?, first);
    let keys = api_key::page(&desk.control, project, None, 500).await?;
    let hosts = callbacks::hosts(shard, project, first).await?;
    let ways = models::ways(shard).await?;
    let account = account::find(shard, within.place.organization).await?;
    let (held, posted) = account.map_or((Money::ZERO, Money::ZERO), |account| {
        (account.held, account.posted)
    });
    let (has_loaded, has_delivered) = overview::begun(shard, project).await?;
    let since = CargoId::from_uuid(floor(first));
    let needs = needs::of(&needs::Seen {
        now,
        is_active: within.project.is_active,
        keys: &keys,
        hosts: &hosts,
        ways: &ways,
        ended: day.ended(),
        failed: day.failed,
        given_up: day.given_up,
        available: posted - held,
        charged_today: day.charged,
    });
    Ok(show(&Overview {
        needs,
        month: overview::spent(shard, project, month).await?,
        available: posted - held,
        held,
        failures: overview::failures(shard, project, since, FAILURES).await?,
        start: (!has_delivered).then_some(Start {
            has_key: !keys.is_empty(),
            has_loaded,
        }),
        sparks: day.sparks(),
        day,
        page: Page::of_project("Overview", Here::Overview, &within, &visitor).live(),
    }))
}
