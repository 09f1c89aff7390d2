//! Open live streams: their limits, and one rendering for all streams of the same page.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use domain::concurrency_limit::{ConcurrencyLimit, OwnerPermit};
use domain::forwarded_for::ClientAddress;
use domain::id::PersonId;
use http::header::{COOKIE, HeaderValue, USER_AGENT};
use http_body_util::{BodyExt as _, Limited};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// How often a live page is rendered again.
const RENDER_INTERVAL: Duration = Duration::from_secs(1);
/// Fewer than the connections of the dashboard, so that streams never delay other pages.
const MAX_CONCURRENT_RENDERS: usize = 2;
const MAX_PAGE_BYTES: usize = 4 << 20;

/// Marks the request of a live page that renders itself again. No browser can set it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveRefresh;

/// How many live streams may be open.
#[derive(Debug, Clone, Copy)]
pub struct LiveStreamLimits {
    pub total: usize,
    pub per_person: usize,
}

/// A page as one session sees it. Sessions never share a rendering: each has its own CSRF token.
#[derive(Debug)]
pub(crate) struct LivePage {
    pub(crate) router: Router,
    pub(crate) path: String,
    pub(crate) cookie: HeaderValue,
    pub(crate) client: LiveClient,
}

/// Where a stream comes from: the audit log names the client that first opened the page.
#[derive(Debug, Default)]
pub(crate) struct LiveClient {
    address: Option<ClientAddress>,
    user_agent: Option<HeaderValue>,
}

impl LiveClient {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            address: request.extensions().get().copied(),
            user_agent: request.headers().get(USER_AGENT).cloned(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct LiveStreams {
    limit: Arc<ConcurrencyLimit<PersonId>>,
    pages: Mutex<PagesByKey>,
    render_permits: Semaphore,
    render_interval: Duration,
    /// Ends all streams at shutdown.
    stop: CancellationToken,
}

type PagesByKey = HashMap<[u8; 32], Arc<watch::Sender<Option<Arc<str>>>>>;

/// One open stream, until it is dropped.
#[derive(Debug)]
pub(crate) struct LiveStream {
    versions: watch::Receiver<Option<Arc<str>>>,
    _permit: OwnerPermit<PersonId>,
}

enum Rendering {
    Main(String),
    /// A database is unreachable: the page is rendered again.
    Unavailable,
    /// The session or the access has ended.
    Ended,
}

impl LiveStream {
    /// The next version of the `<main>` element. None ends the stream.
    pub(crate) async fn next_version(&mut self) -> Option<Arc<str>> {
        loop {
            self.versions.changed().await.ok()?;
            let version = self.versions.borrow_and_update().clone();
            if version.is_some() {
                return version;
            }
        }
    }
}

impl LiveStreams {
    pub(crate) fn new(limits: LiveStreamLimits, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            limit: ConcurrencyLimit::new(limits.total, limits.per_person),
            pages: Mutex::default(),
            render_permits: Semaphore::new(MAX_CONCURRENT_RENDERS),
            render_interval: RENDER_INTERVAL,
            stop,
        })
    }

    /// None if the person, or all together, have too many streams.
    pub(crate) fn open(self: &Arc<Self>, person: PersonId, page: LivePage) -> Option<LiveStream> {
        let permit = self.limit.try_acquire(person)?;
        let key = page.key();
        let mut pages = self.pages.lock();
        let versions = if let Some(sender) = pages.get(&key) {
            let mut versions = sender.subscribe();
            // The current version is new to this stream.
            versions.mark_changed();
            versions
        } else {
            let (sender, versions) = watch::channel(None);
            let sender = Arc::new(sender);
            pages.insert(key, Arc::clone(&sender));
            tokio::spawn(Arc::clone(self).render_while_watched(key, page, sender));
            versions
        };
        drop(pages);
        Some(LiveStream {
            versions,
            _permit: permit,
        })
    }

    async fn render_while_watched(
        self: Arc<Self>,
        key: [u8; 32],
        page: LivePage,
        sender: Arc<watch::Sender<Option<Arc<str>>>>,
    ) {
        let mut is_refresh = false;
        loop {
            match self.render(&page, is_refresh).await {
                Rendering::Main(main) => {
                    is_refresh = true;
                    sender.send_if_modified(|last| {
                        let is_new = last.as_deref() != Some(&*main);
                        if is_new {
                            *last = Some(main.into());
                        }
                        is_new
                    });
                }
                Rendering::Unavailable => {}
                Rendering::Ended => break,
            }
            tokio::select! {
                () = tokio::time::sleep(self.render_interval) => {}
                () = sender.closed() => {
                    let mut pages = self.pages.lock();
                    // A stream may have been opened meanwhile.
                    if sender.receiver_count() == 0 {
                        pages.remove(&key);
                        return;
                    }
                }
                () = self.stop.cancelled() => break,
            }
        }
        // Dropping the last sender ends the streams.
        self.pages.lock().remove(&key);
    }

    /// A normal request of the session, so its access is checked each time.
    async fn render(&self, page: &LivePage, is_refresh: bool) -> Rendering {
        let Ok(_permit) = self.render_permits.acquire().await else {
            return Rendering::Ended;
        };
        let request = Request::get(&page.path).header(COOKIE, &page.cookie);
        let Ok(mut request) = request.body(Body::empty()) else {
            return Rendering::Ended;
        };
        if let Some(user_agent) = page.client.user_agent.clone() {
            request.headers_mut().insert(USER_AGENT, user_agent);
        }
        if let Some(address) = page.client.address {
            request.extensions_mut().insert(address);
        }
        if is_refresh {
            request.extensions_mut().insert(LiveRefresh);
        }
        let Ok(response) = page.router.clone().oneshot(request).await;
        if response.status().is_server_error() {
            return Rendering::Unavailable;
        }
        if !response.status().is_success() {
            return Rendering::Ended;
        }
        let body = Limited::new(response.into_body(), MAX_PAGE_BYTES).collect();
        let html = body.await.ok().map(|body| body.to_bytes().to_vec());
        let html = html.and_then(|html| String::from_utf8(html).ok());
        match html.as_deref().and_then(main_element) {
            Some(main) => Rendering::Main(main.to_owned()),
            None => Rendering::Ended,
        }
    }
}

impl LivePage {
    fn key(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(self.cookie.as_bytes());
        // No cookie contains a zero byte.
        digest.update([0]);
        digest.update(self.path.as_bytes());
        digest.finalize().into()
    }
}

fn main_element(html: &str) -> Option<&str> {
    let end = html.rfind("</main>")? + "</main>".len();
    html.get(html.find("<main")?..end)
}

#[cfg(test)]
mod tests;
