//! The documentation page: Swagger UI, served from this binary.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;
use utoipa_swagger_ui::Config;

use crate::api_error::{self, ApiError};

/// The browser loads nothing from other servers. Swagger UI needs inline styles and images in
/// `data:` URLs.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/docs", get(index))
        // The page refers to its files relative to `/docs`, so that it works under any prefix.
        .route("/docs/", get(async || Redirect::to("../docs")))
        .route("/docs/{file}", get(asset))
}

async fn index() -> Response {
    asset_response(
        "text/html; charset=utf-8",
        Bytes::from_static(include_bytes!("page/index.html")),
    )
}

async fn asset(path: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    // No file has the empty name, nor one that is not UTF-8.
    let name = path.map(|Path(name)| name).unwrap_or_default();
    let (kind, bytes): (_, &'static [u8]) = match name.as_str() {
        "page.css" => ("text/css; charset=utf-8", include_bytes!("page/page.css")),
        "page.js" => (
            "text/javascript; charset=utf-8",
            include_bytes!("page/page.js"),
        ),
        "icon.svg" => ("image/svg+xml", include_bytes!("page/icon.svg")),
        "swagger-ui.css" => {
            return Ok(asset_response(
                "text/css; charset=utf-8",
                swagger_asset(&name)?,
            ));
        }
        "swagger-ui-bundle.js" => {
            return Ok(asset_response(
                "text/javascript; charset=utf-8",
                swagger_asset(&name)?,
            ));
        }
        _ => return Err(api_error::not_found().await),
    };
    Ok(asset_response(kind, Bytes::from_static(bytes)))
}

fn swagger_asset(name: &str) -> Result<Bytes, ApiError> {
    let found = utoipa_swagger_ui::serve(name, Arc::new(Config::default()));
    let found = found.map_err(|error| ApiError::internal(error.to_string()))?;
    match found.map(|file| file.bytes) {
        Some(Cow::Borrowed(bytes)) => Ok(Bytes::from_static(bytes)),
        Some(Cow::Owned(bytes)) => Ok(Bytes::from(bytes)),
        None => Err(ApiError::internal(
            "a file of Swagger UI is missing from the binary",
        )),
    }
}

fn asset_response(kind: &'static str, bytes: Bytes) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, bytes).into_response()
}
