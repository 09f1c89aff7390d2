//! What is around every page: who is here, where, and what else there is.

use std::sync::Arc;

use askama::Template;
use axum::response::{Html, IntoResponse as _, Response};
use domain::person::Role;
use http::StatusCode;
use store::control::seat::Choice;

use crate::seat::{InOrganization, InProject, Place, Seat, Visitor};

/// Where in the navigation a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Here {
    Overview,
    Cargo,
    Batches,
    Files,
    Callbacks,
    Usage,
    Models,
    Keys,
    Settings,
    Organization,
    Operations,
    Account,
}

impl Here {
    /// Those of a project, in the order in which they are shown: the path, and the name.
    pub(crate) const PROJECT: [(Self, &'static str, &'static str); 9] = [
        (Self::Overview, "", "Overview"),
        (Self::Cargo, "/cargo", "Cargo"),
        (Self::Batches, "/batches", "Batches"),
        (Self::Files, "/files", "Files"),
        (Self::Callbacks, "/callbacks", "Callbacks"),
        (Self::Usage, "/usage", "Usage"),
        (Self::Models, "/models", "Models"),
        (Self::Keys, "/keys", "Keys"),
        (Self::Settings, "/settings", "Settings"),
    ];
}

/// The frame of a page. Templates that extend `layout.html` have it as `page`.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) here: Here,
    pub(crate) seat: Arc<Seat>,
    pub(crate) place: Option<Place>,
    pub(crate) theme: &'static str,
    /// Whether it changes by itself while it is looked at.
    pub(crate) live: bool,
}

impl Page {
    pub(crate) fn new(
        title: impl Into<String>,
        here: Here,
        seat: &Arc<Seat>,
        visitor: &Visitor,
    ) -> Self {
        Self {
            title: title.into(),
            here,
            place: seat.place.clone(),
            seat: Arc::clone(seat),
            theme: visitor.theme,
            live: false,
        }
    }

    pub(crate) fn of_project(
        title: impl Into<String>,
        here: Here,
        within: &InProject,
        visitor: &Visitor,
    ) -> Self {
        Self::new(title, here, &within.seat, visitor)
    }

    pub(crate) fn of_organization(
        title: impl Into<String>,
        within: &InOrganization,
        visitor: &Visitor,
    ) -> Self {
        Self::new(title, Here::Organization, &within.seat, visitor)
    }

    pub(crate) const fn live(mut self) -> Self {
        self.live = true;
        self
    }

    pub(crate) fn seal(&self) -> &str {
        &self.seat.guest.seal
    }

    /// The slug of the project whose page this is.
    pub(crate) fn slug(&self) -> Option<&str> {
        let project = self.place.as_ref()?.project.as_ref()?;
        Some(&project.slug)
    }

    /// The address that a project's pages begin with.
    pub(crate) fn base(&self) -> String {
        format!("/dashboard/project/{}", self.slug().unwrap_or_default())
    }

    pub(crate) fn is_inactive(&self) -> bool {
        let project = self.place.as_ref().and_then(|place| place.project.as_ref());
        project.is_some_and(|project| !project.is_active)
    }

    pub(crate) fn may_develop(&self) -> bool {
        self.may(Role::Developer)
    }

    pub(crate) fn may_own(&self) -> bool {
        self.may(Role::Owner)
    }

    fn may(&self, least: Role) -> bool {
        self.place.as_ref().is_some_and(|place| place.role >= least)
    }

    pub(crate) fn choices(&self) -> &[Choice] {
        &self.seat.choices
    }
}

/// A page, rendered.
pub(crate) fn show(page: &impl Template) -> Response {
    show_with(StatusCode::OK, page)
}

pub(crate) fn show_with(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(failure) => {
            tracing::error!(failure = %failure, "a page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
