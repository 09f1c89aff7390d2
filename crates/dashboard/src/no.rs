//! The one way a page says no.

use askama::Template;
use axum::response::{Html, IntoResponse, Redirect, Response};
use http::StatusCode;
use http::header::RETRY_AFTER;

use crate::assets;

#[derive(Debug)]
pub(crate) enum No {
    /// Nobody is signed in: they may, and then come back here.
    SignIn {
        next: Option<String>,
    },
    NotFound,
    /// Somebody is signed in who may not.
    Forbidden(&'static str),
    /// The form was not ours, or is too old.
    Forged,
    /// The body of the request came too slowly, or broke off.
    Incomplete,
    /// What was asked for makes no sense.
    Invalid(String),
    TooMany {
        seconds: i64,
    },
    Failed(store::Error),
}

impl From<store::Error> for No {
    fn from(failure: store::Error) -> Self {
        Self::Failed(failure)
    }
}

#[derive(Template)]
#[template(path = "no.html")]
struct Said<'a> {
    title: &'a str,
    text: &'a str,
    signed_out: bool,
}

impl IntoResponse for No {
    fn into_response(self) -> Response {
        let (status, title, text) = match self {
            Self::SignIn { next: Some(next) } => {
                let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
                return Redirect::to(&format!("/dashboard/sign-in?next={next}")).into_response();
            }
            Self::SignIn { next: None } => (
                StatusCode::UNAUTHORIZED,
                "You are signed out",
                "Sign in and try again.".to_owned(),
            ),
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "Not found",
                "There is nothing here, or nothing that you may see.".to_owned(),
            ),
            Self::Forbidden(why) => (StatusCode::FORBIDDEN, "You may not do this", why.to_owned()),
            Self::Forged => (
                StatusCode::FORBIDDEN,
                "This form is too old",
                "Nothing was changed. Go back, reload the page and try again.".to_owned(),
            ),
            Self::Incomplete => (
                StatusCode::REQUEST_TIMEOUT,
                "The form did not arrive",
                "Nothing was changed. Go back and send it again.".to_owned(),
            ),
            Self::Invalid(why) => (StatusCode::UNPROCESSABLE_ENTITY, "That did not work", why),
            Self::TooMany { seconds } => {
                let text = format!("Too many tries. Wait {seconds} seconds and try again.");
                let said = said(StatusCode::TOO_MANY_REQUESTS, "Wait a moment", &text);
                return ([(RETRY_AFTER, seconds.to_string())], said).into_response();
            }
            Self::Failed(failure) if failure.is_away() => {
                tracing::warn!(failure = %failure, "a page found a database away");
                let text = "A database does not answer. What callers do goes on where it can; \
                    reload this page in a few seconds.";
                let said = said(StatusCode::SERVICE_UNAVAILABLE, "One moment", text);
                return ([(RETRY_AFTER, "5")], said).into_response();
            }
            Self::Failed(failure) => {
                tracing::error!(failure = %failure, cause = ?failure, "a page failed");
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "That is our fault",
                    "Something failed on our side. It is in the log of the server.".to_owned(),
                )
            }
        };
        said(status, title, &text)
    }
}

fn said(status: StatusCode, title: &str, text: &str) -> Response {
    let said = Said {
        title,
        text,
        signed_out: status == StatusCode::UNAUTHORIZED,
    };
    let html = said.render().unwrap_or_else(|_| title.to_owned());
    (status, Html(html)).into_response()
}
