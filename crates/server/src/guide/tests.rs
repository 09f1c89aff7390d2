//! The guide over HTTP, from a folder of the test.

use std::fs;
use std::path::PathBuf;

use axum::Router;
use axum::body::Body;
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::router;

/// A folder that is removed with the test.
struct GuideFolder(PathBuf);

impl GuideFolder {
    fn new(name: &str) -> Self {
        let name = format!("longshore-guide-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("decisions")).unwrap();
        Self(folder)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.0.join(path), text).unwrap();
    }

    fn router(&self) -> Router {
        router(Some(&self.0))
    }
}

impl Drop for GuideFolder {
    fn drop(&mut self) {
        let _removed = fs::remove_dir_all(&self.0);
    }
}

async fn call(router: &Router, path: &str, etag: Option<&str>) -> http::Response<Body> {
    let mut request = Request::get(path);
    if let Some(etag) = etag {
        request = request.header(IF_NONE_MATCH, etag);
    }
    let request = request.body(Body::empty()).unwrap();
    router.clone().oneshot(request).await.unwrap()
}

async fn status(router: &Router, path: &str) -> StatusCode {
    call(router, path, None).await.status()
}

async fn text(response: http::Response<Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn files_are_served_with_their_type_and_validator() {
    let folder = GuideFolder::new("served");
    folder.write("index.html", "<p>first</p>");
    folder.write("guide.css", "p {}");
    folder.write("decisions/0001.html", "<p>why</p>");
    let router = folder.router();
    let moved = call(&router, "/guide", None).await;
    assert_eq!(moved.status(), StatusCode::SEE_OTHER);
    assert_eq!(moved.headers()[LOCATION], "guide/");
    let page = call(&router, "/guide/", None).await;
    assert_eq!(page.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
    let etag = page.headers()[ETAG].to_str().unwrap().to_owned();
    assert_eq!(text(page).await, "<p>first</p>");
    let style = call(&router, "/guide/guide.css", None).await;
    assert_eq!(style.headers()[CONTENT_TYPE], "text/css; charset=utf-8");
    let nested = call(&router, "/guide/decisions/0001.html", None).await;
    assert_eq!(text(nested).await, "<p>why</p>");

    let known = format!("\"other\", W/{etag}");
    let cached = call(&router, "/guide/index.html", Some(&known)).await;
    assert_eq!(cached.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(cached.headers()[ETAG], etag.as_str());
    let changed = call(&router, "/guide/guide.css", Some(&etag)).await;
    assert_eq!(changed.status(), StatusCode::OK);
}

#[tokio::test]
async fn no_path_leaves_the_folder() {
    let folder = GuideFolder::new("paths");
    folder.write("index.html", "");
    folder.write("secret.env", "SVC_SIGNING_ROOT=…");
    let outside = GuideFolder::new("outside");
    outside.write("page.html", "outside");
    std::os::unix::fs::symlink(outside.0.join("page.html"), folder.0.join("link.html")).unwrap();
    std::os::unix::fs::symlink(&outside.0, folder.0.join("linked")).unwrap();
    let router = folder.router();
    for path in [
        "/guide/secret.env",
        "/guide/link.html",
        "/guide/linked/page.html",
        "/guide/../etc/passwd",
        "/guide/%2e%2e/%2e%2e/etc/passwd",
        "/guide//etc/passwd",
        "/guide/decisions/../index.html",
        "/guide/decisions",
        "/guide/%ff",
    ] {
        assert_eq!(status(&router, path).await, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn without_a_guide_there_are_no_routes() {
    let empty = GuideFolder::new("empty");
    let missing = empty.0.join("missing");
    for router in [router(None), router(Some(&missing)), empty.router()] {
        assert_eq!(status(&router, "/guide/").await, StatusCode::NOT_FOUND);
    }
}
