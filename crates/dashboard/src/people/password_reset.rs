//! Password reset, with a one-time link that an operator created.
//!
//! Where passwords are disabled, the link sets none. Then only a link that was made on the command
//! line for an operator works, and signs them in: the way in while single sign-on is down.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::api_key::SecretDigest;
use domain::person::check_password;
use domain::secret_token::SecretToken;
use http::StatusCode;
use serde::Deserialize;
use store::control::one_time_link::{self, LinkPurpose};
use store::control::person::{self, Person};

use crate::access::ClientInfo;
use crate::assets;
use crate::page::{render_page, render_page_with_status};
use crate::page_error::PageError;
use crate::people::password;
use crate::people::second_factor::continue_sign_in;
use crate::people::session_start::actor;
use crate::state::DashboardState;

#[derive(Debug, Template)]
#[template(path = "password_reset.html")]
struct PasswordResetPage<'a> {
    theme: &'static str,
    pass: &'a str,
    has_password: bool,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PasswordResetForm {
    pass: String,
    #[serde(default)]
    password: String,
}

fn link_expired() -> PageError {
    PageError::Invalid("This link was used or has expired. Ask for a new one.".to_owned())
}

/// The digest of a valid link, and its person.
async fn find_link(
    state: &DashboardState,
    text: &str,
) -> Result<(SecretDigest, Person), PageError> {
    let digest = SecretToken::parse(text).ok_or_else(link_expired)?.digest();
    let found = one_time_link::find(&state.control, digest, state.clock.now()).await?;
    let found = found.ok_or_else(link_expired)?;
    let LinkPurpose::PasswordReset { person } = found.purpose else {
        return Err(link_expired());
    };
    let person = person::find(&state.control, person).await?;
    let person = person.ok_or_else(link_expired)?;
    if !(found.created_by.is_none() && person.is_operator) {
        password::require_enabled(state)?;
    }
    Ok((digest, person))
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Query(given): Query<PasswordResetForm>,
) -> Result<Response, PageError> {
    find_link(&state, &given.pass).await?;
    Ok(render_page(&PasswordResetPage {
        theme: client.theme,
        pass: &given.pass,
        has_password: !state.options.sign_in.is_sso_only,
        error: None,
    }))
}

pub(crate) async fn reset_password(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Form(given): Form<PasswordResetForm>,
) -> Result<Response, PageError> {
    let (digest, person) = find_link(&state, &given.pass).await?;
    let has_password = !state.options.sign_in.is_sso_only;
    let hash = match check_password(&given.password) {
        Ok(()) if has_password => Some(password::hash(&state, given.password.clone()).await?),
        Err(wrong) if has_password => {
            let page = PasswordResetPage {
                theme: client.theme,
                pass: &given.pass,
                has_password,
                error: Some(format!("{wrong}.")),
            };
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(render_page_with_status(status, &page));
        }
        Ok(()) | Err(_) => None,
    };
    let now = state.clock.now();
    let redeemed = one_time_link::redeem(&state.control, digest, now).await?;
    redeemed.ok_or_else(link_expired)?;
    let by = actor(&person, &client);
    if let Some(hash) = hash {
        person::set_password(&state.control, person.id, &hash, None, &by, now).await?;
    }
    continue_sign_in(&state, &person, &client, "/dashboard", now).await
}
