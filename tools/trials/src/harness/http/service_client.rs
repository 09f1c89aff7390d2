//! A client of one process of the service, as callers and load balancers see it.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::harness::http::http_client::{ConnectionReuse, HttpClient, HttpRequest, HttpResponse};
use crate::harness::http::load_request;

/// Longer than any response may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct ServiceClient {
    address: SocketAddr,
    /// Whether a load balancer would send to it.
    is_admitted: AtomicBool,
    http: HttpClient,
}

impl ServiceClient {
    pub fn new(address: SocketAddr) -> Self {
        Self::with_reuse(address, ConnectionReuse::KeepAlive)
    }

    pub fn with_reuse(address: SocketAddr, reuse: ConnectionReuse) -> Self {
        Self {
            address,
            is_admitted: AtomicBool::new(true),
            http: HttpClient::new(RESPONSE_TIMEOUT, reuse),
        }
    }

    pub fn is_admitted(&self) -> bool {
        self.is_admitted.load(Ordering::Relaxed)
    }

    /// Checks `/ready` like a load balancer, and remembers the result.
    pub async fn check_ready(&self) {
        let ready = is_ready(self.address).await;
        self.is_admitted.store(ready, Ordering::Relaxed);
        if !ready {
            self.http.close_idle_connections();
        }
    }

    /// Sends one request, never retried: the caller decides what a failure means.
    pub async fn send(&self, request: HttpRequest) -> io::Result<HttpResponse> {
        self.http.send_to(&self.address.to_string(), request).await
    }
}

/// Whether `GET /ready` answers 200.
pub async fn is_ready(address: SocketAddr) -> bool {
    fetch_readiness(address)
        .await
        .is_ok_and(|answer| answer.status == 200)
}

/// `GET /ready` on a new connection.
pub async fn fetch_readiness(address: SocketAddr) -> io::Result<HttpResponse> {
    let http = HttpClient::new(READINESS_TIMEOUT, ConnectionReuse::PerRequest);
    let request = load_request::get_without_key("/ready");
    http.send_to(&address.to_string(), request).await
}
