//! Errors of pages, and how they are shown.

use askama::Template;
use axum::response::{Html, IntoResponse, Redirect, Response};
use http::StatusCode;
use http::header::RETRY_AFTER;

use crate::assets;

#[derive(Debug)]
pub(crate) enum PageError {
    /// Not signed in. After signing in, the browser returns to `next`.
    NotSignedIn {
        next: Option<String>,
    },
    NotFound,
    /// Signed in, but the role is not sufficient.
    Forbidden(&'static str),
    /// The CSRF token is missing or wrong: a forged or outdated form.
    CsrfMismatch,
    /// The request body timed out or broke off.
    IncompleteBody,
    /// The form is larger than its route allows.
    FormTooLarge,
    /// The person must enter the password or a code again. Afterwards the browser opens `next`.
    ProofTooOld {
        next: String,
    },
    /// The organization, or the service, requires a second factor.
    NoSecondFactor,
    /// Invalid input.
    Invalid(String),
    /// Too many of `what`: attempts to prove an identity, or requests.
    RateLimited {
        what: &'static str,
        seconds: i64,
    },
    /// The person, or all people together, have too many live streams.
    TooManyStreams,
    Store(store::Error),
}

impl From<store::Error> for PageError {
    fn from(failure: store::Error) -> Self {
        Self::Store(failure)
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    title: &'a str,
    text: &'a str,
    signed_out: bool,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, title, text) = match self {
            Self::NotSignedIn { next: Some(next) } => {
                let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
                return Redirect::to(&format!("/dashboard/sign-in?next={next}")).into_response();
            }
            Self::NotSignedIn { next: None } => (
                StatusCode::UNAUTHORIZED,
                "You are signed out",
                "Sign in and try again.".to_owned(),
            ),
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "Not found",
                "This page does not exist, or you do not have access to it.".to_owned(),
            ),
            Self::Forbidden(why) => (StatusCode::FORBIDDEN, "Permission denied", why.to_owned()),
            Self::CsrfMismatch => (
                StatusCode::FORBIDDEN,
                "This form has expired",
                "Nothing was changed. Go back, reload the page and try again.".to_owned(),
            ),
            Self::IncompleteBody => (
                StatusCode::REQUEST_TIMEOUT,
                "The request was incomplete",
                "Nothing was changed. Go back and submit the form again.".to_owned(),
            ),
            Self::FormTooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "The form is too large",
                "Nothing was changed. Go back, shorten the text and submit the form again."
                    .to_owned(),
            ),
            Self::ProofTooOld { next } => {
                let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
                return Redirect::to(&format!("/dashboard/confirm?next={next}")).into_response();
            }
            Self::NoSecondFactor => {
                return Redirect::to("/dashboard/second-factor?required=true").into_response();
            }
            Self::Invalid(why) => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid request", why),
            Self::RateLimited { what, seconds } => return too_many(what, seconds),
            Self::TooManyStreams => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too many live pages",
                "Too many live pages are open. Close some of them, and reload this one.".to_owned(),
            ),
            Self::Store(failure) if failure.is_unavailable() => {
                tracing::warn!(failure = %failure, "dashboard page failed: database unavailable");
                return temporarily_unavailable(
                    "A database does not respond. Requests to other databases still work. Reload \
                     this page in a few seconds.",
                );
            }
            Self::Store(failure) if failure.is_nul_in_text() => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid request",
                "A text contains a NUL character. Go back, remove it and try again.".to_owned(),
            ),
            Self::Store(failure @ store::Error::KeyUnavailable(_)) => {
                tracing::warn!(failure = %failure, "dashboard page failed: data key unavailable");
                return temporarily_unavailable(
                    "The encryption key of this project is unavailable, so its contents cannot be \
                     read. Reload this page in a few seconds.",
                );
            }
            Self::Store(failure) => {
                let cause = failure.diagnosis();
                tracing::error!(failure = %failure, cause, "dashboard page failed");
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "Internal error",
                    "Something went wrong. The server log has the details.".to_owned(),
                )
            }
        };
        render_error(status, title, &text)
    }
}

fn temporarily_unavailable(text: &str) -> Response {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let page = render_error(status, "Temporarily unavailable", text);
    ([(RETRY_AFTER, "5")], page).into_response()
}

fn too_many(what: &str, seconds: i64) -> Response {
    let title = format!("Too many {what}");
    let text = format!("{title}. Wait {seconds} seconds and try again.");
    let page = render_error(StatusCode::TOO_MANY_REQUESTS, &title, &text);
    ([(RETRY_AFTER, seconds.to_string())], page).into_response()
}

fn render_error(status: StatusCode, title: &str, text: &str) -> Response {
    let said = ErrorPage {
        title,
        text,
        signed_out: status == StatusCode::UNAUTHORIZED,
    };
    let html = said.render().unwrap_or_else(|_| title.to_owned());
    (status, Html(html)).into_response()
}
