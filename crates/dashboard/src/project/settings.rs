//! A project's settings: activate and deactivate it.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::id::ProjectId;
use store::control::project;

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
}

pub(crate) async fn page(within: ProjectAccess, client: ClientInfo) -> Response {
    render_page(&SettingsPage {
        id: within.id(),
        is_active: within.project.is_active,
        page: PageLayout::for_project("Settings", NavItem::Settings, &within, &client),
    })
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
