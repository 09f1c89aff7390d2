//! The documents at `/guide`: the files of `SVC_GUIDE_DIR`, read once at start.
//!
//! A request is looked up among the files that were read. It never reaches the file system, so no
//! path of a request can leave the folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path as UrlPath;
use axum::extract::State;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, StatusCode};
use ring::digest::{SHA256, digest};

/// The folder is kept in memory. A guide has about 6 MB.
const MAX_GUIDE_BYTES: usize = 64 * 1024 * 1024;

const INDEX_FILE: &str = "index.html";

/// The browser loads nothing from other servers.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Debug)]
struct GuideFile {
    content_type: &'static str,
    etag: String,
    bytes: Bytes,
}

/// All files of the guide by their path below `/guide/`.
#[derive(Debug, Default)]
struct GuideFiles(BTreeMap<String, GuideFile>);

/// The routes; none without the setting, and none if the folder cannot be read.
pub fn router(folder: Option<&Path>) -> Router {
    let Some(folder) = folder else {
        return Router::new();
    };
    match GuideFiles::read(folder) {
        Ok(files) => routes(files),
        Err(failure) => {
            let folder = folder.display();
            tracing::error!(%folder, %failure, "the guide is disabled: SVC_GUIDE_DIR cannot be read");
            Router::new()
        }
    }
}

fn routes(files: GuideFiles) -> Router {
    Router::new()
        // Pages refer to each other relative to `/guide/`, so that they work under any prefix.
        .route("/guide", get(async || Redirect::to("guide/")))
        .route("/guide/", get(index))
        .route("/guide/{*path}", get(file))
        .with_state(Arc::new(files))
}

async fn index(State(files): State<Arc<GuideFiles>>, headers: HeaderMap) -> Response {
    files.respond(INDEX_FILE, &headers)
}

async fn file(
    State(files): State<Arc<GuideFiles>>,
    path: Result<UrlPath<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    // No file has the empty name, nor one that is not UTF-8.
    let path = path.map(|UrlPath(path)| path).unwrap_or_default();
    files.respond(&path, &headers)
}

impl GuideFiles {
    fn read(folder: &Path) -> io::Result<Self> {
        let mut files = Self::default();
        let mut total = 0;
        files.add_folder(folder, "", &mut total)?;
        if files.0.contains_key(INDEX_FILE) {
            return Ok(files);
        }
        Err(io::Error::other(
            "there is no index.html; `./dev book` writes a guide",
        ))
    }

    /// Symbolic links are skipped: they could lead out of the folder.
    fn add_folder(&mut self, folder: &Path, prefix: &str, total: &mut usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = format!("{prefix}{name}");
            if kind.is_dir() {
                self.add_folder(&entry.path(), &format!("{path}/"), total)?;
            } else if kind.is_file()
                && let Some(content_type) = content_type(&name)
            {
                let bytes = fs::read(entry.path())?;
                *total += bytes.len();
                if *total > MAX_GUIDE_BYTES {
                    let message = format!("it has more than {MAX_GUIDE_BYTES} bytes");
                    return Err(io::Error::other(message));
                }
                self.0.insert(path, GuideFile::new(content_type, bytes));
            }
        }
        Ok(())
    }

    fn respond(&self, path: &str, headers: &HeaderMap) -> Response {
        let Some(file) = self.0.get(path) else {
            return (
                StatusCode::NOT_FOUND,
                "There is no such page. See /guide.\n",
            )
                .into_response();
        };
        let shared = [
            (ETAG, file.etag.as_str()),
            // Browsers keep a page, and ask whether it changed.
            (CACHE_CONTROL, "no-cache"),
        ];
        if file.is_cached(headers) {
            return (StatusCode::NOT_MODIFIED, shared).into_response();
        }
        let own = [
            (CONTENT_TYPE, file.content_type),
            (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        (shared, own, file.bytes.clone()).into_response()
    }
}

impl GuideFile {
    fn new(content_type: &'static str, bytes: Vec<u8>) -> Self {
        let hash = URL_SAFE_NO_PAD.encode(digest(&SHA256, &bytes));
        Self {
            content_type,
            etag: format!("\"{hash}\""),
            bytes: bytes.into(),
        }
    }

    /// Whether the client has these bytes already.
    fn is_cached(&self, headers: &HeaderMap) -> bool {
        let given = headers.get_all(IF_NONE_MATCH).into_iter();
        let mut tags = given
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|tag| tag.trim().trim_start_matches("W/"));
        tags.any(|tag| tag == "*" || tag == self.etag)
    }
}

/// None for files that are no part of a guide.
fn content_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    match ending {
        "html" => Some("text/html; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "txt" => Some("text/plain; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
