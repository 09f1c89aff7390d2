//! What the tests share: a client with given surroundings, receivers, names and certificates.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use outbound::callback::{Attempt, Callbacks, Options, Resolve, Surroundings};
use tokio_rustls::rustls::RootCertStore;

pub(crate) mod certificates;
pub(crate) mod clamd;
pub(crate) mod liar;
pub(crate) mod names;
pub(crate) mod receiver;
pub(crate) mod redis;
pub(crate) mod store;

pub(crate) use names::Names;
pub(crate) use receiver::{Receiver, Reply, plain};

/// What the conformance suite opens: 127.9.9.9 is outside.
pub(crate) const OPENED: &str = "127.0.0.0/16";
/// Far longer than any test that does not wait for it.
pub(crate) const AMPLE: Duration = Duration::from_secs(20);

pub(crate) fn client() -> Callbacks {
    client_with(AMPLE, &[OPENED], Arc::new(Names::none()))
}

pub(crate) fn hasty(timeout: Duration) -> Callbacks {
    client_with(timeout, &[OPENED], Arc::new(Names::none()))
}

pub(crate) fn client_with(
    timeout: Duration,
    allow: &[&str],
    resolver: Arc<dyn Resolve>,
) -> Callbacks {
    let surroundings = Surroundings {
        resolver,
        roots: RootCertStore::empty(),
    };
    let allow = allow.iter().map(|range| range.parse().unwrap()).collect();
    Callbacks::within(Options { timeout, allow }, surroundings).unwrap()
}

pub(crate) async fn post(client: &Callbacks, url: &str) -> Attempt {
    client.post(url, Bytes::from_static(b"{}")).await
}

pub(crate) fn error(attempt: &Attempt) -> &str {
    assert!(!attempt.is_success());
    attempt.error.as_deref().unwrap_or_default()
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A server that the tests are given.
#[expect(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "where the servers of the tests are"
)]
pub(crate) fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: ./dev test"))
}
