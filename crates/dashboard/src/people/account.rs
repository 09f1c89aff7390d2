//! The user's own account: password and sessions.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::id::SessionId;
use domain::person::{Email, check_password};
use http::StatusCode;
use serde::Deserialize;
use store::control::session::LoginSession;
use store::control::{person, session};

use crate::access::{Authenticated, ClientInfo};
use crate::page::{NavItem, PageLayout, render_page_with_status};
use crate::page_error::PageError;
use crate::people::attempts::ThrottledAttempt;
use crate::people::password;
use crate::state::DashboardState;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "account.html")]
struct AccountPage {
    page: PageLayout,
    sessions: Vec<LoginSession>,
    message: Option<&'static str>,
    error: Option<String>,
    has_password: bool,
}

async fn render_account(
    state: &DashboardState,
    authenticated: &Authenticated,
    client: &ClientInfo,
    said: Option<&'static str>,
    wrong: Option<String>,
) -> Result<Response, PageError> {
    let Authenticated(access) = authenticated;
    let person = access.signed_in.person.id;
    let status = wrong
        .as_ref()
        .map_or(StatusCode::OK, |_| StatusCode::UNPROCESSABLE_ENTITY);
    let page = AccountPage {
        page: PageLayout::new("Account", NavItem::Account, access, client),
        sessions: session::list(&state.control, person, state.clock.now()).await?,
        message: said,
        error: wrong,
        has_password: !state.options.sign_in.is_sso_only,
    };
    Ok(render_page_with_status(status, &page))
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    authenticated: Authenticated,
    client: ClientInfo,
) -> Result<Response, PageError> {
    render_account(&state, &authenticated, &client, None, None).await
}

#[derive(Deserialize)]
pub(crate) struct PasswordForm {
    #[serde(default)]
    current: String,
    password: String,
}

pub(crate) async fn change_password(
    State(state): State<DashboardState>,
    authenticated: Authenticated,
    client: ClientInfo,
    Form(new): Form<PasswordForm>,
) -> Result<Response, PageError> {
    password::require_enabled(&state)?;
    let signed_in = &authenticated.0.signed_in;
    if let Err(wrong) = check_password(&new.password) {
        return render_account(
            &state,
            &authenticated,
            &client,
            None,
            Some(format!("{wrong}.")),
        )
        .await;
    }
    let email: Email = signed_in
        .person
        .email
        .parse()
        .map_err(|_| PageError::NotFound)?;
    let credentials = person::find_credentials(&state.control, &email)
        .await?
        .ok_or(PageError::NotFound)?;
    let now = state.clock.now();
    // Users who sign in with single sign-on may have no password yet.
    if credentials.password.is_some() {
        let attempt = ThrottledAttempt::new(email.as_str(), &client.address);
        attempt.admit(&state, now).await?;
        if !password::verify(&state, new.current, credentials.password).await? {
            let wrong = Some("The current password is wrong.".to_owned());
            return render_account(&state, &authenticated, &client, None, wrong).await;
        }
        attempt.succeed(&state).await?;
    }
    let hash = password::hash(&state, new.password).await?;
    let keep = Some(signed_in.digest.0.as_slice());
    let by = signed_in.actor();
    person::set_password(&state.control, signed_in.person.id, &hash, keep, &by, now).await?;
    let message = Some("Password changed. All other sessions have been signed out.");
    render_account(&state, &authenticated, &client, message, None).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct EndSessionForm {
    #[serde(default)]
    session: String,
}

/// Ends one session, or all if none is given.
pub(crate) async fn end_sessions(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    Form(EndSessionForm { session }): Form<EndSessionForm>,
) -> Result<Response, PageError> {
    let signed_in = &access.signed_in;
    let which: Option<SessionId> = match session.as_str() {
        "" => None,
        named => Some(named.parse().map_err(|_| PageError::NotFound)?),
    };
    let (by, now) = (signed_in.actor(), state.clock.now());
    session::end(&state.control, signed_in.person.id, which, &by, now).await?;
    Ok(Redirect::to("/dashboard/account").into_response())
}
