//! The body of a request, read whole and no larger than allowed.

use std::error::Error;
use std::io;

use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt as _;

use crate::problem::Problem;
use crate::state::App;

#[derive(Debug)]
pub(crate) struct Body(pub(crate) Bytes);

impl FromRequest<App> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        read(request.into_body(), app.max_body_bytes).await
    }
}

async fn read(mut body: axum::body::Body, max_bytes: usize) -> Result<Body, Problem> {
    // Most bodies come in one piece, which is then used as it is.
    let (mut first, mut rest, mut length) = (Bytes::new(), BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|error| broken(&error))?.into_data() else {
            continue;
        };
        length += piece.len();
        if length > max_bytes {
            // The listener reads on, so that a caller who still sends sees the answer.
            return Err(Problem::too_large(max_bytes));
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
    Ok(Body(if rest.is_empty() {
        first
    } else {
        rest.freeze()
    }))
}

/// The listener holds each body to a deadline and all of them to a budget. It says by the kind
/// of an I/O error which of the two ended one.
fn broken(error: &(dyn Error + 'static)) -> Problem {
    let mut causes = std::iter::successors(Some(error), |error| (*error).source());
    let kind = causes.find_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    match kind {
        Some(io::ErrorKind::TimedOut) => {
            Problem::text(StatusCode::REQUEST_TIMEOUT, "The body came too slowly.")
        }
        Some(io::ErrorKind::QuotaExceeded) => Problem::unavailable(
            "Too many request bodies are being received. Try again in 1 second.",
            1,
        ),
        Some(_) | None => Problem::text(StatusCode::BAD_REQUEST, "The body broke off."),
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    async fn status(end: Result<&'static str, io::ErrorKind>) -> Result<Bytes, u16> {
        let pieces = [Ok("a"), end.map_err(io::Error::from)];
        let body = axum::body::Body::from_stream(stream::iter(pieces));
        let read = read(body, 2).await;
        read.map(|body| body.0)
            .map_err(|problem| problem.status().as_u16())
    }

    #[tokio::test]
    async fn a_body_is_whole_or_says_why_it_is_not() {
        assert_eq!(status(Ok("b")).await, Ok(Bytes::from("ab")));
        assert_eq!(status(Ok("bc")).await, Err(413));
        assert_eq!(status(Err(io::ErrorKind::TimedOut)).await, Err(408));
        assert_eq!(status(Err(io::ErrorKind::QuotaExceeded)).await, Err(503));
        assert_eq!(status(Err(io::ErrorKind::ConnectionReset)).await, Err(400));
    }
}
