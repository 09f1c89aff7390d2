//! Who changed what, anywhere.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use store::control::audit::{self, Entry};

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{Seated, Visitor};
use crate::state::Desk;
use crate::text;

const PAGE: usize = 100;

#[derive(Debug, Template)]
#[template(path = "operations_audit.html")]
struct Audit {
    page: Page,
    entries: Vec<Entry>,
    is_later: bool,
    older: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Before {
    before: Option<i64>,
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    visitor: Visitor,
    Query(Before { before }): Query<Before>,
) -> Result<Response, No> {
    let limit = u32::try_from(PAGE + 1).unwrap_or(u32::MAX);
    let mut entries = audit::page(&desk.control, None, before, limit).await?;
    let more = entries.len() > PAGE;
    entries.truncate(PAGE);
    Ok(show(&Audit {
        page: Page::new("Audit log", Here::Operations, &seat, &visitor),
        older: entries.last().map(|entry| entry.id).filter(|_| more),
        entries,
        is_later: before.is_some(),
    }))
}
