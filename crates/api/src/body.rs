//! The body of a request, read whole and no larger than allowed.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use crate::problem::Problem;
use crate::state::App;

/// How long a body may stand still.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Body(pub(crate) Bytes);

impl FromRequest<App> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let mut body = request.into_body();
        // Most bodies come in one piece, which is then used as it is.
        let (mut first, mut rest, mut length) = (Bytes::new(), BytesMut::new(), 0);
        let late = |_| Problem::text(StatusCode::REQUEST_TIMEOUT, "The body came too slowly.");
        while let Some(frame) = timeout(PATIENCE, body.frame()).await.map_err(late)? {
            let broken = |_| Problem::text(StatusCode::BAD_REQUEST, "The body broke off.");
            let Ok(piece) = frame.map_err(broken)?.into_data() else {
                continue;
            };
            length += piece.len();
            if length > app.max_body_bytes {
                // The listener reads on, so that who still sends sees the answer.
                return Err(Problem::too_large(app.max_body_bytes));
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
        Ok(Self(if rest.is_empty() {
            first
        } else {
            rest.freeze()
        }))
    }
}
