//! A client of one process of the service, as callers and load balancers see it.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::harness::build_profile;
use crate::harness::http::http_client::{ConnectionReuse, HttpClient, HttpRequest, HttpResponse};
use crate::harness::http::load_request;

/// Longer than any response may take.
const RESPONSE_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(30));
/// A process of a debug build that answers late is not down.
const READINESS_TIMEOUT: Duration =
    build_profile::choose(Duration::from_secs(10), Duration::from_secs(2));
/// How long a caller repeats what is answered with 503.
const REPEAT_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(30));
const REPEAT_DELAY: Duration = Duration::from_millis(200);

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

    /// Sends a load with an idempotency key, and repeats it while it is answered with 503, as the
    /// contract allows.
    pub async fn send_load(&self, mut request: HttpRequest) -> io::Result<HttpResponse> {
        load_request::add_idempotency_key(&mut request);
        self.send_repeatedly(request).await
    }

    /// Repeats a request that changes nothing, or has an idempotency key, while it is answered with
    /// 503.
    pub async fn send_repeatedly(&self, request: HttpRequest) -> io::Result<HttpResponse> {
        let begun = Instant::now();
        loop {
            let response = self.send(request.clone()).await?;
            if response.status != 503 || begun.elapsed() > REPEAT_TIMEOUT {
                return Ok(response);
            }
            tokio::time::sleep(REPEAT_DELAY).await;
        }
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request with each of these statuses; returns the idempotency keys.
    async fn answer_each(listener: &TcpListener, statuses: &[&str]) -> Vec<String> {
        let mut keys = Vec::new();
        for status in statuses {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_buf(&mut head).await.unwrap();
            }
            let head = String::from_utf8(head).unwrap();
            let mut lines = head.lines();
            let key = lines.find_map(|line| line.strip_prefix("idempotency-key: "));
            keys.push(key.unwrap().to_owned());
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        keys
    }

    #[tokio::test]
    async fn a_refused_load_is_repeated_with_its_key() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = ServiceClient::with_reuse(address, ConnectionReuse::PerRequest);
        let load = load_request::get_without_key("/cargo/load");
        let statuses = ["503 Service Unavailable", "202 Accepted"];
        let (keys, answer) =
            tokio::join!(answer_each(&listener, &statuses), client.send_load(load));
        assert_eq!(answer.unwrap().status, 202);
        assert_eq!(keys[0], keys[1]);
    }
}
