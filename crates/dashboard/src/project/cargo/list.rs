//! The list: dense, newest first, with what to choose by above it.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::cargo::{CallbackState, Status};
use domain::id::{CargoId, KeyId};
use domain::time::Timestamp;
use store::view::cargo::{self, Listed};
use store::view::loads::{self, Choices};

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::project::cargo::filter::{Asked, Filter, Stand};
use crate::project::cargo::histogram::{self, Histogram};
use crate::project::cargo::look::{self, Found};
use crate::project::cargo::window::{Range, Window};
use crate::project::key_names;
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text;

/// So many choices of one kind are offered.
const OFFERED: usize = 8;

#[derive(Template)]
#[template(path = "cargo_list.html")]
struct List {
    page: Page,
    asked: Asked,
    filter: Filter,
    window: Window,
    found: Found,
    choices: Choices,
    /// How what failed groups, where that is asked for.
    groups: Vec<(String, u64)>,
    histogram: Histogram,
    keys: HashMap<KeyId, String>,
    /// Nothing was loaded here, ever.
    is_new: bool,
    /// What was pasted is no id.
    is_unread: bool,
}

impl List {
    fn base(&self) -> String {
        format!("{}/cargo", self.page.base())
    }

    fn with(&self, name: &str, value: &str) -> String {
        let change = (name, value);
        match name {
            // An error's group and a host belong to one state.
            "status" => self.asked.with(&self.base(), &[change, ("group", "")]),
            "range" => {
                let all = [change, ("from", ""), ("to", "")];
                self.asked.with(&self.base(), &all)
            }
            _ => self.asked.with(&self.base(), &[change]),
        }
    }

    fn before(&self, cargo: &CargoId) -> String {
        let cargo = cargo.to_string();
        let range = ("range", self.window.range.as_str());
        self.asked.with(&self.base(), &[range, ("before", &cargo)])
    }

    fn newest(&self) -> String {
        self.asked.with(&self.base(), &[])
    }

    /// An id without its prefix: what small screens leave out, and the end, by which it is known.
    fn halves(cargo: &Listed) -> (String, String) {
        let digits = cargo.id.uuid().simple().to_string();
        let (mid, end) = digits.split_at_checked(24).unwrap_or_default();
        (mid.to_owned(), end.to_owned())
    }

    fn key_name(&self, key: &KeyId) -> &str {
        self.keys
            .get(key)
            .map_or("a key that is gone", String::as_str)
    }

    fn event(&self, stand: Stand) -> Option<u64> {
        let count = self.choices.events.get(stand.event()?);
        Some(count.copied().unwrap_or_default())
    }

    fn is_filtered(&self) -> bool {
        !self.filter.is_plain() || self.window.chosen.is_some() || self.filter.before.is_some()
    }

    fn chosen(&self) -> Option<(String, String)> {
        let (from, to) = self.window.chosen?;
        let words = |at: Timestamp| at.format("%Y-%m-%d %H:%M").to_string();
        Some((words(from), words(to)))
    }

    /// What the form beside the choices leaves as it is.
    fn kept(&self) -> [(&'static str, &str); 5] {
        let asked = &self.asked;
        [
            ("status", &asked.status),
            ("model", &asked.model),
            ("key", &asked.key),
            ("group", &asked.group),
            ("range", &asked.range),
        ]
    }

    fn is_key(&self, key: &KeyId) -> bool {
        self.filter.key == Some(*key)
    }

    fn is_stand(&self, stand: Stand) -> bool {
        self.filter.stand == Some(stand)
    }

    fn is_failed(&self) -> bool {
        self.filter.stand == Some(Stand::Failed)
    }

    fn hosts(&self) -> bool {
        self.filter.stand == Some(Stand::Of(Status::Undeliverable))
    }

    /// A class of chips, and the word.
    fn state(cargo: &Listed) -> (&'static str, &'static str) {
        match (cargo.status(), cargo.success) {
            (Status::Pending, _) => ("calm", "pending"),
            (Status::Batched, _) => ("busy", "batched"),
            (Status::Processing, _) => ("busy", "processing"),
            (Status::Completed | Status::Delivered | Status::Undeliverable, Some(false)) => {
                ("bad", "failed")
            }
            (Status::Completed | Status::Delivered | Status::Undeliverable, Some(true) | None) => {
                ("good", "completed")
            }
        }
    }

    fn callback(cargo: &Listed) -> (&'static str, &'static str) {
        match (cargo.callback, cargo.completed_at) {
            (CallbackState::Delivered, _) => ("good", "delivered"),
            (CallbackState::Failed, _) => ("bad", "given up"),
            (CallbackState::Open, Some(_)) => ("busy", "being sent"),
            (CallbackState::Open, None) => ("calm", "later"),
        }
    }
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Result<Response, No> {
    let pasted = asked.id.trim();
    if let Ok(cargo) = pasted.parse::<CargoId>() {
        let to = format!("/dashboard/project/{}/cargo/{cargo}", within.project.slug);
        return Ok(Redirect::to(&to).into_response());
    }
    let list = read(&desk, &within, &visitor, &asked).await?;
    Ok(show(&list))
}

async fn read(
    desk: &Desk,
    within: &InProject,
    visitor: &Visitor,
    asked: &Asked,
) -> Result<List, No> {
    let (shard, project) = (within.shard(), within.id());
    let filter = Filter::read(asked);
    let last = cargo::last(shard, project).await?;
    let window = Window::of(Range::parse(&asked.range), &filter, shard.clock.now(), last);
    let meant = loads::Asked {
        project,
        from: window.from,
        to: window.to,
        model: filter.model.as_deref(),
        key: filter.key,
    };
    let (from, to) = window.listed();
    // None of these waits for another.
    let (found, loads, choices) = tokio::try_join!(
        look::find(shard, project, &filter, &window),
        loads::columns(shard, meant, window.range.per_day()),
        loads::choices(shard, loads::Asked { from, to, ..meant }),
    )?;
    let (groups, keys) = tokio::try_join!(
        groups(within, &filter, &window),
        key_names::of(desk, within)
    )?;
    let page = Page::of_project("Cargo", Here::Cargo, within, visitor);
    let base = format!("{}/cargo", page.base());
    let histogram = histogram::draw(&loads, &window, &choices.models, asked, &base);
    let is_newest = filter.before.is_none() && window.chosen.is_none();
    Ok(List {
        page: if is_newest { page.live() } else { page },
        groups,
        keys,
        is_new: last.is_none(),
        is_unread: !asked.id.trim().is_empty(),
        asked: asked.clone(),
        filter,
        window,
        found,
        choices,
        histogram,
    })
}

async fn groups(
    within: &InProject,
    filter: &Filter,
    window: &Window,
) -> Result<Vec<(String, u64)>, No> {
    let Some(kind) = filter.stand.and_then(Stand::trouble) else {
        return Ok(Vec::new());
    };
    let newest = Filter::default();
    let span = window.span(&newest);
    Ok(cargo::groups(within.shard(), within.id(), kind, span, look::MOST).await?)
}
