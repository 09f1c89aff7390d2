//! Resends the callback of one cargo.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use store::control::audit_log::{self, AuditEvent};
use store::shard::resend::{self, ResendResult};

use crate::access::ProjectAccess;
use crate::page_error::PageError;
use crate::project::cargo::downloads::parse_cargo_id;
use crate::state::DashboardState;

pub(crate) async fn resend_callback(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let cargo = parse_cargo_id(&within, &cargo)?;
    let act = AuditEvent {
        organization: Some(within.scope.organization),
        project: Some(within.id()),
        action: "callback.resent",
        subject: cargo.to_string(),
        detail: "callback resent once".to_owned(),
    };
    audit_log::record(&state.control, &within.actor(), act, state.clock.now()).await?;
    let shard = within.shard();
    match resend::queue_one(shard, within.id(), cargo, shard.clock.now()).await? {
        ResendResult::Queued | ResendResult::AlreadyDue => {
            let to = format!("/dashboard/project/{}/cargo/{cargo}", within.project.slug);
            Ok(Redirect::to(&to).into_response())
        }
        ResendResult::NothingToSend => Err(PageError::Invalid(
            "There is no callback to send. The cargo is not completed yet, or it was loaded \
             without a callback_url."
                .to_owned(),
        )),
        ResendResult::Erased => Err(PageError::Invalid(
            "The answer was erased by the retention of the project. It cannot be sent again."
                .to_owned(),
        )),
        ResendResult::NotFound => Err(PageError::NotFound),
    }
}
