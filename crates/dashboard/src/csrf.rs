//! CSRF protection: every request that changes data carries the CSRF token of its session.

use axum::body::Body;
use axum::extract::{FromRequest as _, Request};
use bytes::Bytes;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use subtle::ConstantTimeEq as _;

use crate::page_error::PageError;

/// Scripts send the CSRF token in one of these headers, forms in one of these fields. Pages of the
/// earlier version use the second name.
const CSRF_HEADERS: [&str; 2] = ["x-csrf-token", "x-form-seal"];
const CSRF_FIELDS: [&str; 2] = ["csrf", "seal"];

/// Returns the request if its CSRF token is the session's.
pub(crate) async fn verify_csrf(request: Request, csrf_token: &str) -> Result<Request, PageError> {
    let mut headers = CSRF_HEADERS.iter();
    if let Some(given) = headers.find_map(|name| request.headers().get(*name)) {
        return if is_same_token(given.as_bytes(), csrf_token) {
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
    let bytes = read_body(Request::from_parts(parts.clone(), body)).await?;
    let mut fields = url::form_urlencoded::parse(&bytes);
    let given = fields.find(|(name, _)| CSRF_FIELDS.contains(&name.as_ref()));
    match given {
        Some((_, given)) if is_same_token(given.as_bytes(), csrf_token) => {
            Ok(Request::from_parts(parts, Body::from(bytes)))
        }
        Some(_) | None => Err(PageError::CsrfMismatch),
    }
}

/// Reads the whole body, up to the limit of the route. The listener times out slow ones.
async fn read_body(request: Request) -> Result<Bytes, PageError> {
    let read = Bytes::from_request(request, &()).await;
    read.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => PageError::FormTooLarge,
        _ => PageError::IncompleteBody,
    })
}

/// Compares in constant time, so that timing does not reveal the token.
fn is_same_token(given: &[u8], expected: &str) -> bool {
    given.ct_eq(expected.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn csrf_tokens_are_compared_in_full() {
        assert!(is_same_token(b"abc", "abc"));
        assert!(!is_same_token(b"abc", "abd"));
        assert!(!is_same_token(b"ab", "abc"));
        assert!(!is_same_token(b"", "abc"));
    }

    #[tokio::test]
    async fn pages_of_the_earlier_version_may_still_send_their_forms() {
        let form = |body: &'static str| {
            let request = Request::post("/dashboard/sign-out")
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            verify_csrf(request.body(Body::from(body)).unwrap(), "token")
        };
        for body in ["csrf=token", "seal=token", "host=a&csrf=token"] {
            assert!(form(body).await.is_ok(), "{body}");
        }
        for body in ["", "csrf=", "csrf=other", "seal=other", "token=token"] {
            assert!(form(body).await.is_err(), "{body}");
        }
        for (name, value, is_valid) in [
            ("x-csrf-token", "token", true),
            ("x-form-seal", "token", true),
            ("x-csrf-token", "other", false),
            ("x-form-seal", "other", false),
        ] {
            let request = Request::post("/dashboard/sign-out").header(name, value);
            let verified = verify_csrf(request.body(Body::empty()).unwrap(), "token").await;
            assert_eq!(verified.is_ok(), is_valid, "{name}: {value}");
        }
    }

    #[tokio::test]
    async fn a_form_that_is_too_large_is_told_from_one_that_did_not_arrive() {
        // Two megabytes are the limit of a request without a route.
        let large = read_body(Request::new(Body::from(vec![0_u8; 3 << 20]))).await;
        assert!(matches!(large, Err(PageError::FormTooLarge)), "{large:?}");
        let late = io::Error::from(io::ErrorKind::TimedOut);
        let late = Body::from_stream(futures::stream::iter([Ok("a"), Err(late)]));
        let late = read_body(Request::new(late)).await;
        assert!(matches!(late, Err(PageError::IncompleteBody)), "{late:?}");
    }
}
