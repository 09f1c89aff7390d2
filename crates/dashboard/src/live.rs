//! Pages that change while they are looked at: the page itself is asked again, and what changed is sent.

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

use crate::no::No;
use crate::state::Desk;

/// How often a page is asked for again.
const EVERY: Duration = Duration::from_secs(1);
const LARGEST: usize = 4 << 20;

#[derive(Debug, Deserialize)]
pub(crate) struct Of {
    page: String,
}

struct Watch {
    pages: Router,
    page: String,
    cookie: HeaderValue,
    stop: CancellationToken,
    seen: Option<[u8; 32]>,
}

/// The stream ends with the session: each look is a request like any other.
pub(crate) async fn live(
    State(desk): State<Desk>,
    Query(of): Query<Of>,
    request: Request,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, No> {
    let is_page = of.page.starts_with("/dashboard/") && !of.page.starts_with("/dashboard/live");
    let cookie = request.headers().get(COOKIE).cloned();
    let (true, Some(cookie), Some(pages)) = (is_page, cookie, desk.pages()) else {
        return Err(No::NotFound);
    };
    let watch = Watch {
        pages,
        page: of.page,
        cookie,
        stop: desk.stop.clone(),
        seen: None,
    };
    let events = stream::unfold(watch, |mut watch| async move {
        loop {
            let changed = watch.look().await?;
            if let Some(main) = changed {
                return Some((Ok(Event::default().event("page").data(main)), watch));
            }
            let stopped = watch.stop.cancelled();
            tokio::time::timeout(EVERY, stopped).await.err()?;
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

impl Watch {
    /// What the page's main part is now, if that is new. Nothing at all ends the stream.
    async fn look(&mut self) -> Option<Option<String>> {
        let request = Request::get(&self.page)
            .header(COOKIE, &self.cookie)
            .body(axum::body::Body::empty())
            .ok()?;
        let Ok(answer) = self.pages.clone().oneshot(request).await;
        if !answer.status().is_success() {
            return answer.status().is_server_error().then_some(None);
        }
        let body = Limited::new(answer.into_body(), LARGEST)
            .collect()
            .await
            .ok()?;
        let html = String::from_utf8(body.to_bytes().to_vec()).ok()?;
        let from = html.find("<main")?;
        let to = html.rfind("</main>")?;
        let main = html.get(from..to)?;
        let digest: [u8; 32] = Sha256::digest(main.as_bytes()).into();
        let is_new = self.seen != Some(digest);
        self.seen = Some(digest);
        Some(is_new.then(|| format!("{main}</main>")))
    }
}
