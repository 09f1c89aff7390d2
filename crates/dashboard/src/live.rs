//! Live pages: the server renders the page again every second and sends it if it changed.

use std::convert::Infallible;

use axum::extract::{Query, Request, State};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures::stream::{self, Stream};
use http::header::COOKIE;
use serde::Deserialize;

use crate::access::Authenticated;
use crate::live_streams::{LiveClient, LivePage};
use crate::page_error::PageError;
use crate::state::DashboardState;

#[derive(Debug, Deserialize)]
pub(crate) struct LiveQuery {
    page: String,
}

/// Each rendering is a normal request, so the stream ends when the session ends.
pub(crate) async fn stream_page(
    State(state): State<DashboardState>,
    Authenticated(access): Authenticated,
    Query(of): Query<LiveQuery>,
    request: Request,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, PageError> {
    let is_page = of.page.starts_with("/dashboard/") && !of.page.starts_with("/dashboard/live");
    let cookie = request.headers().get(COOKIE).cloned();
    let (true, Some(cookie), Some(router)) = (is_page, cookie, state.router()) else {
        return Err(PageError::NotFound);
    };
    let page = LivePage {
        router,
        path: of.page,
        cookie,
        client: LiveClient::of(&request),
    };
    let opened = state.live_streams.open(access.signed_in.person.id, page);
    let opened = opened.ok_or(PageError::TooManyStreams)?;
    let events = stream::unfold(opened, |mut stream| async move {
        let main = stream.next_version().await?;
        Some((Ok(Event::default().event("page").data(main)), stream))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}
