//! A client of the service: an address with a pool of keep-alive connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::harness::http::keep_alive::{self, KeepAliveConnection};
use crate::harness::http::load_request;
use crate::harness::lock::lock;

/// Longer than any response may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// An owned response.
#[derive(Debug, Clone)]
pub struct ServiceResponse {
    pub status: u16,
    pub is_replay: bool,
    pub retry_after: Option<u64>,
    pub body: Vec<u8>,
}

impl ServiceResponse {
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    pub fn cargo_id(&self) -> Option<u128> {
        keep_alive::find_cargo_id(&self.body)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct ServiceClient {
    address: SocketAddr,
    /// Whether a load balancer would send to it.
    is_admitted: AtomicBool,
    idle: Mutex<Vec<KeepAliveConnection>>,
}

impl ServiceClient {
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            is_admitted: AtomicBool::new(true),
            idle: Mutex::new(Vec::new()),
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
            self.close_idle_connections();
        }
    }

    /// Sends one request, never retried: the caller decides what a failure means.
    pub async fn send(&self, request: &[u8]) -> io::Result<ServiceResponse> {
        let sent = tokio::time::timeout(RESPONSE_TIMEOUT, self.send_without_timeout(request)).await;
        match sent {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                // If the process is gone, its other connections are dead, too.
                self.close_idle_connections();
                Err(error)
            }
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn send_without_timeout(&self, request: &[u8]) -> io::Result<ServiceResponse> {
        let mut connection = match self.take_idle_connection() {
            Some(connection) => connection,
            None => KeepAliveConnection::open(self.address).await?,
        };
        let reply = connection.exchange(request).await?;
        let closes = reply.closes_connection;
        let answer = ServiceResponse {
            status: reply.status,
            is_replay: reply.is_replay,
            retry_after: reply.retry_after,
            body: reply.body.to_vec(),
        };
        if !closes {
            lock(&self.idle).push(connection);
        }
        Ok(answer)
    }

    fn take_idle_connection(&self) -> Option<KeepAliveConnection> {
        let mut idle = lock(&self.idle);
        loop {
            let connection = idle.pop()?;
            if !connection.is_stale() {
                return Some(connection);
            }
        }
    }

    fn close_idle_connections(&self) {
        lock(&self.idle).clear();
    }
}

/// Whether `GET /ready` answers 200.
pub async fn is_ready(address: SocketAddr) -> bool {
    fetch_readiness(address)
        .await
        .is_ok_and(|answer| answer.status == 200)
}

/// `GET /ready` on a new connection.
pub async fn fetch_readiness(address: SocketAddr) -> io::Result<ServiceResponse> {
    let target = ServiceClient::new(address);
    let request = load_request::format_get_without_key("/ready", address);
    let asking = target.send(request.as_bytes());
    let answered = tokio::time::timeout(READINESS_TIMEOUT, asking).await;
    answered.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
