//! Cancels one cargo through the API.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use store::control::audit_log::{self, AuditEvent};

use crate::access::ProjectAccess;
use crate::page_error::PageError;
use crate::project::api_call;
use crate::project::cargo::downloads::parse_cargo_id;
use crate::state::DashboardState;

/// If a provider has the cargo, the API records the request, and the page of the cargo says so.
pub(crate) async fn cancel(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let cargo = parse_cargo_id(&within, &cargo)?;
    let act = AuditEvent {
        organization: Some(within.scope.organization),
        project: Some(within.id()),
        action: "cargo.cancel_requested",
        subject: cargo.to_string(),
        ..AuditEvent::default()
    };
    audit_log::record(&state.control, &within.actor(), act, state.clock.now()).await?;
    let request = Request::post(format!("/cargo/{cargo}/cancel"));
    api_call::send(&state, &within, request).await?;
    let slug = &within.project.slug;
    Ok(Redirect::to(&format!("/dashboard/project/{slug}/cargo/{cargo}")).into_response())
}
