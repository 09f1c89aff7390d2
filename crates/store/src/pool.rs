//! A connection pool for one database. Every use has a deadline, and a connection returns to the
//! pool only when it is outside any transaction.
//!
//! sqlx's pool pings on every return without a timeout, takes back a connection whose `BEGIN` was
//! cancelled, and supports one host only. See docs/decisions/0016.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

mod workload;

mod connect;

mod executor;

pub mod intercept;

mod session;

mod transaction;

mod transport;

pub use connect::{ServerRole, host_urls};
pub use session::DatabaseSession;
pub use transaction::Transaction;
pub use transport::{HostTransport, TlsRequirement, host_transports};
pub use workload::WorkloadClass;

use crate::Error;
pub(crate) use connect::Connector;
use connect::PooledConnection;
use intercept::Interceptor;

/// A caller waits this long for a connection, connecting included.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(4);
/// A connection that was idle for longer is pinged before it is used.
const MAX_UNCHECKED_IDLE: Duration = Duration::from_secs(1);
/// A connection that was idle for longer is closed.
const MAX_IDLE: Duration = Duration::from_mins(5);

/// A handle on the connections of one database, for one class of work.
#[derive(Debug, Clone)]
pub struct Pool {
    shared: Arc<PoolState>,
    class: WorkloadClass,
}

#[derive(Debug)]
struct PoolState {
    connector: Connector,
    permits: Arc<Semaphore>,
    idle: Mutex<IdleConnections>,
    interceptor: Option<Arc<dyn Interceptor>>,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// The most recently used one is taken first.
    connections: Vec<(PooledConnection, Instant)>,
    /// Raised when the server was unreachable. Connections of an earlier generation are closed.
    generation: u64,
}

/// How a pool connects.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// How many connections may be open at the same time.
    pub connections: usize,
    /// The `application_name`: operators recognize the sessions of this process by it, and peers
    /// end them by it.
    pub application: String,
    /// Called around every statement. Tests use it to pause a statement, fail it, or lose its
    /// answer.
    pub interceptor: Option<Arc<dyn Interceptor>>,
}

impl Pool {
    /// Connects on first use. The URL may list several hosts.
    pub fn new(url: &str, class: WorkloadClass, options: PoolOptions) -> Result<Self, Error> {
        Ok(Self {
            shared: Arc::new(PoolState {
                connector: Connector::new(url, &options.application)?,
                permits: Arc::new(Semaphore::new(options.connections)),
                idle: Mutex::default(),
                interceptor: options.interceptor,
            }),
            class,
        })
    }

    /// The same connections, for another class of work.
    #[must_use]
    pub fn with_class(&self, class: WorkloadClass) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            class,
        }
    }

    /// The first host's address and credentials, for a connection outside the pool.
    pub fn connect_options(&self) -> PgConnectOptions {
        self.shared.connector.first().cloned().unwrap_or_default()
    }

    /// A connection outside the pool to the primary. Its statements have no timeouts.
    pub(crate) async fn connect_outside_pool(&self) -> Result<PgConnection, sqlx::Error> {
        match self.shared.connector.connect_outside_pool().await? {
            (connection, ServerRole::Primary) => Ok(connection),
            (_, ServerRole::Standby) => Err(connect::timed_out("the server is a standby")),
        }
    }

    /// Takes a connection that is outside any transaction.
    pub async fn acquire(&self) -> Result<DatabaseSession, sqlx::Error> {
        let deadline = Instant::now() + ACQUIRE_TIMEOUT;
        let permits = Arc::clone(&self.shared.permits);
        let Ok(permit) = timeout_at(deadline, permits.acquire_owned()).await else {
            return Err(sqlx::Error::PoolTimedOut);
        };
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        let acquired = async {
            match self.reuse_idle().await {
                Some(connected) => Ok((connected, permit)),
                None => self.connect(permit).await,
            }
        };
        match timeout_at(deadline, acquired).await {
            Ok(acquired) => {
                let (connected, permit) = acquired?;
                Ok(DatabaseSession::new(self.clone(), connected, permit))
            }
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    /// Begins a transaction. `BEGIN` changes nothing, so a connection that fails there is replaced.
    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        let session = self.acquire().await?;
        let is_new = session.is_new();
        match Transaction::begin(session).await {
            Err(error) if !is_new && crate::error::is_connection_lost(&error) => {
                Transaction::begin(self.acquire().await?).await
            }
            begun => begun,
        }
    }

    /// Closes idle connections and refuses further ones.
    pub fn close(&self) {
        self.shared.permits.close();
        self.shared.discard_idle();
    }

    async fn reuse_idle(&self) -> Option<PooledConnection> {
        while let Some((mut connected, since)) = self.shared.take_idle(self.class) {
            let is_trusted =
                self.class != WorkloadClass::Control && since.elapsed() < MAX_UNCHECKED_IDLE;
            if (is_trusted || connected.is_alive().await)
                && connected.switch_class(self.class).await.is_ok()
            {
                return Some(connected);
            }
            self.shared.discard_idle();
        }
        None
    }

    /// Connects in a task of its own: when the caller gives up first, the connection serves the
    /// next one. Otherwise callers that wait for less time than connecting takes would never get
    /// one from a distant server.
    async fn connect(
        &self,
        permit: OwnedSemaphorePermit,
    ) -> Result<(PooledConnection, OwnedSemaphorePermit), sqlx::Error> {
        let (shared, class) = (Arc::clone(&self.shared), self.class);
        let (caller, connected) = oneshot::channel();
        tokio::spawn(async move {
            let generation = shared.idle.lock().generation;
            let connected = shared.connector.connect(class, generation).await;
            let sent = caller.send(connected.map(|connected| (connected, permit)));
            if let Err(Ok((mut connected, _permit))) = sent {
                connected.is_new = false;
                shared.give_back(connected);
            }
        });
        connected.await.map_err(|_| sqlx::Error::PoolClosed)?
    }
}

impl PoolState {
    /// Prefers a connection of the same class, whose settings need not change.
    fn take_idle(&self, class: WorkloadClass) -> Option<(PooledConnection, Instant)> {
        let mut idle = self.idle.lock();
        let alike = idle
            .connections
            .iter()
            .rposition(|(connected, _)| connected.class == class);
        match alike {
            Some(place) => Some(idle.connections.remove(place)),
            None => idle.connections.pop(),
        }
    }

    fn give_back(&self, connected: PooledConnection) {
        let now = Instant::now();
        let mut idle = self.idle.lock();
        if connected.generation == idle.generation && now < connected.expires_at {
            idle.connections.push((connected, now));
        }
        // The connections that have been idle longest come first.
        let fresh = idle
            .connections
            .partition_point(|(_, since)| now.duration_since(*since) >= MAX_IDLE);
        idle.connections.drain(..fresh);
    }

    /// The server is unreachable, read only or silent: every connection to it is replaced.
    fn discard_idle(&self) {
        let mut idle = self.idle.lock();
        idle.generation += 1;
        idle.connections.clear();
    }
}
