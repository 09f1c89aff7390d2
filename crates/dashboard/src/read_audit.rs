//! Reads that the audit log shows: exports, and what operators read of other organizations.

use domain::id::ProjectId;
use store::control::audit_log::{self, AuditEvent};

use crate::access::{OrganizationAccess, PageScope, ProjectAccess, SignedIn};
use crate::page_error::PageError;
use crate::state::DashboardState;

/// A download of a project's rows.
pub(crate) async fn record_export(
    state: &DashboardState,
    within: &ProjectAccess,
    action: &str,
    subject: String,
) -> Result<(), PageError> {
    let (signed_in, project) = (&within.access.signed_in, Some(within.id()));
    record(state, signed_in, &within.scope, project, action, subject).await
}

/// A download of an organization's rows.
pub(crate) async fn record_organization_export(
    state: &DashboardState,
    within: &OrganizationAccess,
    action: &str,
) -> Result<(), PageError> {
    let (signed_in, subject) = (&within.access.signed_in, String::new());
    record(state, signed_in, &within.scope, None, action, subject).await
}

/// A page with a customer's words, opened by an operator who is no member. Members read their own.
pub(crate) async fn record_operator_read(
    state: &DashboardState,
    within: &ProjectAccess,
    action: &str,
    subject: String,
) -> Result<(), PageError> {
    if within.scope.is_member {
        return Ok(());
    }
    record_export(state, within, action, subject).await
}

async fn record(
    state: &DashboardState,
    signed_in: &SignedIn,
    scope: &PageScope,
    project: Option<ProjectId>,
    action: &str,
    subject: String,
) -> Result<(), PageError> {
    let event = AuditEvent {
        organization: Some(scope.organization),
        project,
        action,
        subject,
        ..AuditEvent::default()
    };
    let (by, now) = (signed_in.actor(), state.clock.now());
    Ok(audit_log::record(&state.control, &by, event, now).await?)
}
