//! A service as its callers reach it: an address with a pool of kept connections.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::connection::{self, Connection};
use crate::request;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
const PROBE_PATIENCE: Duration = Duration::from_secs(2);

/// A reply that has left its connection.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub is_replay: bool,
    pub retry_after: Option<u64>,
    pub body: Vec<u8>,
}

impl Answer {
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    pub fn cargo(&self) -> Option<u128> {
        connection::cargo_id(&self.body)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct Target {
    address: SocketAddr,
    /// Whether a balancer in front would send to it.
    admitted: AtomicBool,
    idle: Mutex<Vec<Connection>>,
}

impl Target {
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            admitted: AtomicBool::new(true),
            idle: Mutex::new(Vec::new()),
        }
    }

    pub fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Asks as a balancer does, and keeps the answer.
    pub async fn probe(&self) {
        let ready = is_ready(self.address).await;
        self.admitted.store(ready, Ordering::Relaxed);
        if !ready {
            self.forget();
        }
    }

    /// One request, never repeated: whoever calls decides what a failure means.
    pub async fn send(&self, request: &[u8]) -> io::Result<Answer> {
        let sent = tokio::time::timeout(PATIENCE, self.send_patiently(request)).await;
        match sent {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                // The others of a dead process are dead too.
                self.forget();
                Err(error)
            }
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn send_patiently(&self, request: &[u8]) -> io::Result<Answer> {
        let mut connection = match self.idle_connection() {
            Some(connection) => connection,
            None => Connection::open(self.address).await?,
        };
        let reply = connection.exchange(request).await?;
        let closes = reply.closes;
        let answer = Answer {
            status: reply.status,
            is_replay: reply.is_replay,
            retry_after: reply.retry_after,
            body: reply.body.to_vec(),
        };
        if !closes {
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(connection);
        }
        Ok(answer)
    }

    fn idle_connection(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let connection = idle.pop()?;
            if !connection.is_stale() {
                return Some(connection);
            }
        }
    }

    fn forget(&self) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// Whether `GET /ready` answers 200.
pub async fn is_ready(address: SocketAddr) -> bool {
    readiness(address)
        .await
        .is_ok_and(|answer| answer.status == 200)
}

/// `GET /ready` on a connection of its own.
pub async fn readiness(address: SocketAddr) -> io::Result<Answer> {
    let target = Target::new(address);
    let asked = request::open_get("/ready", address);
    let asking = target.send(asked.as_bytes());
    let answered = tokio::time::timeout(PROBE_PATIENCE, asking).await;
    answered.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
