//! Answers that go well, and those that break off.

use std::io;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::{HeaderValue, header};
use serde_json::Value;

use crate::account::Telling;

/// Lines are sent in pieces of about this size.
const PIECE: usize = 64 * 1024;

pub fn json(body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// As much of an answer as the caller of a create call shall hear.
pub async fn tell(telling: Telling, body: &Value) -> Response {
    match telling {
        Telling::Whole => json(body),
        Telling::Cut => half_of(body),
        Telling::Never => std::future::pending().await,
    }
}

/// A document of which only the first half arrives.
pub fn half_of(body: &Value) -> Response {
    let text = body.to_string();
    let half = Bytes::copy_from_slice(text.as_bytes().get(..text.len() / 2).unwrap_or_default());
    let mut response = Response::new(breaking_off(stream::iter([Ok(half)])));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
    response
}

/// Lines that are made while they are sent, none kept.
pub fn lines<T: Send + 'static>(
    lines: Vec<T>,
    is_cut: bool,
    render: impl Fn(T) -> Vec<u8> + Send + 'static,
) -> Response {
    let last = if is_cut { lines.len() / 2 } else { usize::MAX };
    let mut rest = lines.into_iter().enumerate();
    let mut is_over = false;
    let pieces = std::iter::from_fn(move || {
        let mut piece = Vec::new();
        while piece.len() < PIECE && !is_over {
            let Some((index, line)) = rest.next() else {
                is_over = true;
                break;
            };
            let mut line = render(line);
            if index == last {
                // In the middle of a line, where a parser that trusts the end is caught.
                line.truncate(line.len() / 2);
                is_over = true;
            } else {
                line.push(b'\n');
            }
            piece.extend(line);
        }
        (!piece.is_empty()).then(|| Ok(Bytes::from(piece)))
    });
    let pieces = stream::iter(pieces);
    let body = if is_cut {
        breaking_off(pieces)
    } else {
        Body::from_stream(pieces)
    };
    Response::new(body)
}

/// Sends what there is, and then closes the connection.
fn breaking_off(pieces: impl stream::Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
    let end = stream::once(async {
        // What came before is written out while this waits its turn.
        tokio::task::yield_now().await;
        Err(io::Error::other("cut, as a fault asked"))
    });
    Body::from_stream(pieces.chain(end))
}
