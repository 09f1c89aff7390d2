//! Limits of live streams, and shared renderings.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::get;
use domain::id::Berth;
use tokio::time::timeout;

use super::*;

/// Much longer than anything in these tests takes.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);
const LIMITS: LiveStreamLimits = LiveStreamLimits {
    total: 12,
    per_person: 10,
};

/// A page that counts its renderings, and waits for a permit in each.
struct TestPages {
    streams: Arc<LiveStreams>,
    router: Router,
    begun: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

fn test_pages(limits: LiveStreamLimits) -> TestPages {
    let (begun, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (count, behind) = (Arc::clone(&begun), Arc::clone(&gate));
    let page = move || async move {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        behind.acquire().await.unwrap().forget();
        format!("<html><main>{number}</main></html>")
    };
    let streams = LiveStreams {
        // No page is rendered a second time.
        render_interval: Duration::from_hours(1),
        ..Arc::into_inner(LiveStreams::new(limits, CancellationToken::new())).unwrap()
    };
    TestPages {
        streams: Arc::new(streams),
        router: Router::new().route("/dashboard/{page}", get(page)),
        begun,
        gate,
    }
}

fn person(number: u64) -> PersonId {
    PersonId::new(<_>::default(), Berth::new(0).unwrap(), number)
}

impl TestPages {
    fn open(&self, person: PersonId, path: &str, cookie: &'static str) -> Option<LiveStream> {
        let page = LivePage {
            router: self.router.clone(),
            path: format!("/dashboard/{path}"),
            cookie: HeaderValue::from_static(cookie),
            client: LiveClient::default(),
        };
        self.streams.open(person, page)
    }

    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !is_so(self) {
                tokio::task::yield_now().await;
            }
        };
        timeout(TEST_TIMEOUT, waiting).await.unwrap();
    }
}

async fn version(stream: &mut LiveStream) -> Option<String> {
    let version = timeout(TEST_TIMEOUT, stream.next_version()).await;
    version.unwrap().map(|it| it.to_string())
}

#[tokio::test]
async fn m4_streams_of_one_page_share_its_renderings() {
    let pages = test_pages(LIMITS);
    pages.gate.add_permits(2);
    let mut first = pages.open(person(1), "a", "session=1").unwrap();
    let mut second = pages.open(person(1), "a", "session=1").unwrap();
    let expected = Some("<main>1</main>".to_owned());
    assert_eq!(version(&mut first).await, expected);
    assert_eq!(version(&mut second).await, expected);
    let mut late = pages.open(person(1), "a", "session=1").unwrap();
    assert_eq!(version(&mut late).await, expected);
    // Another session never sees this rendering, because it has another CSRF token.
    let mut other = pages.open(person(1), "a", "session=2").unwrap();
    assert_eq!(version(&mut other).await.as_deref(), Some("<main>2</main>"));
    drop((first, second, late, other));
    pages.until(|it| it.streams.pages.lock().is_empty()).await;
    assert_eq!(pages.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn m4_a_person_and_all_together_have_a_limit() {
    let pages = test_pages(LIMITS);
    let open = |by| pages.open(person(by), "a", "session=1");
    let mut held: Vec<_> = (0..99).map_while(|_| open(1)).collect();
    assert_eq!(held.len(), LIMITS.per_person);
    held.extend((0..99).map_while(|_| open(2)));
    assert_eq!(held.len(), LIMITS.total);
    assert!(open(3).is_none());
    drop(held.pop());
    assert!(open(3).is_some());
}

#[tokio::test]
async fn m4_few_pages_are_rendered_at_the_same_time() {
    let pages = test_pages(LIMITS);
    let names = ["a", "b", "c", "d", "e"];
    let open = |name| pages.open(person(1), name, "session=1").unwrap();
    let mut streams = names.map(open);
    pages
        .until(|it| it.begun.load(Ordering::SeqCst) == MAX_CONCURRENT_RENDERS)
        .await;
    assert_eq!(pages.streams.render_permits.available_permits(), 0);
    pages.gate.add_permits(names.len());
    for stream in &mut streams {
        assert!(version(stream).await.is_some());
    }
    assert_eq!(pages.begun.load(Ordering::SeqCst), names.len());
}

#[tokio::test]
async fn a_session_that_has_ended_ends_its_streams() {
    let pages = test_pages(LIMITS);
    let page = LivePage {
        router: pages.router.clone(),
        path: "/elsewhere".to_owned(),
        cookie: HeaderValue::from_static("session=1"),
        client: LiveClient::default(),
    };
    let mut stream = pages.streams.open(person(1), page).unwrap();
    assert_eq!(version(&mut stream).await, None);
    assert!(pages.streams.pages.lock().is_empty());
}
