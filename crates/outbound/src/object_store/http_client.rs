//! The HTTP client: kept-alive connections to addresses that the operator configured.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio_rustls::rustls::RootCertStore;

use super::failure::ObjectStoreSetupFailure;
use crate::callback;
use crate::connection::Dialer;

/// Stores commonly close connections that idle longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_IDLE_PER_HOST: usize = 64;

pub(super) type ObjectStoreHttpClient = Client<Dialer, Full<Bytes>>;

pub(super) fn build_client(
    connect_timeout: Duration,
    roots: RootCertStore,
) -> Result<ObjectStoreHttpClient, ObjectStoreSetupFailure> {
    let dialer = Dialer::new(callback::tls(roots)?, connect_timeout);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        .build(dialer))
}
