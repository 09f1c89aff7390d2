//! Redis or Valkey, which counts for all nodes: buckets of organizations, windows of projects.
//!
//! It holds counters only and may be wiped at any moment. Who asks decides how long to wait.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::id::OrganizationId;
use domain::limit::Rate;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ErrorKind, IntoConnectionInfo as _, RedisError, Script,
};

mod ask;

pub use ask::{Asks, BucketAsk, Grants, Taken, WindowAsk};

/// A connection that was not made by then is tried again.
const CONNECTING: Duration = Duration::from_secs(2);
/// A call that nobody waits for any more is listened to for so long.
const ANSWERING: Duration = Duration::from_secs(30);

/// One connection, made when it is first needed and again when it was lost.
pub struct Counters {
    client: Client,
    script: Script,
    connection: Mutex<Option<MultiplexedConnection>>,
}

#[derive(Debug, thiserror::Error)]
pub enum CountersFailure {
    #[error("the address of Redis cannot be used")]
    Address(#[source] RedisError),
    #[error("Redis failed")]
    Driver(#[from] RedisError),
    #[error("Redis answered what the script never says")]
    Answer,
}

impl CountersFailure {
    /// It is there, and does not let us in or do what we ask.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Address(_) | Self::Answer => false,
            Self::Driver(error) => matches!(
                error.kind(),
                ErrorKind::AuthenticationFailed | ErrorKind::Server(_) | ErrorKind::Extension
            ),
        }
    }
}

impl fmt::Debug for Counters {
    /// Without the address: there is a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").finish_non_exhaustive()
    }
}

impl Counters {
    /// Takes an address such as `redis://:password@host:6379/0` or `rediss://…`; nothing is
    /// connected yet.
    pub fn new(url: &str) -> Result<Self, CountersFailure> {
        let settings = TcpSettings::default().set_nodelay(true);
        let address = url.into_connection_info();
        let address = address.map(|address| address.set_tcp_settings(settings));
        let client = address.and_then(Client::open);
        Ok(Self {
            client: client.map_err(CountersFailure::Address)?,
            script: Script::new(include_str!("counters/script.lua")),
            connection: Mutex::new(None),
        })
    }

    /// Takes, gives back and counts, all in one round trip.
    ///
    /// The call is made once more when the connection turns out to be lost. Should the first
    /// have come through after all, its grants are lost with it: too few, never too many.
    pub async fn ask(&self, asks: &Asks) -> Result<Grants, CountersFailure> {
        let call = asks.invocation(&self.script);
        let mut connection = self.connected().await?;
        let mut answer: Result<Vec<i64>, _> = call.invoke_async(&mut connection).await;
        if answer
            .as_ref()
            .is_err_and(RedisError::is_connection_dropped)
        {
            connection = self.connect().await?;
            answer = call.invoke_async(&mut connection).await;
        }
        asks.read(&answer?)
    }

    /// Asks as a load does, for an organization that there is not: a server that is up but
    /// refuses scripts, or takes no writes, is of no use.
    pub async fn rehearse(&self) -> Result<(), CountersFailure> {
        let ask = BucketAsk {
            organization: OrganizationId::from_uuid(<_>::default()),
            rate: Rate {
                burst: 1_000,
                per_minute: 60_000,
            },
            wanted: 1,
            given_back: 0,
            owed: 0,
        };
        let buckets = vec![ask];
        let asks = Asks {
            buckets,
            ..Asks::default()
        };
        self.ask(&asks).await.map(drop)
    }

    pub async fn ping(&self) -> Result<(), CountersFailure> {
        let mut connection = self.connected().await?;
        Ok(redis::cmd("PING").exec_async(&mut connection).await?)
    }

    /// The next call makes a connection of its own. Calls under way keep theirs.
    pub fn disconnect(&self) {
        self.put(None);
    }

    /// A new connection in place of the one there was.
    async fn connect(&self) -> Result<MultiplexedConnection, CountersFailure> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECTING))
            .set_response_timeout(Some(ANSWERING));
        let connected = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        self.put(Some(connected.clone()));
        Ok(connected)
    }

    async fn connected(&self) -> Result<MultiplexedConnection, CountersFailure> {
        let connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match connection {
            Some(connection) => Ok(connection),
            None => self.connect().await,
        }
    }

    fn put(&self, connection: Option<MultiplexedConnection>) {
        *self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = connection;
    }
}
