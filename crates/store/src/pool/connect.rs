//! Opening connections: tries every host in turn and accepts only a primary. After a failure it
//! makes one attempt at a time.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rand::RngExt as _;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{Connection as _, PgConnection};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::error::is_away;

use super::workload::{MIN_TRANSACTION_TIMEOUT_VERSION, WorkloadClass};

/// For all hosts of a URL together, from the first packet to the first answer. Each host has an
/// equal part of it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The least time that a host has to answer.
const MIN_HOST_TIMEOUT: Duration = Duration::from_secs(1);
/// For the ping of an idle connection, and for changing its limits.
const PING_TIMEOUT: Duration = Duration::from_millis(500);
/// While the server answers, this many connections are opened at once. To a distant server each
/// takes a second or more.
const MAX_PARALLEL_ATTEMPTS: u32 = 4;
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// Connections are replaced after 8 to 12 minutes, so that DNS changes take effect.
const CONNECTION_LIFETIME_MINUTES: std::ops::Range<u64> = 8..12;
/// More than the distinct statements of one process, so none is prepared twice on a connection.
const STATEMENT_CACHE_CAPACITY: usize = 512;
/// The names that sqlx accepts.
const ROOT_CERTIFICATE_KEYS: [&str; 3] = ["sslrootcert", "ssl-root-cert", "ssl-ca"];

/// A connection and its state.
#[derive(Debug)]
pub(super) struct PooledConnection {
    pub(super) connection: PgConnection,
    pub(super) class: WorkloadClass,
    pub(super) generation: u64,
    pub(super) expires_at: Instant,
    version: u32,
    pub(super) is_new: bool,
}

impl PooledConnection {
    pub(super) async fn is_alive(&mut self) -> bool {
        let ping = timeout(PING_TIMEOUT, self.connection.ping());
        matches!(ping.await, Ok(Ok(())))
    }

    /// Changes the limits of the session to those of another class of work.
    pub(super) async fn switch_class(&mut self, class: WorkloadClass) -> Result<(), sqlx::Error> {
        if self.class == class {
            return Ok(());
        }
        self.set_limits(class).await
    }

    async fn set_limits(&mut self, class: WorkloadClass) -> Result<(), sqlx::Error> {
        let settings = class.settings(self.version).into_iter();
        let statements: Vec<String> = settings
            .map(|(name, value)| format!("set {name} = '{value}'"))
            .collect();
        let changed = sqlx::raw_sql(sqlx::AssertSqlSafe(statements.join("; ")));
        match timeout(PING_TIMEOUT, changed.execute(&mut self.connection)).await {
            Ok(Ok(_)) => self.class = class,
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(timed_out("the session's limits were not set in time")),
        }
        Ok(())
    }
}

/// Whether a server accepts writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerRole {
    Primary,
    Standby,
}

pub(crate) struct Connector {
    hosts: Vec<PgConnectOptions>,
    /// The place of the host that was the primary last. It is tried first, so that a host that
    /// does not answer delays the others only once.
    last_primary: AtomicUsize,
    backoff: Mutex<ConnectBackoff>,
    attempts: Semaphore,
}

#[derive(Debug, Default)]
struct ConnectBackoff {
    failures: u32,
    not_before: Option<Instant>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The options would print the password.
        f.debug_struct("Connector")
            .field("hosts", &self.hosts.len())
            .finish_non_exhaustive()
    }
}

impl Connector {
    pub(crate) fn new(url: &str, application: &str) -> Result<Self, sqlx::Error> {
        let hosts = host_options(url)?.into_iter();
        Ok(Self {
            hosts: hosts
                .map(|host| host.application_name(application))
                .collect(),
            last_primary: AtomicUsize::new(0),
            backoff: Mutex::default(),
            attempts: Semaphore::new(MAX_PARALLEL_ATTEMPTS as usize),
        })
    }

    pub(super) fn first(&self) -> Option<&PgConnectOptions> {
        self.hosts.first()
    }

