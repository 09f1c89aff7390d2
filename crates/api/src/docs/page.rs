//! The page itself: Swagger UI from our own binary, in a frame of our own.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;
use utoipa_swagger_ui::Config;

use crate::problem::{self, Problem};

/// The browser itself refuses to fetch anything from elsewhere. Swagger UI needs inline styles,
/// and carries its pictures with it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/docs", get(index))
        // The page names its files relative to `/docs`, so that it works below any prefix.
        .route("/docs/", get(async || Redirect::to("../docs")))
        .route("/docs/{file}", get(file))
}

async fn index() -> Response {
    served(
        "text/html; charset=utf-8",
        Bytes::from_static(include_bytes!("page/index.html")),
    )
}

async fn file(Path(name): Path<String>) -> Result<Response, Problem> {
    let (kind, bytes): (_, &'static [u8]) = match name.as_str() {
        "page.css" => ("text/css; charset=utf-8", include_bytes!("page/page.css")),
        "page.js" => (
            "text/javascript; charset=utf-8",
            include_bytes!("page/page.js"),
        ),
        "icon.svg" => ("image/svg+xml", include_bytes!("page/icon.svg")),
        "swagger-ui.css" => return Ok(served("text/css; charset=utf-8", swagger(&name)?)),
        "swagger-ui-bundle.js" => {
            return Ok(served("text/javascript; charset=utf-8", swagger(&name)?));
        }
        _ => return Err(problem::not_found().await),
    };
    Ok(served(kind, Bytes::from_static(bytes)))
}

fn swagger(name: &str) -> Result<Bytes, Problem> {
    let found = utoipa_swagger_ui::serve(name, Arc::new(Config::default()));
    let found = found.map_err(|error| Problem::internal(error.to_string()))?;
    match found.map(|file| file.bytes) {
        Some(Cow::Borrowed(bytes)) => Ok(Bytes::from_static(bytes)),
        Some(Cow::Owned(bytes)) => Ok(Bytes::from(bytes)),
        None => Err(Problem::internal(
            "a file of Swagger UI is missing from the binary",
        )),
    }
}

fn served(kind: &'static str, bytes: Bytes) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, bytes).into_response()
}
