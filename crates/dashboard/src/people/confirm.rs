//! Asks a signed-in person for the password or a code again, before changes that a stolen session
//! must not make.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::StatusCode;
use serde::Deserialize;
use store::control::{person, second_factor, session};

use crate::access::{Access, Authenticated, ClientInfo};
use crate::assets;
use crate::page::render_page_with_status;
use crate::page_error::PageError;
use crate::people::attempts::ThrottledAttempt;
use crate::people::password;
use crate::people::second_factor::verify_code;
use crate::people::session_start::{encode, safe_redirect_path};
use crate::state::DashboardState;

/// What the person is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProofMethod {
    Code,
    Password,
    SingleSignOn,
    /// Nothing is known of the person here: they sign in again.
    NewSignIn,
}

#[derive(Debug, Template)]
#[template(path = "confirm.html")]
struct ConfirmPage<'a> {
    theme: &'static str,
    csrf_token: &'a str,
    email: &'a str,
    next: &'a str,
    sso_path: String,
    method: ProofMethod,
    has_failed: bool,
}

#[derive(Deserialize)]
pub(crate) struct ConfirmForm {
    #[serde(default)]
    next: String,
    /// The password or the code.
    #[serde(default)]
    proof: String,
}

/// The method, and the password hash if that is what is asked for.
async fn choose_method(
    state: &DashboardState,
    access: &Access,
) -> Result<(ProofMethod, Option<String>), PageError> {
    let person = &access.signed_in.person;
    let enrolment = second_factor::find(&state.control, person.id).await?;
    if enrolment.is_some_and(|it| it.is_confirmed) {
        return Ok((ProofMethod::Code, None));
    }
    let email = person.email.parse().map_err(|_| PageError::NotFound)?;
    let credentials = person::find_credentials(&state.control, &email).await?;
    let hash = credentials.and_then(|it| it.password);
    let hash = hash.filter(|_| !state.options.sign_in.is_sso_only);
    Ok(match (hash, &state.identity_provider) {
        (Some(hash), _) => (ProofMethod::Password, Some(hash)),
        (None, Some(_)) => (ProofMethod::SingleSignOn, None),
        (None, None) => (ProofMethod::NewSignIn, None),
    })
}

fn render_confirm(
    access: &Arc<Access>,
    client: &ClientInfo,
    next: &str,
    method: ProofMethod,
    has_failed: bool,
) -> Response {
    let status = if has_failed {
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::OK
    };
    let page = ConfirmPage {
        theme: client.theme,
        csrf_token: &access.signed_in.csrf_token,
        email: &access.signed_in.person.email,
        next: safe_redirect_path(next),
        sso_path: format!("/dashboard/oidc?again=true&next={}", encode(next)),
        method,
        has_failed,
    };
    render_page_with_status(status, &page)
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
    Query(given): Query<ConfirmForm>,
) -> Result<Response, PageError> {
    let (method, _) = choose_method(&state, &access).await?;
    Ok(render_confirm(&access, &client, &given.next, method, false))
}

pub(crate) async fn confirm(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
    Form(given): Form<ConfirmForm>,
) -> Result<Response, PageError> {
    let (now, signed_in) = (state.clock.now(), &access.signed_in);
    let (method, hash) = choose_method(&state, &access).await?;
    let is_right = match method {
        ProofMethod::Code => {
            verify_code(&state, &signed_in.person, &client, &given.proof, now).await?
        }
        ProofMethod::Password => {
            let attempt = ThrottledAttempt::new(&signed_in.person.email, &client.address);
            attempt.admit(&state, now).await?;
            let is_right = password::verify(&state, given.proof.clone(), hash).await?;
            if is_right {
                attempt.succeed(&state).await?;
            } else {
                let person = Some(&signed_in.person);
                ThrottledAttempt::fail(&state, person, &client, "password", now).await?;
            }
            is_right
        }
        ProofMethod::SingleSignOn | ProofMethod::NewSignIn => false,
    };
    if !is_right {
        return Ok(render_confirm(&access, &client, &given.next, method, true));
    }
    let (has_factor, by) = (method == ProofMethod::Code, signed_in.actor());
    session::prove(&state.control, signed_in.digest, has_factor, &by, now).await?;
    Ok(Redirect::to(safe_redirect_path(&given.next)).into_response())
}
