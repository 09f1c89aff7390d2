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

const PAGE: usize = 100;

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
    pub(crate) before: Option<i64>,
}

/// A page of the log of an organization, or of all; and where the next begins, if there is one.
pub(crate) async fn newest(
    desk: &Desk,
    organization: Option<OrganizationId>,
    before: Option<i64>,
) -> Result<(Vec<Entry>, Option<i64>), No> {
    let limit = u32::try_from(PAGE + 1).unwrap_or(u32::MAX);
    let mut entries = audit::page(&desk.control, organization, before, limit).await?;
    let more = entries.len() > PAGE;
    entries.truncate(PAGE);
    let older = entries.last().map(|entry| entry.id).filter(|_| more);
    Ok((entries, older))
}

pub(crate) async fn page(
    State(desk): State<Desk>,
    within: InOrganization,
    visitor: Visitor,
    Query(Before { before }): Query<Before>,
) -> Result<Response, No> {
    let organization = within.place.organization;
    let (entries, older) = newest(&desk, Some(organization), before).await?;
    Ok(show(&Audit {
        page: Page::of_organization("Audit log", &within, &visitor),
        organization,
        entries,
        older,
    }))
}
