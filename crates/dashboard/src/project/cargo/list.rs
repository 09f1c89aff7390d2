//! The cargo list with histogram and filters, newest first.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::cargo::{CallbackState, CargoStatus};
use domain::id::{ApiKeyId, CargoId};
use domain::time::Timestamp;
use store::shard::failure_index::FailureKind;
use store::view::cargo::{self, CargoListItem};
use store::view::loads::{self, LoadFilterChoices};

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::project::cargo::filter::{CargoFilter, CargoQuery, StatusFilter};
use crate::project::cargo::histogram::{self, LoadHistogram};
use crate::project::cargo::search::{self, CargoSearchResults};
use crate::project::cargo::time_window::{TimeRange, TimeWindow};
use crate::project::key_names;
use crate::state::DashboardState;
use crate::text;

/// Models or keys to choose from.
const MAX_CHOICES: usize = 8;

#[derive(Template)]
#[template(path = "cargo_list.html")]
struct CargoListPage {
    page: PageLayout,
    query: CargoQuery,
    filter: CargoFilter,
    window: TimeWindow,
    results: CargoSearchResults,
    choices: LoadFilterChoices,
    /// Failures by error group or host, if the list shows failures.
    groups: Vec<(String, u64)>,
    histogram: LoadHistogram,
    keys: HashMap<ApiKeyId, String>,
    /// The project never loaded a cargo.
    is_empty_project: bool,
    /// The search box has no valid id.
    is_invalid_id: bool,
}

impl CargoListPage {
    fn base(&self) -> String {
        format!("{}/cargo", self.page.base())
    }

    fn link_with(&self, name: &str, value: &str) -> String {
        let change = (name, value);
        match name {
            // Error groups belong to one status.
            "status" => self.query.url_with(&self.base(), &[change, ("group", "")]),
            "range" => {
                let all = [change, ("from", ""), ("to", "")];
                self.query.url_with(&self.base(), &all)
            }
            _ => self.query.url_with(&self.base(), &[change]),
        }
    }

    fn older_link(&self, cargo: &CargoId) -> String {
        let cargo = cargo.to_string();
        let range = ("range", self.window.range.as_str());
        self.query
            .url_with(&self.base(), &[range, ("before", &cargo)])
    }

    fn newest_link(&self) -> String {
        self.query.url_with(&self.base(), &[])
    }

    /// The id without its prefix, in two parts: small screens hide the first.
    fn split_id(cargo: &CargoListItem) -> (String, String) {
        let digits = cargo.id.uuid().simple().to_string();
        let (mid, end) = digits.split_at_checked(24).unwrap_or_default();
        (mid.to_owned(), end.to_owned())
    }

    fn key_name(&self, key: &ApiKeyId) -> &str {
        self.keys.get(key).map_or("deleted key", String::as_str)
    }

    fn event_count(&self, status: StatusFilter) -> Option<u64> {
        let count = self.choices.events.get(status.event_name()?);
        Some(count.copied().unwrap_or_default())
    }

    fn is_filtered(&self) -> bool {
        !self.filter.is_time_only()
            || self.window.selected.is_some()
            || self.filter.before.is_some()
    }

    fn selected(&self) -> Option<(String, String)> {
        let (from, to) = self.window.selected?;
        let words = |at: Timestamp| at.format("%Y-%m-%d %H:%M").to_string();
        Some((words(from), words(to)))
    }

