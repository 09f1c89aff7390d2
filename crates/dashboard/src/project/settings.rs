//! A project's settings: activate and deactivate it, and how long its bodies are kept.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::id::ProjectId;
use domain::retention::ProjectRetention;
use serde::Deserialize;
use store::control::audit_log::{self, AuditEvent};
use store::control::project;
use store::shard::retention;

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;

#[derive(Debug, Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    page: PageLayout,
    id: ProjectId,
    is_active: bool,
    retention: ProjectRetention,
    /// How many days the installation keeps cargo.
    max_days: u32,
}

impl SettingsPage {
    fn is_zero(&self) -> bool {
        self.retention == ProjectRetention::Zero
    }

    fn is_default(&self) -> bool {
        self.retention == ProjectRetention::Installation
    }

    fn retention_text(&self) -> String {
        match self.retention {
            ProjectRetention::Installation => {
                format!("{} days, as this installation keeps cargo", self.max_days)
            }
            ProjectRetention::Days(1) => "1 day".to_owned(),
            ProjectRetention::Days(days) => format!("{days} days"),
            ProjectRetention::Zero => "zero retention".to_owned(),
        }
    }
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    Ok(render_page(&SettingsPage {
        id: within.id(),
        is_active: within.project.is_active,
        retention: retention::find(within.shard(), within.id()).await?,
        max_days: state.options.retention_days,
        page: PageLayout::for_project("Settings", NavItem::Settings, &within, &client),
    }))
}

#[derive(Debug, Deserialize)]
pub(crate) struct RetentionForm {
    /// Days, `zero` or `default`.
    retention: String,
}

/// Writes to the audit log, then changes the retention.
pub(crate) async fn set_retention(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Form(form): Form<RetentionForm>,
) -> Result<Response, PageError> {
    let max_days = state.options.retention_days;
    let chosen = form.retention.parse::<ProjectRetention>();
    let chosen = chosen.ok().and_then(|chosen| chosen.check(max_days).ok());
    let chosen = chosen.ok_or_else(|| {
        PageError::Invalid(format!("Choose zero retention, or 1 to {max_days} days."))
    })?;
    let event = AuditEvent {
        organization: Some(within.scope.organization),
        project: Some(within.id()),
        action: "project.retention_changed",
        subject: within.project.slug.clone(),
        detail: chosen.to_string(),
    };
    let (by, shard) = (within.actor(), within.shard());
    audit_log::record(&state.control, &by, event, state.clock.now()).await?;
    retention::set(shard, within.id(), chosen, shard.clock.now()).await?;
    Ok(redirect_to_settings(&within))
}

pub(crate) async fn activate(
    State(state): State<DashboardState>,
    within: ProjectAccess,
) -> Result<Response, PageError> {
    let (by, now) = (within.actor(), state.clock.now());
    project::activate(&state.control, within.id(), &by, now).await?;
    Ok(redirect_to_settings(&within))
}

pub(crate) async fn deactivate(
    State(state): State<DashboardState>,
    within: ProjectAccess,
) -> Result<Response, PageError> {
    let (by, now) = (within.actor(), state.clock.now());
    project::deactivate(&state.control, within.id(), &by, now).await?;
    Ok(redirect_to_settings(&within))
}

fn redirect_to_settings(within: &ProjectAccess) -> Response {
    Redirect::to(&format!(
        "/dashboard/project/{}/settings",
        within.project.slug
    ))
    .into_response()
}
