//! Callbacks: health of the hosts, failed callbacks, and bulk resends.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use chrono::TimeDelta;
use domain::id::CargoId;
use domain::time::{Timestamp, start_of_hour};
use serde::Deserialize;
use store::shard::resend::{self, Resend};
use store::view::callbacks::{self, FailedCallback};

use crate::access::{ClientInfo, ProjectAccess};
use crate::chart;
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text::{self, Markup};

mod host_health;

pub(crate) mod bulk_resend;

use bulk_resend::{ResendPreview, ResendQuery};
use host_health::HostHealth;

const PAGE_SIZE: usize = 50;
/// Due callbacks to count per host.
const MAX_DUE_PER_HOST: u32 = 100;
/// Hosts on one page.
const MAX_HOSTS: usize = 50;

#[derive(Debug, Template)]
#[template(path = "callbacks.html")]
struct CallbacksPage {
    page: PageLayout,
    query: CallbackQuery,
    hosts: Vec<HostHealth>,
    chart: Markup,
    highest: u64,
    first: Timestamp,
    last: Timestamp,
    failed_callbacks: Vec<FailedCallback>,
    older: Option<CargoId>,
    preview: Option<ResendPreview>,
    resend_query: ResendQuery,
    resends: Vec<Resend>,
}

/// The query string of the page.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CallbackQuery {
    range: Option<String>,
    host: Option<String>,
    before: Option<String>,
}

impl CallbackQuery {
    fn is_week(&self) -> bool {
        self.range.as_deref() == Some("7d")
    }

    fn host(&self) -> Option<&str> {
        self.host.as_deref().filter(|host| !host.is_empty())
    }

    fn range(&self) -> &'static str {
        if self.is_week() { "7d" } else { "24h" }
    }

    fn with_range(&self, range: &str) -> String {
        link(range, self.host(), None)
    }

    fn with_host(&self, host: &str) -> String {
        link(self.range(), Some(host), None)
    }

    fn without_host(&self) -> String {
        link(self.range(), None, None)
    }

    fn before_cargo(&self, before: &CargoId) -> String {
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

impl CallbacksPage {
    /// The hosts to choose from in the resend form.
    fn host_choices(&self) -> Vec<&str> {
        let known = self.hosts.iter().map(|host| host.name.as_str());
        let failed = self.failed_callbacks.iter().map(|it| it.host.as_str());
        let mut choices: Vec<_> = known.chain(failed).collect();
        choices.extend(self.query.host());
        choices.sort_unstable();
        choices.dedup();
        choices
    }

    fn is_selected(&self, host: &str) -> bool {
        let requested = Some(self.resend_query.resend.as_str()).filter(|host| !host.is_empty());
        requested.or_else(|| self.query.host()) == Some(host)
    }
}

fn resend_chip(resend: &Resend) -> (&'static str, &'static str) {
    match resend.state {
        resend::ResendState::Running => ("busy", "running"),
        resend::ResendState::Stopped => ("warm", "stopped"),
        resend::ResendState::Done => ("good", "done"),
    }
}

fn resend_bar(resend: &Resend) -> Markup {
    let sent = [("good", "queued", resend.sent)];
    chart::progress_bar("Callbacks resent", resend.total, &sent)
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Query(wanted): Query<CallbackQuery>,
    Query(params): Query<ResendQuery>,
) -> Result<Response, PageError> {
    let (shard, project, now) = (within.shard(), within.id(), state.clock.now());
    let hours = if wanted.is_week() { 7 * 24 } else { 24 };
    let since = start_of_hour(now) - TimeDelta::hours(hours - 1);
    let attempts = callbacks::count_by_host(shard, project, since).await?;
    let mut hosts = host_health::sum_by_host(&attempts);
    hosts.truncate(MAX_HOSTS);
    let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    let organization = within.scope.organization;
    let due = callbacks::count_due(shard, organization, project, &names, MAX_DUE_PER_HOST).await?;
    host_health::add_due(&mut hosts, due);
    let by_hour = callbacks::count_by_hour(shard, project, wanted.host(), since).await?;
    let (picture, highest) = host_health::draw_attempts(&by_hour, since, now);
    let (given_up, older) = read_failed_callbacks(&within, &wanted).await?;
    let preview = bulk_resend::preview(&within, &params, now).await?;
    Ok(render_page(&CallbacksPage {
        page: PageLayout::for_project("Callbacks", NavItem::Callbacks, &within, &client).live(),
        resends: resend::list(shard, project).await?,
        query: wanted,
        hosts,
        chart: picture,
        highest,
        first: since,
        last: start_of_hour(now),
        failed_callbacks: given_up,
        older,
        preview,
        resend_query: params,
    }))
}

async fn read_failed_callbacks(
    within: &ProjectAccess,
    wanted: &CallbackQuery,
) -> Result<(Vec<FailedCallback>, Option<CargoId>), PageError> {
    let before = wanted.before.as_deref().map(str::parse).transpose();
    let before = before.map_err(|_| PageError::NotFound)?;
    let limit = u32::try_from(PAGE_SIZE + 1).unwrap_or(u32::MAX);
    let (shard, project) = (within.shard(), within.id());
    let mut found = callbacks::list_failed(shard, project, wanted.host(), before, limit).await?;
    let more = found.len() > PAGE_SIZE;
    found.truncate(PAGE_SIZE);
    let older = found.last().map(|last| last.cargo).filter(|_| more);
    Ok((found, older))
}
