//! Who changed what, anywhere.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use store::control::audit::Entry;

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::people::audit::{Before, newest};
use crate::seat::{Seated, Visitor};
use crate::state::Desk;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "operations_audit.html")]
struct Audit {
    page: Page,
    entries: Vec<Entry>,
    is_later: bool,
    older: Option<i64>,
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    Seated(seat): Seated,
    visitor: Visitor,
    Query(Before { before }): Query<Before>,
) -> Result<Response, No> {
    let (entries, older) = newest(&desk, None, before).await?;
    Ok(show(&Audit {
        page: Page::new("Audit log", Here::Operations, &seat, &visitor),
        entries,
        older,
        is_later: before.is_some(),
    }))
}
