//! The client: connections that are kept, to addresses that the operator gave.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio_rustls::rustls::RootCertStore;

use super::failure::SetupFailure;
use crate::callback;
use crate::connection::Dialer;

/// Stores commonly close what idles for longer.
const IDLE: Duration = Duration::from_secs(15);
const MOST_IDLE: usize = 64;

pub(super) type HttpClient = Client<Dialer, Full<Bytes>>;

pub(super) fn client(patience: Duration, roots: RootCertStore) -> Result<HttpClient, SetupFailure> {
    let dialer = Dialer::new(callback::tls(roots)?, patience);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(MOST_IDLE)
        .build(dialer))
}
