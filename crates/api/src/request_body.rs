//! Reads the whole body of a request, up to the size limit.
//!
//! Bodies are not decompressed, because a small one could unpack to a huge one.

use std::error::Error;
use std::io;

use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use domain::streamed_body::StreamedBodyFlag;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{Extensions, HeaderMap};
use http_body_util::BodyExt as _;

use crate::api_error::ApiError;

#[derive(Debug)]
pub(crate) struct BufferedBody(pub(crate) Bytes);

impl BufferedBody {
    pub(crate) async fn read(request: Request, max_bytes: usize) -> Result<Self, ApiError> {
        refuse_encoded(request.headers())?;
        let body = read_body(request.into_body(), max_bytes).await?;
        Ok(Self(skip_byte_order_mark(body)))
    }
}

/// The route stores the body while it arrives, so little of it is in memory. Routes that do so limit
/// how many such bodies there are.
pub(crate) fn mark_streamed(extensions: &Extensions) {
    if let Some(flag) = extensions.get::<StreamedBodyFlag>() {
        flag.set();
    }
}

/// The length of the body, if the client says it.
pub(crate) fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Refuses a body that has an encoding.
pub(crate) fn refuse_encoded(headers: &HeaderMap) -> Result<(), ApiError> {
    if is_encoded(headers) {
        return Err(ApiError::unsupported_content_encoding());
    }
    Ok(())
}

/// Whether the body has an encoding other than `identity`, which is none.
fn is_encoded(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CONTENT_ENCODING).iter();
    let mut codings = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    codings.any(|coding| {
        let coding = coding.trim_ascii();
        !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")
    })
}

/// Some programs write it before their JSON, and no JSON parser expects it.
fn skip_byte_order_mark(body: Bytes) -> Bytes {
    match body.strip_prefix("\u{feff}".as_bytes()) {
        Some(rest) => body.slice_ref(rest),
        None => body,
    }
}

async fn read_body(mut body: axum::body::Body, max_bytes: usize) -> Result<Bytes, ApiError> {
    // Most bodies arrive in one frame, which is then used without a copy.
    let (mut first, mut rest, mut length) = (Bytes::new(), BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|error| body_error(&error))?.into_data() else {
            continue;
        };
        length += piece.len();
        if length > max_bytes {
            // The listener reads the rest, so that a caller that is still sending gets the answer.
            return Err(ApiError::too_large(max_bytes));
        }
        if first.is_empty() && rest.is_empty() {
            first = piece;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&piece);
        }
    }
    Ok(if rest.is_empty() {
        first
    } else {
        rest.freeze()
    })
}

/// The listener enforces a deadline for each body and a byte budget for all of them. The kind of
/// the I/O error says which of the two ended this body.
pub(crate) fn body_error(error: &(dyn Error + 'static)) -> ApiError {
    let mut causes = std::iter::successors(Some(error), |error| (*error).source());
    let kind = causes.find_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    match kind {
        Some(io::ErrorKind::TimedOut) => ApiError::slow_body(),
        Some(io::ErrorKind::QuotaExceeded) => ApiError::unavailable(
            "Too many request bodies are being received. Try again in 1 second.",
            1,
        ),
        Some(_) | None => ApiError::incomplete_body(),
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    async fn status_of(end: Result<&'static str, io::ErrorKind>) -> Result<Bytes, u16> {
        let pieces = [Ok("a"), end.map_err(io::Error::from)];
        let body = axum::body::Body::from_stream(stream::iter(pieces));
        let read = read_body(body, 2).await;
        read.map_err(|problem| problem.status().as_u16())
    }

    #[tokio::test]
    async fn a_body_is_whole_or_says_why_it_is_not() {
        assert_eq!(status_of(Ok("b")).await, Ok(Bytes::from("ab")));
        assert_eq!(status_of(Ok("bc")).await, Err(413));
        assert_eq!(status_of(Err(io::ErrorKind::TimedOut)).await, Err(408));
        assert_eq!(status_of(Err(io::ErrorKind::QuotaExceeded)).await, Err(503));
        assert_eq!(
            status_of(Err(io::ErrorKind::ConnectionReset)).await,
            Err(400)
        );
    }

    async fn read_encoded(encodings: &[&str]) -> Result<Bytes, u16> {
        let mut request = Request::new("{}".into());
        for encoding in encodings {
            let value = encoding.parse().unwrap();
            request.headers_mut().append(CONTENT_ENCODING, value);
        }
        let read = BufferedBody::read(request, 2).await;
        read.map(|body| body.0)
            .map_err(|problem| problem.status().as_u16())
    }

    #[tokio::test]
    async fn only_identity_is_read() {
        for none in [&[][..], &[""], &["identity"], &["Identity, identity"]] {
            assert_eq!(read_encoded(none).await, Ok(Bytes::from("{}")), "{none:?}");
        }
        for some in [
            &["gzip"][..],
            &["identity, br"],
            &["identity", "deflate"],
            &["x"],
        ] {
            assert_eq!(read_encoded(some).await, Err(415), "{some:?}");
        }
    }

    #[test]
    fn one_byte_order_mark_is_skipped() {
        let read = |text: &'static str| skip_byte_order_mark(Bytes::from(text));
        assert_eq!(read("\u{feff}{}"), "{}");
        assert_eq!(read("{}"), "{}");
        assert_eq!(read("\u{feff}"), "");
        assert_eq!(read("\u{feff}\u{feff}{}"), "\u{feff}{}");
        assert_eq!(read("{\u{feff}}"), "{\u{feff}}");
    }
}
