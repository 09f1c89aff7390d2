//! Complete responses, and truncated ones.

use std::io;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::{HeaderValue, header};
use serde_json::Value;

use crate::account::CreateReply;

/// Lines are sent in chunks of about this size.
const CHUNK_BYTES: usize = 64 * 1024;

pub fn json(body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The part of the answer that the caller of a create call receives.
pub async fn reply_to_create(telling: CreateReply, body: &Value) -> Response {
    match telling {
        CreateReply::Complete => json(body),
        CreateReply::Truncated => half_of_json(body),
        CreateReply::Never => std::future::pending().await,
    }
}

/// A JSON body of which only the first half is sent.
pub fn half_of_json(body: &Value) -> Response {
    let text = body.to_string();
    let half = Bytes::copy_from_slice(text.as_bytes().get(..text.len() / 2).unwrap_or_default());
    let mut response = Response::new(cut_stream(stream::iter([Ok(half)])));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
    response
}

/// Renders lines while it sends them.
pub fn stream_lines<T: Send + 'static>(
    lines: Vec<T>,
    is_cut: bool,
    render: impl Fn(T) -> Vec<u8> + Send + 'static,
) -> Response {
    let last = if is_cut { lines.len() / 2 } else { usize::MAX };
    let mut rest = lines.into_iter().enumerate();
    let mut is_over = false;
    let pieces = std::iter::from_fn(move || {
        let mut piece = Vec::new();
        while piece.len() < CHUNK_BYTES && !is_over {
            let Some((index, line)) = rest.next() else {
                is_over = true;
                break;
            };
            let mut line = render(line);
            if index == last {
                // Cut in the middle of a line, to catch parsers that accept an incomplete end.
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
        cut_stream(pieces)
    } else {
        Body::from_stream(pieces)
    };
    Response::new(body)
}

/// Sends the chunks, then closes the connection.
fn cut_stream(pieces: impl stream::Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
    let end = stream::once(async {
        // Lets hyper write out the previous chunks first.
        tokio::task::yield_now().await;
        Err(io::Error::other("a fault cut the response"))
    });
    Body::from_stream(pieces.chain(end))
}
