//! The page on which a person turns the second factor on and off.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::StatusCode;
use serde::Deserialize;
use store::control::{second_factor, session};

use crate::access::{Access, Authenticated, ClientInfo};
use crate::page::{NavItem, PageLayout, render_page_with_status};
use crate::page_error::PageError;
use crate::people::second_factor::recovery_digest;
use crate::people::totp;
use crate::people::totp_secret;
use crate::state::DashboardState;

const RECOVERY_CODES: usize = 10;

#[derive(Template)]
#[template(path = "second_factor.html")]
struct SecondFactorPage {
    page: PageLayout,
    is_on: bool,
    unused_codes: i64,
    /// The secret as text, and as the address that apps open; shown until the first code.
    secret: Option<(String, String)>,
    notices: EnrolmentNotices,
}

/// What the page says beside the state.
#[derive(Default)]
struct EnrolmentNotices {
    shows_secret: bool,
    /// Shown once.
    recovery_codes: Vec<String>,
    error: Option<&'static str>,
    /// A page that requires a second factor sent the person here.
    is_required: bool,
}

async fn render_second_factor(
    state: &DashboardState,
    access: &Arc<Access>,
    client: &ClientInfo,
    notices: EnrolmentNotices,
) -> Result<Response, PageError> {
    let person = &access.signed_in.person;
    let enrolment = second_factor::find(&state.control, person.id).await?;
    let (on, pending): (Vec<_>, Vec<_>) = enrolment.into_iter().partition(|it| it.is_confirmed);
    let shown = pending.first().filter(|_| notices.shows_secret);
    let secret = shown.and_then(|it| totp_secret::read(state, person.id, it));
    let secret = secret.map(|it| {
        let uri = totp::otpauth_uri(&it, &person.email);
        (totp::base32(&it), uri)
    });
    let status = match notices.error {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let page = SecondFactorPage {
        page: PageLayout::new("Second factor", NavItem::Account, access, client),
        is_on: !on.is_empty(),
        unused_codes: on.first().map_or(0, |it| it.recovery_codes),
        secret,
        notices,
    };
    Ok(render_page_with_status(status, &page))
}

#[derive(Debug, Deserialize)]
pub(crate) struct EnrolmentQuery {
    #[serde(default)]
    required: bool,
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
    Query(EnrolmentQuery { required }): Query<EnrolmentQuery>,
) -> Result<Response, PageError> {
    let notices = EnrolmentNotices {
        is_required: required && !access.signed_in.has_second_factor,
        ..EnrolmentNotices::default()
    };
    render_second_factor(&state, &access, &client, notices).await
}

/// Makes a secret and shows it. It protects nothing until the first code.
pub(crate) async fn start(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let secret: [u8; totp::SECRET_BYTES] = rand::random();
    let (person, now) = (access.signed_in.person.id, state.clock.now());
    let secret = totp_secret::encrypt(&state, person, &secret).ok_or(PageError::NotFound)?;
    second_factor::start_enrolment(&state.control, person, &secret, now).await?;
    let notices = EnrolmentNotices {
        shows_secret: true,
        ..EnrolmentNotices::default()
    };
    render_second_factor(&state, &access, &client, notices).await
}

#[derive(Debug, Deserialize)]
pub(crate) struct FirstCodeForm {
    code: String,
}

/// Turns the second factor on with a first code, and shows the recovery codes.
pub(crate) async fn confirm(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    client: ClientInfo,
    Form(FirstCodeForm { code }): Form<FirstCodeForm>,
) -> Result<Response, PageError> {
    let (signed_in, now) = (&access.signed_in, state.clock.now());
    let (person, by) = (signed_in.person.id, signed_in.actor());
    let enrolment = second_factor::find(&state.control, person).await?;
    let enrolment = enrolment
        .filter(|it| !it.is_confirmed)
        .ok_or(PageError::NotFound)?;
    let secret = totp_secret::read(&state, person, &enrolment).ok_or(PageError::NotFound)?;
    let code: String = code.chars().filter(char::is_ascii_digit).collect();
    let Some(step) = totp::matching_step(&secret, &code, enrolment.last_step, now) else {
        let wrong = "Wrong code. Check the clock of your device, and enter the code it shows now.";
        let notices = EnrolmentNotices {
            shows_secret: true,
            error: Some(wrong),
            ..EnrolmentNotices::default()
        };
        return render_second_factor(&state, &access, &client, notices).await;
    };
    let codes: Vec<String> = (0..RECOVERY_CODES)
        .map(|_| generate_recovery_code())
        .collect();
    let digests: Vec<_> = codes.iter().map(|code| recovery_digest(code)).collect();
    if !second_factor::confirm(&state.control, person, step, &digests, &by, now).await? {
        return Err(PageError::NotFound);
    }
    session::prove(&state.control, signed_in.digest, true, &by, now).await?;
    let notices = EnrolmentNotices {
        recovery_codes: codes,
        ..EnrolmentNotices::default()
    };
    render_second_factor(&state, &access, &client, notices).await
}

/// 80 random bits, in groups that people can copy.
fn generate_recovery_code() -> String {
    let letters = totp::base32(&rand::random::<[u8; 10]>());
    let letters: Vec<char> = letters.chars().collect();
    let groups = letters
        .chunks(4)
        .map(|group| group.iter().collect::<String>());
    groups.collect::<Vec<_>>().join("-")
}

pub(crate) async fn remove(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
) -> Result<Response, PageError> {
    let signed_in = &access.signed_in;
    let (by, now) = (signed_in.actor(), state.clock.now());
    second_factor::remove(&state.control, signed_in.person.id, &by, now).await?;
    Ok(Redirect::to("/dashboard/second-factor").into_response())
}
