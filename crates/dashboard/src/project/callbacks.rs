//! Callbacks: how hosts answer, what is due, what was given up, and sending it again.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use chrono::TimeDelta;
use domain::id::CargoId;
use domain::time::{Timestamp, hour};
use serde::Deserialize;
use store::shard::resend::{self, Resend};
use store::view::callbacks::{self, GivenUp};

use crate::chart;
use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text::{self, Markup};

mod health;

pub(crate) mod again;

use again::{Asked, Preview};
use health::Host;

const PAGE: usize = 50;
/// At each host, so many that are due are looked at.
const LOOKED_AT: u32 = 100;
/// The hosts that a page tells apart.
const HOSTS: usize = 50;

#[derive(Debug, Template)]
#[template(path = "callbacks.html")]
struct Callbacks {
    page: Page,
    wanted: Wanted,
    hosts: Vec<Host>,
    picture: Markup,
    highest: u64,
    first: Timestamp,
    last: Timestamp,
    given_up: Vec<GivenUp>,
    older: Option<CargoId>,
    preview: Option<Preview>,
    asked: Asked,
    resends: Vec<Resend>,
}

/// All of it stands in the address.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Wanted {
    range: Option<String>,
    host: Option<String>,
    before: Option<String>,
}

impl Wanted {
    fn is_week(&self) -> bool {
        self.range.as_deref() == Some("7d")
    }

    fn host(&self) -> Option<&str> {
        self.host.as_deref().filter(|host| !host.is_empty())
    }

    fn range(&self) -> &'static str {
        if self.is_week() { "7d" } else { "24h" }
    }

    fn over(&self, range: &str) -> String {
        link(range, self.host(), None)
    }

    fn at(&self, host: &str) -> String {
        link(self.range(), Some(host), None)
    }

    fn everywhere(&self) -> String {
        link(self.range(), None, None)
    }

    fn older(&self, before: &CargoId) -> String {
        link(self.range(), self.host(), Some(*before))
    }
}

fn link(range: &str, host: Option<&str>, before: Option<CargoId>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("range", range);
    if let Some(host) = host {
        query.append_pair("host", host);
    }
    if let Some(before) = before {
        query.append_pair("before", &before.to_string());
    }
    format!("?{}", query.finish())
}

impl Callbacks {
    /// Those that something may be sent to again.
    fn choices(&self) -> Vec<&str> {
        let known = self.hosts.iter().map(|host| host.name.as_str());
        let failed = self.given_up.iter().map(|it| it.host.as_str());
        let mut choices: Vec<_> = known.chain(failed).collect();
        choices.extend(self.wanted.host());
        choices.sort_unstable();
        choices.dedup();
        choices
    }

    fn is_chosen(&self, host: &str) -> bool {
        let asked = Some(self.asked.resend.as_str()).filter(|host| !host.is_empty());
        asked.or_else(|| self.wanted.host()) == Some(host)
    }
}

fn resend_chip(resend: &Resend) -> (&'static str, &'static str) {
    match resend.state {
        resend::State::Running => ("busy", "running"),
        resend::State::Stopped => ("warm", "stopped"),
        resend::State::Done => ("good", "done"),
    }
}

fn resend_bar(resend: &Resend) -> Markup {
    let sent = [("good", "on their way", resend.sent)];
    chart::bar("Callbacks sent again", resend.total, &sent)
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Query(wanted): Query<Wanted>,
    Query(asked): Query<Asked>,
) -> Result<Response, No> {
    let (shard, project, now) = (within.shard(), within.id(), desk.clock.now());
    let hours = if wanted.is_week() { 7 * 24 } else { 24 };
    let since = hour(now) - TimeDelta::hours(hours - 1);
    let attempts = callbacks::hosts(shard, project, since).await?;
    let mut hosts = health::hosts(&attempts);
    hosts.truncate(HOSTS);
    let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    let organization = within.place.organization;
    let due = callbacks::due(shard, organization, project, &names, LOOKED_AT).await?;
    health::add_due(&mut hosts, due);
    let by_hour = callbacks::hours(shard, project, wanted.host(), since).await?;
    let (picture, highest) = health::draw(&by_hour, since, now);
    let (given_up, older) = given_up(&within, &wanted).await?;
    let preview = again::preview(&within, &asked, now).await?;
    Ok(show(&Callbacks {
        page: Page::of_project("Callbacks", Here::Callbacks, &within, &visitor).live(),
        resends: resend::list(shard, project).await?,
        wanted,
        hosts,
        picture,
        highest,
        first: since,
        last: hour(now),
        given_up,
        older,
        preview,
        asked,
    }))
}

async fn given_up(
    within: &InProject,
    wanted: &Wanted,
) -> Result<(Vec<GivenUp>, Option<CargoId>), No> {
    let before = wanted.before.as_deref().map(str::parse).transpose();
    let before = before.map_err(|_| No::NotFound)?;
    let most = u32::try_from(PAGE + 1).unwrap_or(u32::MAX);
    let (shard, project) = (within.shard(), within.id());
    let mut found = callbacks::given_up(shard, project, wanted.host(), before, most).await?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let older = found.last().map(|last| last.cargo).filter(|_| more);
    Ok((found, older))
}
