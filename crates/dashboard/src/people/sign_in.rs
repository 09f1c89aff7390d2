//! Signing in and out. Neither the response nor its timing reveals whether an address is known.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::person::Email;
use http::StatusCode;
use http::header::SET_COOKIE;
use serde::Deserialize;
use store::control::person::{self, Person};
use store::control::session;

use crate::access::{Authenticated, ClientInfo};
use crate::assets;
use crate::cookie;
use crate::page::{render_page, render_page_with_status};
use crate::page_error::PageError;
use crate::people::attempts::ThrottledAttempt;
use crate::people::password;
use crate::people::second_factor::continue_sign_in;
use crate::people::session_start::encode;
use crate::state::DashboardState;

#[derive(Debug, Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    theme: &'static str,
    next: &'a str,
    email: &'a str,
    has_failed: bool,
    has_password: bool,
    /// Where single sign-on starts, if it is configured.
    sso_path: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct SignInQuery {
    #[serde(default)]
    next: String,
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Query(SignInQuery { next }): Query<SignInQuery>,
) -> Response {
    render_page(&SignInPage {
        theme: client.theme,
        next: &next,
        email: "",
        has_failed: false,
        has_password: !state.options.sign_in.is_sso_only,
        sso_path: sso_path(&state, &next),
    })
}

fn sso_path(state: &DashboardState, next: &str) -> Option<String> {
    state.identity_provider.as_ref()?;
    Some(format!("/dashboard/oidc?next={}", encode(next)))
}

#[derive(Deserialize)]
pub(crate) struct SignInForm {
    email: String,
    password: String,
    #[serde(default)]
    next: String,
}

pub(crate) async fn sign_in(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Form(given): Form<SignInForm>,
) -> Result<Response, PageError> {
    password::require_enabled(&state)?;
    let now = state.clock.now();
    let attempt = ThrottledAttempt::new(&given.email, &client.address);
    attempt.admit(&state, now).await?;
    let (known, is_correct) = authenticate(&state, &given).await?;
    let Some(person) = known.as_ref().filter(|_| is_correct) else {
        ThrottledAttempt::fail(&state, known.as_ref(), &client, "password", now).await?;
        let page = SignInPage {
            theme: client.theme,
            next: &given.next,
            email: &given.email,
            has_failed: true,
            has_password: true,
            sso_path: sso_path(&state, &given.next),
        };
        return Ok(render_page_with_status(StatusCode::UNAUTHORIZED, &page));
    };
    attempt.succeed(&state).await?;
    continue_sign_in(&state, person, &client, &given.next, now).await
}

/// The person with this address, and whether the password lets them in.
async fn authenticate(
    state: &DashboardState,
    given: &SignInForm,
) -> Result<(Option<Person>, bool), PageError> {
    let credentials = match given.email.parse::<Email>() {
        Ok(email) => person::find_credentials(&state.control, &email).await?,
        Err(_) => None,
    };
    let (person, hash) = credentials.map_or((None, None), |it| (Some(it.person), it.password));
    let is_correct = password::verify(state, given.password.clone(), hash).await?;
    let is_active = person.as_ref().is_some_and(|person| person.is_active);
    Ok((person, is_correct && is_active))
}

pub(crate) async fn sign_out(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
) -> Result<Response, PageError> {
    let signed_in = &access.signed_in;
    let (which, now) = (Some(signed_in.session), state.clock.now());
    session::end(
        &state.control,
        signed_in.person.id,
        which,
        &signed_in.actor(),
        now,
    )
    .await?;
    let cookie = cookie::clear_session(&state.options).ok_or(PageError::NotFound)?;
    Ok(([(SET_COOKIE, cookie)], Redirect::to("/dashboard/sign-in")).into_response())
}
