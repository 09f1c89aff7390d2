//! Static files, embedded in the binary.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

#[derive(Debug)]
struct Asset {
    name: &'static str,
    version: &'static str,
    bytes: &'static [u8],
}

static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// A URL with a version that changes with the content.
pub(crate) fn url(name: &str) -> String {
    let version = ASSETS.iter().find(|asset| asset.name == name);
    let version = version.map_or("none", |asset| asset.version);
    format!("/dashboard/assets/{name}?v={version}")
}

pub(crate) async fn asset(Path(name): Path<String>) -> Result<Response, StatusCode> {
    let asset = ASSETS.iter().find(|asset| asset.name == name);
    let asset = asset.ok_or(StatusCode::NOT_FOUND)?;
    let kind = match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, asset.bytes).into_response())
}
