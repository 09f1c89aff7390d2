//! The layout around every page: user, scope and navigation.

use std::sync::Arc;

use askama::Template;
use axum::response::{Html, IntoResponse as _, Response};
use domain::person::Role;
use http::StatusCode;
use store::control::membership::ScopeChoice;

use crate::access::{Access, ClientInfo, OrganizationAccess, PageScope, ProjectAccess};

/// An entry of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavItem {
    Overview,
    Cargo,
    Groups,
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

impl NavItem {
    /// The entries of a project in display order, each with its path and name.
    pub(crate) const PROJECT: [(Self, &'static str, &'static str); 10] = [
        (Self::Overview, "", "Overview"),
        (Self::Cargo, "/cargo", "Cargo"),
        (Self::Groups, "/groups", "Groups"),
        (Self::Batches, "/batches", "Batches"),
        (Self::Files, "/files", "Files"),
        (Self::Callbacks, "/callbacks", "Callbacks"),
        (Self::Usage, "/usage", "Usage"),
        (Self::Models, "/models", "Models"),
        (Self::Keys, "/keys", "API keys"),
        (Self::Settings, "/settings", "Settings"),
    ];
}

/// What `layout.html` shows. Templates that extend it have this as `page`.
#[derive(Debug)]
pub(crate) struct PageLayout {
    pub(crate) title: String,
    pub(crate) nav_item: NavItem,
    pub(crate) access: Arc<Access>,
    pub(crate) scope: Option<PageScope>,
    pub(crate) theme: &'static str,
    /// Whether the page updates live.
    pub(crate) live: bool,
}

impl PageLayout {
    pub(crate) fn new(
        title: impl Into<String>,
        here: NavItem,
        access: &Arc<Access>,
        client: &ClientInfo,
    ) -> Self {
        Self {
            title: title.into(),
            nav_item: here,
            scope: access.scope.clone(),
            access: Arc::clone(access),
            theme: client.theme,
            live: false,
        }
    }

    pub(crate) fn for_project(
        title: impl Into<String>,
        here: NavItem,
        within: &ProjectAccess,
        client: &ClientInfo,
    ) -> Self {
        Self::new(title, here, &within.access, client)
    }

    pub(crate) fn for_organization(
        title: impl Into<String>,
        within: &OrganizationAccess,
        client: &ClientInfo,
    ) -> Self {
        Self::new(title, NavItem::Organization, &within.access, client)
    }

    pub(crate) const fn live(mut self) -> Self {
        self.live = true;
        self
    }

    pub(crate) fn csrf_token(&self) -> &str {
        &self.access.signed_in.csrf_token
    }

    pub(crate) fn slug(&self) -> Option<&str> {
        let project = self.scope.as_ref()?.project.as_ref()?;
        Some(&project.slug)
    }

    /// The path prefix of the project's pages.
    pub(crate) fn base(&self) -> String {
        format!("/dashboard/project/{}", self.slug().unwrap_or_default())
    }

    pub(crate) fn is_inactive(&self) -> bool {
        let project = self.scope.as_ref().and_then(|scope| scope.project.as_ref());
        project.is_some_and(|project| !project.is_active)
    }

    pub(crate) fn may_develop(&self) -> bool {
        self.may(Role::Developer)
    }

    pub(crate) fn may_own(&self) -> bool {
        self.may(Role::Owner)
    }

    fn may(&self, least: Role) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.role >= least)
    }

    pub(crate) fn choices(&self) -> &[ScopeChoice] {
        &self.access.choices
    }
}

pub(crate) fn render_page(page: &impl Template) -> Response {
    render_page_with_status(StatusCode::OK, page)
}

pub(crate) fn render_page_with_status(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(failure) => {
            tracing::error!(failure = %failure, "dashboard page failed to render");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
