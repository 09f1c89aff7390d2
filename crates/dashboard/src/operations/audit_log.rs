//! The audit log of the whole service.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use store::control::audit_log::AuditLogEntry;

use crate::access::{Authenticated, ClientInfo};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::people::audit_log::{AuditQuery, read_audit_page};
use crate::state::DashboardState;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "operations_audit.html")]
struct OperationsAuditPage {
    page: PageLayout,
    entries: Vec<AuditLogEntry>,
    is_older_page: bool,
    older: Option<i64>,
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
    Query(AuditQuery { before }): Query<AuditQuery>,
) -> Result<Response, PageError> {
    let (entries, older) = read_audit_page(&state, None, before).await?;
    Ok(render_page(&OperationsAuditPage {
        page: PageLayout::new("Audit log", NavItem::Operations, &access, &client),
        entries,
        older,
        is_older_page: before.is_some(),
    }))
}