    /// A connection outside the pool, whose statements have no timeouts: to the primary or, if no
    /// host is a primary, to a standby that answers.
    pub(crate) async fn connect_outside_pool(
        &self,
    ) -> Result<(PgConnection, ServerRole), sqlx::Error> {
        let (mut standby, mut failure) = (None, None);
        for (_, host) in self.hosts_in_order() {
            match self.within_host_timeout(open_outside_pool(host)).await {
                Ok((connection, ServerRole::Primary)) => {
                    return Ok((connection, ServerRole::Primary));
                }
                Ok(found) => standby = Some(found),
                Err(error) => failure = Some(preferred_failure(failure, error)),
            }
        }
        standby.ok_or_else(|| failure.unwrap_or_else(no_host))
    }

    /// The time covers everything: resolving the name, TLS, and the first answer.
    async fn within_host_timeout<T>(
        &self,
        opening: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let opened = timeout(self.host_timeout(), opening).await;
        opened.unwrap_or_else(|_| Err(timed_out("the server did not answer in time")))
    }

    /// All hosts with their places, beginning with the one that was the primary last.
    fn hosts_in_order(&self) -> impl Iterator<Item = (usize, &PgConnectOptions)> {
        let first = self.last_primary.load(Ordering::Relaxed);
        let hosts = self.hosts.iter().enumerate();
        hosts.clone().skip(first).chain(hosts.take(first))
    }

    fn host_timeout(&self) -> Duration {
        let hosts = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX).max(1);
        (CONNECT_TIMEOUT / hosts).max(MIN_HOST_TIMEOUT)
    }

    pub(super) async fn connect(
        &self,
        class: WorkloadClass,
        generation: u64,
    ) -> Result<PooledConnection, sqlx::Error> {
        let failures = self.backoff.lock().failures;
        // After a failure one attempt at a time. Otherwise every caller would connect at once
        // after a failover.
        let needed = if failures == 0 {
            1
        } else {
            MAX_PARALLEL_ATTEMPTS
        };
        let turn = self.attempts.acquire_many(needed).await;
        let _turn = turn.map_err(|_| sqlx::Error::PoolClosed)?;
        let not_before = self.backoff.lock().not_before;
        if not_before.is_some_and(|at| Instant::now() < at) {
            return Err(timed_out(
                "the server is unreachable; the next attempt follows shortly",
            ));
        }
        let mut connected = self.try_hosts(class, generation).await;
        if connected.is_err() && failures == 0 {
            // A single failure does not mean that the server is unreachable.
            tokio::time::sleep(FIRST_BACKOFF).await;
            connected = self.try_hosts(class, generation).await;
        }
        let mut backoff = self.backoff.lock();
        match &connected {
            Ok(_) => *backoff = ConnectBackoff::default(),
            // Attempts that failed at the same time count once.
            Err(_) if backoff.failures == failures => backoff.add_failure(),
            Err(_) => {}
        }
        connected
    }
}

impl ConnectBackoff {
    fn add_failure(&mut self) {
        let backoff = FIRST_BACKOFF * 2_u32.pow(self.failures.min(5));
        let backoff = backoff
            .min(MAX_BACKOFF)
            .mul_f64(rand::rng().random_range(0.5..1.0));
        self.failures += 1;
        self.not_before = Some(Instant::now() + backoff);
    }
}

impl Connector {
    async fn try_hosts(
        &self,
        class: WorkloadClass,
        generation: u64,
    ) -> Result<PooledConnection, sqlx::Error> {
        let mut failure = None;
        for (place, host) in self.hosts_in_order() {
            match self
                .within_host_timeout(open(host, class, generation))
                .await
            {
                Ok(connected) => {
                    self.last_primary.store(place, Ordering::Relaxed);
                    return Ok(connected);
                }
                Err(error) => failure = Some(preferred_failure(failure, error)),
            }
        }
        Err(failure.unwrap_or_else(no_host))
    }
}

