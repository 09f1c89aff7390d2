//! The second step of signing in: a code of the authenticator app, or a recovery code.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::api_key::SecretDigest;
use domain::secret_token::SecretToken;
use domain::time::Timestamp;
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use store::control::person::Person;
use store::control::second_factor;

use crate::access::ClientInfo;
use crate::assets;
use crate::cookie;
use crate::page::render_page_with_status;
use crate::page_error::PageError;
use crate::people::attempts::ThrottledAttempt;
use crate::people::session_start::{IdentityProof, actor, encode, start_session};
use crate::people::totp;
use crate::people::totp_secret;
use crate::state::DashboardState;

/// Continues the sign-in of a person whose password was correct, or who came by a one-time link.
pub(crate) async fn continue_sign_in(
    state: &DashboardState,
    person: &Person,
    client: &ClientInfo,
    next: &str,
    now: Timestamp,
) -> Result<Response, PageError> {
    let enrolment = second_factor::find(&state.control, person.id).await?;
    if !enrolment.is_some_and(|it| it.is_confirmed) {
        let proof = IdentityProof {
            has_second_factor: false,
            at: now,
        };
        return start_session(state, person, client, next, proof, now).await;
    }
    let token = SecretToken::from_random(rand::random());
    second_factor::begin_challenge(&state.control, token.digest(), person.id, now).await?;
    let cookie = cookie::issue_challenge(&token, &state.options).ok_or(PageError::NotFound)?;
    let path = format!("/dashboard/sign-in/code?next={}", encode(next));
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&path)).into_response())
}

/// Whether the code is right. Counts the attempt first; a code is accepted once.
pub(crate) async fn verify_code(
    state: &DashboardState,
    person: &Person,
    client: &ClientInfo,
    code: &str,
    now: Timestamp,
) -> Result<bool, PageError> {
    let attempt = ThrottledAttempt::new(&format!("code {}", person.email), &client.address);
    attempt.admit(state, now).await?;
    let code: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    let enrolment = second_factor::find(&state.control, person.id).await?;
    let Some(enrolment) = enrolment.filter(|it| it.is_confirmed) else {
        return Ok(false);
    };
    let secret = totp_secret::read(state, person.id, &enrolment);
    let step = secret.and_then(|it| totp::matching_step(&it, &code, enrolment.last_step, now));
    let is_right = if let Some(step) = step {
        second_factor::use_step(&state.control, person.id, step).await?
    } else {
        let (digest, by) = (recovery_digest(&code), actor(person, client));
        second_factor::use_recovery_code(&state.control, person.id, digest, &by, now).await?
    };
    if is_right {
        attempt.succeed(state).await?;
    } else {
        ThrottledAttempt::fail(state, Some(person), client, "code", now).await?;
    }
    Ok(is_right)
}

/// The digest of a recovery code, however it is typed. 80 random bits need no slow hash.
pub(crate) fn recovery_digest(code: &str) -> SecretDigest {
    let letters = code.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|c| c.to_ascii_uppercase()).collect();
    SecretDigest::of(&format!("recovery {letters}"))
}

#[derive(Debug, Template)]
#[template(path = "sign_in_code.html")]
struct CodePage<'a> {
    theme: &'static str,
    next: &'a str,
    has_failed: bool,
}

#[derive(Deserialize)]
pub(crate) struct CodeForm {
    #[serde(default)]
    next: String,
    #[serde(default)]
    code: String,
}

pub(crate) async fn page(client: ClientInfo, Query(given): Query<CodeForm>) -> Response {
    render_code(&client, &given.next, false)
}

fn render_code(client: &ClientInfo, next: &str, has_failed: bool) -> Response {
    let status = if has_failed {
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::OK
    };
    let page = CodePage {
        theme: client.theme,
        next,
        has_failed,
    };
    render_page_with_status(status, &page)
}

pub(crate) async fn enter_code(
    State(state): State<DashboardState>,
    client: ClientInfo,
    headers: HeaderMap,
    Form(given): Form<CodeForm>,
) -> Result<Response, PageError> {
    let now = state.clock.now();
    let expired = || {
        PageError::Invalid("This sign-in has expired. Start again on the sign-in page.".to_owned())
    };
    let token = cookie::read_challenge(&headers, &state.options).ok_or_else(expired)?;
    let found = second_factor::find_challenge(&state.control, token.digest(), now).await?;
    let person = found.ok_or_else(expired)?;
    if !verify_code(&state, &person, &client, &given.code, now).await? {
        return Ok(render_code(&client, &given.next, true));
    }
    second_factor::end_challenge(&state.control, token.digest()).await?;
    let proof = IdentityProof {
        has_second_factor: true,
        at: now,
    };
    let mut response = start_session(&state, &person, &client, &given.next, proof, now).await?;
    if let Some(cleared) = cookie::clear_challenge(&state.options) {
        response.headers_mut().append(SET_COOKIE, cleared);
    }
    Ok(response)
}
