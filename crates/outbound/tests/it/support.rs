//! Shared by these tests: callback clients, resolvers, clamd and a proxy.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::callback_url::AllowedSchemes;
use domain::ssrf_guard::DestinationRules;
use outbound::callback::{CallbackAttempt, CallbackDeps, DnsResolver, HttpCallbackClient, Options};
use tokio_rustls::rustls::RootCertStore;

pub(crate) mod clamd;
pub(crate) mod dns;
pub(crate) mod tampering_proxy;

pub(crate) use dns::ScriptedResolver;

/// The range that the conformance suite allows. 127.9.9.9 is outside.
pub(crate) const ALLOWED_RANGE: &str = "127.0.0.0/16";
/// Longer than any test runs, unless it waits for this timeout.
pub(crate) const LONG_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) fn client() -> HttpCallbackClient {
    client_with(
        LONG_TIMEOUT,
        &[ALLOWED_RANGE],
        Arc::new(ScriptedResolver::empty()),
    )
}

pub(crate) fn client_with_timeout(timeout: Duration) -> HttpCallbackClient {
    client_with(
        timeout,
        &[ALLOWED_RANGE],
        Arc::new(ScriptedResolver::empty()),
    )
}

pub(crate) fn client_with(
    timeout: Duration,
    allow: &[&str],
    resolver: Arc<dyn DnsResolver>,
) -> HttpCallbackClient {
    client_with_rules(timeout, allow, resolver, DestinationRules::default())
}

pub(crate) fn client_with_rules(
    timeout: Duration,
    allow: &[&str],
    resolver: Arc<dyn DnsResolver>,
    rules: DestinationRules,
) -> HttpCallbackClient {
    let deps = CallbackDeps {
        resolver,
        roots: RootCertStore::empty(),
    };
    let allow = allow.iter().map(|range| range.parse().unwrap()).collect();
    HttpCallbackClient::with_deps(
        Options {
            timeout,
            allowed_ranges: allow,
            schemes: AllowedSchemes::HttpAndHttps,
            rules,
        },
        deps,
    )
    .unwrap()
}

pub(crate) async fn post(client: &HttpCallbackClient, url: &str) -> CallbackAttempt {
    client
        .post(url, Bytes::from_static(b"{}"), None, None)
        .await
}

pub(crate) fn attempt_error(attempt: &CallbackAttempt) -> &str {
    assert!(!attempt.is_success());
    attempt.error.as_deref().unwrap_or_default()
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}
