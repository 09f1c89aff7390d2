//! Who changed what in an organization.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::id::OrganizationId;
use serde::Deserialize;
use store::control::audit::{self, Entry};

use crate::no::No;
use crate::page::{Page, show};
use crate::seat::{InOrganization, Visitor};
use crate::state::Desk;
use crate::text;

const PAGE: u32 = 100;

#[derive(Debug, Template)]
#[template(path = "audit.html")]
struct Audit {
    page: Page,
    organization: OrganizationId,
    entries: Vec<Entry>,
    older: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Before {
    before: Option<i64>,
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InOrganization,
    visitor: Visitor,
    Query(Before { before }): Query<Before>,
) -> Result<Response, No> {
    let organization = within.place.organization;
    let mut entries = audit::page(&desk.control, Some(organization), before, PAGE + 1).await?;
    let more = entries.len() > usize::try_from(PAGE).unwrap_or(usize::MAX);
    entries.truncate(usize::try_from(PAGE).unwrap_or(usize::MAX));
    Ok(show(&Audit {
        page: Page::of_organization("Audit log", &within, &visitor),
        organization,
        older: entries.last().map(|entry| entry.id).filter(|_| more),
        entries,
    }))
}
