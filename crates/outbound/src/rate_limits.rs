//! Rate limits in Redis or Valkey, shared by all nodes: token buckets of organizations and
//! windows of projects.
//!
//! Redis holds only counters and may be wiped at any moment. The caller decides how long to wait.

use std::fmt;
use std::time::Duration;

use domain::id::{OrganizationId, ProjectId};
use domain::plan_limits::RateLimit;
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ErrorKind, IntoConnectionInfo as _, RedisError,
    Script, TlsCertificates,
};

mod request;

pub use request::{
    BucketRequest, BucketResponse, RateLimitRequest, RateLimitResponse, WindowRequest,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a call waits for its response after its caller stopped waiting.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// One connection, opened on first use and reopened after it is lost.
pub struct RedisRateLimiter {
    client: Client,
    script: Script,
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// PEM files for a `rediss://` address.
#[derive(Default)]
pub struct RedisCertificates {
    /// Used instead of the host's authorities.
    pub authorities: Option<Vec<u8>>,
    pub client: Option<RedisClientCertificate>,
}

pub struct RedisClientCertificate {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum RateLimiterFailure {
    #[error("the Redis URL is invalid")]
    InvalidUrl(#[source] RedisError),
    #[error("Redis failed")]
    Redis(#[from] RedisError),
    #[error("Redis sent an unexpected response to the rate-limit script")]
    UnexpectedResponse,
}

impl RateLimiterFailure {
    /// Redis is reachable, but rejects the login or the command.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::InvalidUrl(_) | Self::UnexpectedResponse => false,
            Self::Redis(error) => matches!(
                error.kind(),
                ErrorKind::AuthenticationFailed | ErrorKind::Server(_) | ErrorKind::Extension
            ),
        }
    }
}

impl fmt::Debug for RedisCertificates {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisCertificates").finish_non_exhaustive()
    }
}

impl fmt::Debug for RedisClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisClientCertificate")
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RedisRateLimiter {
    /// Without the URL, which contains the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisRateLimiter").finish_non_exhaustive()
    }
}

impl RedisRateLimiter {
    /// Takes a URL such as `redis://:password@host:6379/0` or `rediss://…`. Does not connect yet.
    pub fn new(url: &str) -> Result<Self, RateLimiterFailure> {
        Self::with_certificates(url, RedisCertificates::default())
    }

    pub fn with_certificates(
        url: &str,
        certificates: RedisCertificates,
    ) -> Result<Self, RateLimiterFailure> {
        let settings = TcpSettings::default().set_nodelay(true);
        let address = url.into_connection_info();
        let address = address.map(|address| address.set_tcp_settings(settings));
        let tls = TlsCertificates {
            client_tls: certificates.client.map(|client| ClientTlsConfig {
                client_cert: client.certificate,
                client_key: client.key,
            }),
            root_cert: certificates.authorities,
        };
        let client = address.and_then(|address| {
            if tls.client_tls.is_none() && tls.root_cert.is_none() {
                Client::open(address)
            } else {
                Client::build_with_tls(address, tls)
            }
        });
        Ok(Self {
            client: client.map_err(RateLimiterFailure::InvalidUrl)?,
            script: Script::new(include_str!("rate_limits/script.lua")),
            connection: Mutex::new(None),
        })
    }

    /// Takes tokens, returns tokens and counts windows in one round trip.
    ///
    /// Retries once when the connection was lost. If Redis had executed the first call, its grants
    /// are lost: the limiter may grant too few, never too many.
    pub async fn apply(
        &self,
        asks: &RateLimitRequest,
    ) -> Result<RateLimitResponse, RateLimiterFailure> {
        let call = asks.script_invocation(&self.script);
        let mut connection = self.get_connection().await?;
        let mut answer: Result<Vec<i64>, _> = call.invoke_async(&mut connection).await;
        if answer
            .as_ref()
            .is_err_and(RedisError::is_connection_dropped)
        {
            connection = self.connect().await?;
            answer = call.invoke_async(&mut connection).await;
        }
        asks.parse_response(&answer?)
    }

    /// Runs the script for an organization that does not exist. A server that answers PING may
    /// still refuse scripts or writes.
    pub async fn check_script(&self) -> Result<(), RateLimiterFailure> {
        let ask = BucketRequest {
            organization: OrganizationId::from_uuid(<_>::default()),
            rate: RateLimit {
                burst: 1_000,
                per_minute: 60_000,
            },
            requested: 1,
            returned: 0,
            owed: 0,
        };
        let buckets = vec![ask];
        let asks = RateLimitRequest {
            buckets,
            ..RateLimitRequest::default()
        };
        self.apply(&asks).await.map(drop)
    }

    pub async fn ping(&self) -> Result<(), RateLimiterFailure> {
        let mut connection = self.get_connection().await?;
        Ok(redis::cmd("PING").exec_async(&mut connection).await?)
    }

    /// Deletes the counters of erased projects, and of an erased organization.
    pub async fn forget(
        &self,
        organization: Option<OrganizationId>,
        projects: &[ProjectId],
    ) -> Result<(), RateLimiterFailure> {
        let windows = projects.iter().copied().map(request::window_key);
        let keys: Vec<String> = organization
            .map(request::bucket_key)
            .into_iter()
            .chain(windows)
            .collect();
        if keys.is_empty() {
            return Ok(());
        }
        let mut connection = self.get_connection().await?;
        Ok(redis::cmd("DEL")
            .arg(&keys)
            .exec_async(&mut connection)
            .await?)
    }

    /// The next call opens a new connection. Calls in flight keep theirs.
    pub fn disconnect(&self) {
        self.set_connection(None);
    }

    /// Opens a connection and replaces the current one.
    async fn connect(&self) -> Result<MultiplexedConnection, RateLimiterFailure> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT));
        let connected = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        self.set_connection(Some(connected.clone()));
        Ok(connected)
    }

    async fn get_connection(&self) -> Result<MultiplexedConnection, RateLimiterFailure> {
        let connection = self.connection.lock().clone();
        match connection {
            Some(connection) => Ok(connection),
            None => self.connect().await,
        }
    }

    fn set_connection(&self, connection: Option<MultiplexedConnection>) {
        *self.connection.lock() = connection;
    }
}
