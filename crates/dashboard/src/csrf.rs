//! CSRF protection: every request that changes data carries the CSRF token of its session.

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::page_error::PageError;

/// Scripts send the CSRF token in this header, forms in this field.
const CSRF_HEADER: &str = "x-form-seal";
const CSRF_FIELD: &str = "seal";
/// Large enough for a cargo's JSON.
const MAX_FORM_BYTES: usize = 12 << 20;

/// Returns the request if its CSRF token is the session's.
pub(crate) async fn verify_csrf(request: Request, csrf_token: &str) -> Result<Request, PageError> {
    if let Some(given) = request.headers().get(CSRF_HEADER) {
        return if constant_time_eq(given.as_bytes(), csrf_token.as_bytes()) {
            Ok(request)
        } else {
            Err(PageError::CsrfMismatch)
        };
    }
    let kind = request.headers().get(CONTENT_TYPE);
    let is_form = kind.is_some_and(|kind| {
        kind.as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    });
    if !is_form {
        return Err(PageError::CsrfMismatch);
    }
    let (parts, body) = request.into_parts();
    let bytes = read_body(body, MAX_FORM_BYTES).await?;
    let mut fields = url::form_urlencoded::parse(&bytes);
    let given = fields.find(|(name, _)| name == CSRF_FIELD);
    match given {
        Some((_, given)) if constant_time_eq(given.as_bytes(), csrf_token.as_bytes()) => {
            Ok(Request::from_parts(parts, Body::from(bytes)))
        }
        Some(_) | None => Err(PageError::CsrfMismatch),
    }
}

/// Reads the whole body. The listener times out slow ones.
pub(crate) async fn read_body(body: Body, max_bytes: usize) -> Result<Bytes, PageError> {
    match Limited::new(body, max_bytes).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(PageError::Invalid("The form is too large.".to_owned()))
        }
        Err(_) => Err(PageError::IncompleteBody),
    }
}

/// Compares in constant time, so that timing does not reveal the token.
fn constant_time_eq(given: &[u8], expected: &[u8]) -> bool {
    let differing = given
        .iter()
        .zip(expected)
        .fold(0_u8, |sum, (one, other)| sum | (one ^ other));
    given.len() == expected.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn csrf_tokens_are_compared_in_full() {
        assert!(constant_time_eq(b"abc", b"abc"));
        assert!(!constant_time_eq(b"abc", b"abd"));
        assert!(!constant_time_eq(b"ab", b"abc"));
        assert!(!constant_time_eq(b"", b"abc"));
    }

    #[tokio::test]
    async fn a_form_that_is_too_large_is_told_from_one_that_did_not_arrive() {
        let large = read_body(Body::from("four"), 3).await;
        assert!(matches!(large, Err(PageError::Invalid(_))), "{large:?}");
        let late = io::Error::from(io::ErrorKind::TimedOut);
        let late = Body::from_stream(futures::stream::iter([Ok("a"), Err(late)]));
        let late = read_body(late, 3).await;
        assert!(matches!(late, Err(PageError::IncompleteBody)), "{late:?}");
    }
}
