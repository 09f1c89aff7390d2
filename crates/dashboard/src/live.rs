//! Live pages: the server renders the page again every second and sends it if it changed.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures::stream::{self, Stream};
use http::header::{COOKIE, HeaderValue};
use http_body_util::{BodyExt as _, Limited};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::access::LiveRefresh;
use crate::page_error::PageError;
use crate::state::DashboardState;

/// How often a live page is rendered again.
const RENDER_INTERVAL: Duration = Duration::from_secs(1);
const MAX_PAGE_BYTES: usize = 4 << 20;

#[derive(Debug, Deserialize)]
pub(crate) struct LiveQuery {
    page: String,
}

struct LivePage {
    router: Router,
    path: String,
    cookie: HeaderValue,
    stop: CancellationToken,
    last_digest: Option<[u8; 32]>,
}

/// Each rendering is a normal request, so the stream ends when the session ends.
pub(crate) async fn stream_page(
    State(state): State<DashboardState>,
    Query(of): Query<LiveQuery>,
    request: Request,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, PageError> {
    let is_page = of.page.starts_with("/dashboard/") && !of.page.starts_with("/dashboard/live");
    let cookie = request.headers().get(COOKIE).cloned();
    let (true, Some(cookie), Some(pages)) = (is_page, cookie, state.router()) else {
        return Err(PageError::NotFound);
    };
    let watch = LivePage {
        router: pages,
        path: of.page,
        cookie,
        stop: state.stop.clone(),
        last_digest: None,
    };
    let events = stream::unfold(watch, |mut watch| async move {
        loop {
            let changed = watch.render_if_changed().await?;
            if let Some(main) = changed {
                return Some((Ok(Event::default().event("page").data(main)), watch));
            }
            let stopped = watch.stop.cancelled();
            tokio::time::timeout(RENDER_INTERVAL, stopped).await.err()?;
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

impl LivePage {
    /// The `<main>` element if it changed, `Some(None)` if not. `None` ends the stream.
    async fn render_if_changed(&mut self) -> Option<Option<String>> {
        let mut request = Request::get(&self.path)
            .header(COOKIE, &self.cookie)
            .body(axum::body::Body::empty())
            .ok()?;
        if self.last_digest.is_some() {
            request.extensions_mut().insert(LiveRefresh);
        }
        let Ok(response) = self.router.clone().oneshot(request).await;
        if !response.status().is_success() {
            return response.status().is_server_error().then_some(None);
        }
        let body = Limited::new(response.into_body(), MAX_PAGE_BYTES)
            .collect()
            .await
            .ok()?;
        let html = String::from_utf8(body.to_bytes().to_vec()).ok()?;
        let from = html.find("<main")?;
        let to = html.rfind("</main>")?;
        let main = html.get(from..to)?;
        let digest: [u8; 32] = Sha256::digest(main.as_bytes()).into();
        let is_new = self.last_digest != Some(digest);
        self.last_digest = Some(digest);
        Some(is_new.then(|| format!("{main}</main>")))
    }
}
