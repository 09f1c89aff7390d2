//! Cancels a group through the API. Workers then cancel its cargo.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use store::control::audit_log::{self, AuditEvent};
use store::view::groups;

use super::detail::parse_group_id;
use crate::access::ProjectAccess;
use crate::page_error::PageError;
use crate::project::api_call;
use crate::state::DashboardState;

/// Also for a deactivated project: its accepted cargo is still completed.
pub(crate) async fn cancel(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path((_, group)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let group = parse_group_id(&within, &group)?;
    let name = groups::find_name(within.shard(), within.id(), group).await?;
    let name = name.ok_or(PageError::NotFound)?;
    let act = AuditEvent {
        organization: Some(within.scope.organization),
        project: Some(within.id()),
        action: "group.cancel_requested",
        subject: group.to_string(),
        detail: name,
    };
    audit_log::record(&state.control, &within.actor(), act, state.clock.now()).await?;
    let request = Request::post(format!("/groups/{group}/cancel"));
    api_call::send(&state, &within, request).await?;
    let slug = &within.project.slug;
    Ok(Redirect::to(&format!("/dashboard/project/{slug}/groups/{group}")).into_response())
}
