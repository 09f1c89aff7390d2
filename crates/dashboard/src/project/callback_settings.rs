//! How a project's callbacks are sent: signing, its secrets, and metadata. A secret is shown only
//! in the response to the form that requests it.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::callback_settings::{
    CallbackSettings, CallbackSettingsChange, CallbackSettingsRefusal, PreviousSecret,
};
use domain::callback_signature::SigningRoots;
use domain::time::Timestamp;
use serde::Deserialize;
use store::control::audit_log::{self, AuditEvent};
use store::shard::callback_settings;

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

#[derive(Template)]
#[template(path = "callback_settings.html")]
struct CallbackSettingsPage {
    page: PageLayout,
    settings: CallbackSettings,
    now: Timestamp,
    /// Whether this installation has a signing root.
    can_sign: bool,
    shown_secret: Option<String>,
}

impl CallbackSettingsPage {
    fn previous(&self) -> Option<PreviousSecret> {
        self.settings.valid_previous(self.now)
    }
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let settings = callback_settings::find(within.shard(), within.id()).await?;
    Ok(render(&state, &within, &client, settings, None))
}

fn render(
    state: &DashboardState,
    within: &ProjectAccess,
    client: &ClientInfo,
    settings: CallbackSettings,
    shown_secret: Option<String>,
) -> Response {
    render_page(&CallbackSettingsPage {
        page: PageLayout::for_project("Callback settings", NavItem::Settings, within, client),
        settings,
        now: within.shard().clock.now(),
        can_sign: state.options.signing_roots.is_some(),
        shown_secret,
    })
}

pub(crate) async fn enable(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let roots = signing_roots(&state)?;
    let changed = change(&state, &within, CallbackSettingsChange::EnableSigning).await?;
    let secret = roots.secret(within.id(), changed.version).reveal();
    Ok(render(&state, &within, &client, changed, Some(secret)))
}

pub(crate) async fn disable(
    State(state): State<DashboardState>,
    within: ProjectAccess,
) -> Result<Response, PageError> {
    change(&state, &within, CallbackSettingsChange::DisableSigning).await?;
    Ok(redirect_to_page(&within))
}

#[derive(Debug, Deserialize)]
pub(crate) struct RotateSecretForm {
    /// 0, 1h, 24h or 7d.
    overlap: String,
    /// Confirms that a previous secret ends now.
    #[serde(default)]
    replace: Option<String>,
}

pub(crate) async fn rotate(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Form(form): Form<RotateSecretForm>,
) -> Result<Response, PageError> {
    let roots = signing_roots(&state)?;
    let overlap = form
        .overlap
        .parse()
        .map_err(|_| PageError::Invalid("Choose how long the old secret also signs.".to_owned()))?;
    let rotation = CallbackSettingsChange::Rotate {
        overlap,
        replaces_previous: form.replace.is_some(),
    };
    let changed = change(&state, &within, rotation).await?;
    let secret = roots.secret(within.id(), changed.version).reveal();
    Ok(render(&state, &within, &client, changed, Some(secret)))
}

pub(crate) async fn end_previous(
    State(state): State<DashboardState>,
    within: ProjectAccess,
) -> Result<Response, PageError> {
    change(&state, &within, CallbackSettingsChange::EndPrevious).await?;
    Ok(redirect_to_page(&within))
}

pub(crate) async fn show_secret(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let roots = signing_roots(&state)?;
    let settings = callback_settings::find(within.shard(), within.id()).await?;
    if !settings.is_signed {
        return Err(refused(CallbackSettingsRefusal::NotSigned));
    }
    record(&state, &within, "signing.secret_shown", "").await?;
    let secret = roots.secret(within.id(), settings.version).reveal();
    Ok(render(&state, &within, &client, settings, Some(secret)))
}

#[derive(Debug, Deserialize)]
pub(crate) struct MetadataForm {
    include: bool,
}

pub(crate) async fn set_metadata(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Form(MetadataForm { include }): Form<MetadataForm>,
) -> Result<Response, PageError> {
    let option = CallbackSettingsChange::IncludeMetadata(include);
    change(&state, &within, option).await?;
    Ok(redirect_to_page(&within))
}

fn signing_roots(state: &DashboardState) -> Result<&SigningRoots, PageError> {
    state.options.signing_roots.as_ref().ok_or_else(|| {
        PageError::Invalid(
            "This installation has no signing root. Ask its operator to set SVC_SIGNING_ROOT."
                .to_owned(),
        )
    })
}

/// Writes to the audit log, then changes the settings.
async fn change(
    state: &DashboardState,
    within: &ProjectAccess,
    change: CallbackSettingsChange,
) -> Result<CallbackSettings, PageError> {
    let (shard, now) = (within.shard(), within.shard().clock.now());
    let settings = callback_settings::find(shard, within.id()).await?;
    // A refused change is not in the audit log.
    settings.apply(change, now).map_err(refused)?;
    record(state, within, change.audit_action(), change.audit_detail()).await?;
    let changed = callback_settings::change(shard, within.id(), change, now).await?;
    changed.map_err(refused)
}

async fn record(
    state: &DashboardState,
    within: &ProjectAccess,
    action: &str,
    detail: &str,
) -> Result<(), PageError> {
    let event = AuditEvent {
        organization: Some(within.scope.organization),
        project: Some(within.id()),
        action,
        subject: within.project.slug.clone(),
        detail: detail.to_owned(),
    };
    let (by, now) = (within.actor(), state.clock.now());
    Ok(audit_log::record(&state.control, &by, event, now).await?)
}

fn refused(refusal: CallbackSettingsRefusal) -> PageError {
    let text = match refusal {
        CallbackSettingsRefusal::NotSigned => "Signing is off. Turn it on first.",
        CallbackSettingsRefusal::PreviousStillValid => {
            "The secret before this one still signs. End it first, or confirm that it ends now."
        }
    };
    PageError::Invalid(text.to_owned())
}

fn redirect_to_page(within: &ProjectAccess) -> Response {
    let slug = &within.project.slug;
    Redirect::to(&format!("/dashboard/project/{slug}/settings/callbacks")).into_response()
}
