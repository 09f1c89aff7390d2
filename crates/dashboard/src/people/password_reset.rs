//! Password reset, with a one-time link that an operator created.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::person::check_password;
use domain::secret_token::SecretToken;
use http::StatusCode;
use serde::Deserialize;
use store::control::audit_log::Actor;
use store::control::one_time_link::{self, LinkPurpose};
use store::control::person;

use crate::access::ClientInfo;
use crate::assets;
use crate::page::{render_page, render_page_with_status};
use crate::page_error::PageError;
use crate::people::password;
use crate::people::sign_in;
use crate::state::DashboardState;

#[derive(Debug, Template)]
#[template(path = "password_reset.html")]
struct PasswordResetPage<'a> {
    theme: &'static str,
    pass: &'a str,
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

pub(crate) async fn page(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Query(given): Query<PasswordResetForm>,
) -> Result<Response, PageError> {
    let token = SecretToken::parse(&given.pass).ok_or_else(link_expired)?;
    let found = one_time_link::find(&state.control, token.digest(), state.clock.now()).await?;
    if !matches!(
        found.map(|pass| pass.purpose),
        Some(LinkPurpose::PasswordReset { .. })
    ) {
        return Err(link_expired());
    }
    Ok(render_page(&PasswordResetPage {
        theme: client.theme,
        pass: &given.pass,
        error: None,
    }))
}

pub(crate) async fn reset_password(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Form(given): Form<PasswordResetForm>,
) -> Result<Response, PageError> {
    if let Err(wrong) = check_password(&given.password) {
        let page = PasswordResetPage {
            theme: client.theme,
            pass: &given.pass,
            error: Some(format!("{wrong}.")),
        };
        return Ok(render_page_with_status(
            StatusCode::UNPROCESSABLE_ENTITY,
            &page,
        ));
    }
    let now = state.clock.now();
    let token = SecretToken::parse(&given.pass).ok_or_else(link_expired)?;
    let hash = password::hash(&state, given.password.clone()).await?;
    let Some(LinkPurpose::PasswordReset { person }) =
        one_time_link::redeem(&state.control, token.digest(), now).await?
    else {
        return Err(link_expired());
    };
    let person = person::find(&state.control, person)
        .await?
        .ok_or_else(link_expired)?;
    let by = Actor {
        person: Some(person.id),
        name: person.email.clone(),
        address: Some(client.address.clone()),
    };
    person::set_password(&state.control, person.id, &hash, None, &by, now).await?;
    sign_in::start_session(&state, &person, &client, "/dashboard", now).await
}
