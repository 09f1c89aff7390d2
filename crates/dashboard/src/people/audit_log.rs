//! The audit log of an organization.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::id::OrganizationId;
use serde::Deserialize;
use store::control::audit_log::{self, AuditLogEntry};

use crate::access::{ClientInfo, OrganizationAccess};
use crate::page::{PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

const PAGE_SIZE: usize = 100;

#[derive(Debug, Template)]
#[template(path = "audit.html")]
struct AuditPage {
    page: PageLayout,
    organization: OrganizationId,
    entries: Vec<AuditLogEntry>,
    older: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AuditQuery {
    pub(crate) before: Option<i64>,
}

/// A page of the log of one or all organizations, and the cursor of the next page.
pub(crate) async fn read_audit_page(
    state: &DashboardState,
    organization: Option<OrganizationId>,
    before: Option<i64>,
) -> Result<(Vec<AuditLogEntry>, Option<i64>), PageError> {
    let limit = u32::try_from(PAGE_SIZE + 1).unwrap_or(u32::MAX);
    let mut entries = audit_log::list(&state.control, organization, before, limit).await?;
    let more = entries.len() > PAGE_SIZE;
    entries.truncate(PAGE_SIZE);
    let older = entries.last().map(|entry| entry.id).filter(|_| more);
    Ok((entries, older))
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: OrganizationAccess,
    client: ClientInfo,
    Query(AuditQuery { before }): Query<AuditQuery>,
) -> Result<Response, PageError> {
    let organization = within.scope.organization;
    let (entries, older) = read_audit_page(&state, Some(organization), before).await?;
    Ok(render_page(&AuditPage {
        page: PageLayout::for_organization("Audit log", &within, &client),
        organization,
        entries,
        older,
    }))
}
