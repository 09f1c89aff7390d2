//! Connections to one database: lent, used within a deadline, and taken back only when clean.
//!
//! sqlx's own pool pings on every return without a timeout, takes back a connection whose `BEGIN`
//! was cancelled, and knows one host. See docs/decisions/0016.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

mod class;

mod connect;

mod executor;

pub mod intercept;

mod session;

mod transaction;

pub use class::Class;
pub use connect::addresses;
pub use session::Session;
pub use transaction::Transaction;

use crate::Error;
use connect::Connected;
pub(crate) use connect::Connector;
use intercept::Interceptor;

/// A caller waits this long for a connection, connecting included.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(4);
/// A connection that was idle for longer is asked for a sign of life before it is lent.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);
/// A connection that was idle for longer is closed.
const MAX_IDLE: Duration = Duration::from_mins(5);

/// A handle on the connections of one database, for one class of work.
#[derive(Debug, Clone)]
pub struct Pool {
    shared: Arc<Shared>,
    class: Class,
}

#[derive(Debug)]
struct Shared {
    connector: Connector,
    permits: Arc<Semaphore>,
    idle: Mutex<IdleConnections>,
    interceptor: Option<Arc<dyn Interceptor>>,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// The one that was used last is lent first.
    connections: Vec<(Connected, Instant)>,
    /// Raised when the server was found to be away: connections of an earlier one are not trusted.
    generation: u64,
}

/// How a pool connects.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// How many connections may be open at the same time.
    pub connections: usize,
    /// How an operator recognizes the sessions of this process, and peers end them.
    pub application: String,
    /// Sees every statement: tests pause, fail or cut statements there.
    pub interceptor: Option<Arc<dyn Interceptor>>,
}

impl Pool {
    /// Connects when it is first used. The address may list several hosts.
    pub fn new(url: &str, class: Class, options: PoolOptions) -> Result<Self, Error> {
        Ok(Self {
            shared: Arc::new(Shared {
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
    pub fn with_class(&self, class: Class) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            class,
        }
    }

    /// The first host's address and credentials, for a connection past the pool.
    pub fn connect_options(&self) -> PgConnectOptions {
        self.shared.connector.first().cloned().unwrap_or_default()
    }

    /// A connection past the pool, without limits.
    pub(crate) async fn connect_past(&self) -> Result<PgConnection, sqlx::Error> {
        self.shared.connector.connect_past_pool().await
    }

    /// Lends a connection that is outside any transaction.
    pub async fn acquire(&self) -> Result<Session, sqlx::Error> {
        let deadline = Instant::now() + ACQUIRE_TIMEOUT;
        let permits = Arc::clone(&self.shared.permits);
        let Ok(permit) = timeout_at(deadline, permits.acquire_owned()).await else {
            return Err(sqlx::Error::PoolTimedOut);
        };
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        let connected = match timeout_at(deadline, self.connected()).await {
            Ok(connected) => connected?,
            Err(_) => return Err(sqlx::Error::PoolTimedOut),
        };
        Ok(Session::new(self.clone(), connected, permit))
    }

    /// Begins a transaction. `BEGIN` changes nothing, so a connection that fails there is replaced.
    pub async fn begin(&self) -> Result<Transaction, sqlx::Error> {
        let session = self.acquire().await?;
        let is_new = session.is_new();
        match Transaction::begin(session).await {
            Err(error) if !is_new && crate::error::is_lost(&error) => {
                Transaction::begin(self.acquire().await?).await
            }
            begun => begun,
        }
    }

    /// Closes what is idle and lends nothing more.
    pub fn close(&self) {
        self.shared.permits.close();
        self.shared.distrust();
    }

    async fn connected(&self) -> Result<Connected, sqlx::Error> {
        while let Some((mut connected, since)) = self.shared.take_idle(self.class) {
            let is_trusted = self.class != Class::Control && since.elapsed() < TRUSTED_IDLE;
            if (is_trusted || connected.is_alive().await)
                && connected.serve(self.class).await.is_ok()
            {
                return Ok(connected);
            }
            self.shared.distrust();
        }
        let generation = self.shared.lock().generation;
        self.shared.connector.connect(self.class, generation).await
    }
}

impl Shared {
    /// One of the same class if there is one, so that its settings need not change.
    fn take_idle(&self, class: Class) -> Option<(Connected, Instant)> {
        let mut idle = self.lock();
        let alike = idle
            .connections
            .iter()
            .rposition(|(connected, _)| connected.class == class);
        match alike {
            Some(place) => Some(idle.connections.remove(place)),
            None => idle.connections.pop(),
        }
    }

    fn give_back(&self, connected: Connected) {
        let now = Instant::now();
        let mut idle = self.lock();
        if connected.generation == idle.generation && now < connected.expires_at {
            idle.connections.push((connected, now));
        }
        // Those that have been idle longest come first.
        let fresh = idle
            .connections
            .partition_point(|(_, since)| now.duration_since(*since) >= MAX_IDLE);
        idle.connections.drain(..fresh);
    }

    /// The server is away, read only, or silent: every connection to it is replaced.
    fn distrust(&self) {
        let mut idle = self.lock();
        idle.generation += 1;
        idle.connections.clear();
    }

    fn lock(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
