//! Forms carry a seal that only our own pages know; a request without it changes nothing.

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::no::No;

/// Where programs of ours put the seal, and under which name forms carry it.
const HEADER: &str = "x-form-seal";
const FIELD: &str = "seal";
/// The largest form; a cargo's JSON goes in one.
const LARGEST: usize = 12 << 20;

/// Lets a request through whose seal is the session's.
pub(crate) async fn unseal(request: Request, seal: &str) -> Result<Request, No> {
    if let Some(given) = request.headers().get(HEADER) {
        return if alike(given.as_bytes(), seal.as_bytes()) {
            Ok(request)
        } else {
            Err(No::Forged)
        };
    }
    let kind = request.headers().get(CONTENT_TYPE);
    let is_form = kind.is_some_and(|kind| {
        kind.as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    });
    if !is_form {
        return Err(No::Forged);
    }
    let (parts, body) = request.into_parts();
    let bytes = read(body, LARGEST).await?;
    let mut fields = url::form_urlencoded::parse(&bytes);
    let given = fields.find(|(name, _)| name == FIELD);
    match given {
        Some((_, given)) if alike(given.as_bytes(), seal.as_bytes()) => {
            Ok(Request::from_parts(parts, Body::from(bytes)))
        }
        Some(_) | None => Err(No::Forged),
    }
}

/// The whole body. The listener ends one that comes too slowly.
pub(crate) async fn read(body: Body, max_bytes: usize) -> Result<Bytes, No> {
    match Limited::new(body, max_bytes).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(No::Invalid("The form is too large.".to_owned()))
        }
        Err(_) => Err(No::Incomplete),
    }
}

/// Takes as long whether the first or the last byte differs.
fn alike(given: &[u8], wanted: &[u8]) -> bool {
    let differing = given
        .iter()
        .zip(wanted)
        .fold(0_u8, |sum, (one, other)| sum | (one ^ other));
    given.len() == wanted.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn seals_are_compared_whole() {
        assert!(alike(b"abc", b"abc"));
        assert!(!alike(b"abc", b"abd"));
        assert!(!alike(b"ab", b"abc"));
        assert!(!alike(b"", b"abc"));
    }

    #[tokio::test]
    async fn a_form_that_is_too_large_is_told_from_one_that_did_not_arrive() {
        let large = read(Body::from("four"), 3).await;
        assert!(matches!(large, Err(No::Invalid(_))), "{large:?}");
        let late = io::Error::from(io::ErrorKind::TimedOut);
        let late = Body::from_stream(futures::stream::iter([Ok("a"), Err(late)]));
        let late = read(late, 3).await;
        assert!(matches!(late, Err(No::Incomplete)), "{late:?}");
    }
}