    /// Filters that the time and host form keeps, as hidden fields.
    fn hidden_fields(&self) -> [(&'static str, &str); 5] {
        let params = &self.query;
        [
            ("status", &params.status),
            ("model", &params.model),
            ("key", &params.key),
            ("group", &params.group),
            ("range", &params.range),
        ]
    }

    fn is_key(&self, key: &ApiKeyId) -> bool {
        self.filter.key == Some(*key)
    }

    fn is_status(&self, status: StatusFilter) -> bool {
        self.filter.status == Some(status)
    }

    fn is_failed(&self) -> bool {
        self.filter.status == Some(StatusFilter::Failed)
    }

    fn shows_hosts(&self) -> bool {
        self.filter.status == Some(StatusFilter::Exactly(CargoStatus::Undeliverable))
    }

    /// Chip class and text.
    fn state(&self, cargo: &CargoListItem) -> (&'static str, &'static str) {
        let outcome = self.results.outcomes.get(&cargo.id);
        if outcome.is_some_and(|outcome| outcome.is_cancelled) {
            return ("warm", "cancelled");
        }
        match (cargo.status(), cargo.success) {
            (CargoStatus::Pending, _) => ("calm", "pending"),
            (CargoStatus::Batched, _) => ("busy", "batched"),
            (CargoStatus::Processing, _) => ("busy", "processing"),
            (
                CargoStatus::Completed | CargoStatus::Delivered | CargoStatus::Undeliverable,
                Some(false),
            ) => ("bad", "failed"),
            (
                CargoStatus::Completed | CargoStatus::Delivered | CargoStatus::Undeliverable,
                Some(true) | None,
            ) => ("good", "completed"),
        }
    }

    fn callback(cargo: &CargoListItem) -> (&'static str, &'static str) {
        match (cargo.callback, cargo.completed_at) {
            (CallbackState::Delivered, _) => ("good", "delivered"),
            (CallbackState::Failed, _) => ("bad", "failed"),
            (CallbackState::Open, Some(_)) => ("busy", "sending"),
            (CallbackState::Open, None) => ("calm", "not yet due"),
        }
    }
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Query(params): Query<CargoQuery>,
) -> Result<Response, PageError> {
    let pasted = params.id.trim();
    if let Ok(cargo) = pasted.parse::<CargoId>() {
        let to = format!("/dashboard/project/{}/cargo/{cargo}", within.project.slug);
        return Ok(Redirect::to(&to).into_response());
    }
    let list = build_page(&state, &within, &client, &params).await?;
    Ok(render_page(&list))
}

async fn build_page(
    state: &DashboardState,
    within: &ProjectAccess,
    client: &ClientInfo,
    params: &CargoQuery,
) -> Result<CargoListPage, PageError> {
    let (shard, project) = (within.shard(), within.id());
    let filter = CargoFilter::parse(params);
    let last = cargo::find_last_loaded_at(shard, project).await?;
    let window = TimeWindow::of(
        TimeRange::parse(&params.range),
        &filter,
        shard.clock.now(),
        last,
    );
    let query = loads::LoadFilter {
        project,
        from: window.from,
        to: window.to,
        model: filter.model.as_deref(),
        key: filter.key,
    };
    let (from, to) = window.listed_range();
    // These queries are independent of each other.
    let (found, loads, choices) = tokio::try_join!(
        search::find(shard, project, &filter, &window),
        loads::count_by_period(shard, query, window.range.is_per_day()),
        loads::list_choices(shard, loads::LoadFilter { from, to, ..query }),
    )?;
    let (groups, keys) = tokio::try_join!(
        read_groups(within, &filter, &window),
        key_names::read_key_names(state, within)
    )?;
    let page = PageLayout::for_project("Cargo", NavItem::Cargo, within, client);
    let base = format!("{}/cargo", page.base());
    let histogram = histogram::draw(&loads, &window, &choices.models, params, &base);
    let is_newest = filter.before.is_none() && window.selected.is_none();
    Ok(CargoListPage {
        page: if is_newest { page.live() } else { page },
        groups,
        keys,
        is_empty_project: last.is_none(),
        is_invalid_id: !params.id.trim().is_empty(),
        query: params.clone(),
        filter,
        window,
        results: found,
        choices,
        histogram,
    })
}

async fn read_groups(
    within: &ProjectAccess,
    filter: &CargoFilter,
    window: &TimeWindow,
) -> Result<Vec<(String, u64)>, PageError> {
    let status = filter
        .status
        .filter(|status| *status != StatusFilter::Cancelled);
    let Some(kind) = status.and_then(StatusFilter::failure_kind) else {
        return Ok(Vec::new());
    };
    let newest = CargoFilter::default();
    let span = window.id_range(&newest);
    let mut groups = cargo::group_failures(
        within.shard(),
        within.id(),
        kind,
        span,
        search::MAX_EXAMINED,
    )
    .await?;
    // Cancelled cargo has a status of its own.
    groups.retain(|(label, _)| kind != FailureKind::Failed || label != search::CANCELLED_LABEL);
    Ok(groups)
}
