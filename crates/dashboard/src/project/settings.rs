//! A project's settings: whether its keys are let in.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::id::ProjectId;
use store::control::project;

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{InProject, Visitor};
use crate::state::Desk;

#[derive(Debug, Template)]
#[template(path = "settings.html")]
struct Settings {
    page: Page,
    id: ProjectId,
    is_active: bool,
}

pub(crate) async fn page(within: InProject, visitor: Visitor) -> Response {
    show(&Settings {
        id: within.id(),
        is_active: within.project.is_active,
        page: Page::of_project("Settings", Here::Settings, &within, &visitor),
    })
}

pub(crate) async fn activate(State(desk): State<Desk>, within: InProject) -> Result<Response, No> {
    let (by, now) = (within.author(), desk.clock.now());
    project::activate(&desk.control, within.id(), &by, now).await?;
    Ok(back(&within))
}

pub(crate) async fn deactivate(
    State(desk): State<Desk>,
    within: InProject,
) -> Result<Response, No> {
    let (by, now) = (within.author(), desk.clock.now());
    project::deactivate(&desk.control, within.id(), &by, now).await?;
    Ok(back(&within))
}

fn back(within: &InProject) -> Response {
    Redirect::to(&format!(
        "/dashboard/project/{}/settings",
        within.project.slug
    ))
    .into_response()
}