async fn open_outside_pool(
    host: &PgConnectOptions,
) -> Result<(PgConnection, ServerRole), sqlx::Error> {
    let mut connection = PgConnection::connect_with(host).await?;
    let standby = sqlx::query_scalar!(r#"select pg_is_in_recovery() as "standby!""#);
    let role = if standby.fetch_one(&mut connection).await? {
        ServerRole::Standby
    } else {
        ServerRole::Primary
    };
    Ok((connection, role))
}

/// Fails on a standby, which accepts no writes.
async fn open(
    host: &PgConnectOptions,
    class: WorkloadClass,
    generation: u64,
) -> Result<PooledConnection, sqlx::Error> {
    let options = host
        .clone()
        .statement_cache_capacity(STATEMENT_CACHE_CAPACITY)
        .options(SESSION_SETTINGS)
        .options(class.settings(0));
    let mut connection = PgConnection::connect_with(&options).await?;
    let server = sqlx::query!(
        r#"select pg_is_in_recovery() as "in_recovery!",
               current_setting('server_version_num')::int as "version!""#
    )
    .fetch_one(&mut connection)
    .await?;
    if server.in_recovery {
        return Err(timed_out("the server is a standby"));
    }
    let minutes = rand::rng().random_range(CONNECTION_LIFETIME_MINUTES);
    let mut connected = PooledConnection {
        connection,
        class,
        generation,
        expires_at: Instant::now() + Duration::from_mins(minutes),
        version: u32::try_from(server.version).unwrap_or_default(),
        is_new: true,
    };
    // Earlier versions refuse a connection that names an unknown setting.
    if connected.version >= MIN_TRANSACTION_TIMEOUT_VERSION {
        connected.set_limits(class).await?;
    }
    Ok(connected)
}

/// TCP settings detect a lost peer within seconds, also while it is sent a result. JIT is off
/// because compiling a short statement takes longer than running it.
const SESSION_SETTINGS: [(&str, &str); 6] = [
    ("jit", "off"),
    ("tcp_user_timeout", "6000"),
    ("tcp_keepalives_idle", "5"),
    ("tcp_keepalives_interval", "2"),
    ("tcp_keepalives_count", "3"),
    ("client_connection_check_interval", "2000"),
];

/// One URL for each host: `postgres://user@one:5432,two:5433/name` names two.
pub fn host_urls(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return vec![url.to_owned()];
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    hosts
        .split(',')
        .map(|host| format!("{scheme}://{user}{host}{path}"))
        .collect()
}

/// The options of each host.
pub(super) fn host_options(url: &str) -> Result<Vec<PgConnectOptions>, sqlx::Error> {
    let hosts = host_urls(url);
    hosts.iter().map(|url| parse_options(url)).collect()
}

/// As libpq does, and sqlx does not: `require` with a root certificate verifies the server's.
fn parse_options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let names = query.split('&').filter_map(|pair| pair.split('=').next());
    let has_root = ROOT_CERTIFICATE_KEYS
        .iter()
        .any(|key| names.clone().any(|name| name == *key));
    Ok(match options.get_ssl_mode() {
        PgSslMode::Require if has_root => options.ssl_mode(PgSslMode::VerifyCa),
        PgSslMode::Disable
        | PgSslMode::Allow
        | PgSslMode::Prefer
        | PgSslMode::Require
        | PgSslMode::VerifyCa
        | PgSslMode::VerifyFull => options,
    })
}

/// A host that is away may be the primary: then another host that refuses us is not the reason.
fn preferred_failure(earlier: Option<sqlx::Error>, failure: sqlx::Error) -> sqlx::Error {
    match earlier {
        Some(earlier) if is_away(&earlier) => earlier,
        _ => failure,
    }
}

fn no_host() -> sqlx::Error {
    timed_out("the address names no host")
}

/// No answer in time: whether the statement ran is unknown.
pub(super) fn timed_out(why: &'static str) -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, why))
}

#[cfg(test)]
mod tests {
    use super::host_urls;

    #[test]
    fn an_address_may_list_hosts() {
        assert_eq!(
            host_urls("postgres://me:se@cret@one:5432,two/name?sslmode=require"),
            [
                "postgres://me:se@cret@one:5432/name?sslmode=require",
                "postgres://me:se@cret@two/name?sslmode=require",
            ]
        );
        assert_eq!(
            host_urls("postgres:///name?host=/run/a,b"),
            ["postgres:///name?host=/run/a,b"]
        );
    }
}
