//! Opening connections: every host in turn, a primary only, one attempt at a time.

use std::fmt;
use std::io;
use std::time::Duration;

use rand::RngExt as _;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::class::{Class, TRANSACTION_TIMEOUT_SINCE};

/// All hosts of an address, from the first packet to the first answer; each has its part of it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// A host that is silent has at least this long.
const MIN_HOST_TIMEOUT: Duration = Duration::from_secs(1);
/// A sign of life from a connection that was idle.
const ALIVE_TIMEOUT: Duration = Duration::from_millis(500);
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// Connections are replaced after 8 to 12 minutes, so that a moved name is followed.
const AGE_MINUTES: std::ops::Range<u64> = 8..12;
/// More than the statements of one process: none is prepared twice on a connection.
const PREPARED_STATEMENTS: usize = 512;

/// A connection and what is known of it.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) connection: PgConnection,
    pub(super) class: Class,
    pub(super) generation: u64,
    pub(super) expires_at: Instant,
    version: u32,
    pub(super) is_new: bool,
}

impl Connected {
    pub(super) async fn is_alive(&mut self) -> bool {
        let ping = timeout(ALIVE_TIMEOUT, self.connection.ping());
        matches!(ping.await, Ok(Ok(())))
    }

    /// Changes the limits of the session to those of another class of work.
    pub(super) async fn serve(&mut self, class: Class) -> Result<(), sqlx::Error> {
        if self.class == class {
            return Ok(());
        }
        self.set_limits(class).await
    }

    async fn set_limits(&mut self, class: Class) -> Result<(), sqlx::Error> {
        let settings = class.settings(self.version).into_iter();
        let statements: Vec<String> = settings
            .map(|(name, value)| format!("set {name} = '{value}'"))
            .collect();
        let changed = sqlx::raw_sql(sqlx::AssertSqlSafe(statements.join("; ")));
        match timeout(ALIVE_TIMEOUT, changed.execute(&mut self.connection)).await {
            Ok(Ok(_)) => self.class = class,
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(late("the session's limits were not set in time")),
        }
        Ok(())
    }
}

pub(crate) struct Connector {
    hosts: Vec<PgConnectOptions>,
    /// One attempt at a time: after a failover every caller would connect at once.
    attempts: Mutex<Attempts>,
}

#[derive(Debug, Default)]
struct Attempts {
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
        let hosts = addresses(url)
            .iter()
            .map(|url| {
                Ok(url
                    .parse::<PgConnectOptions>()?
                    .application_name(application))
            })
            .collect::<Result<_, sqlx::Error>>()?;
        Ok(Self {
            hosts,
            attempts: Mutex::default(),
        })
    }

    pub(super) fn first(&self) -> Option<&PgConnectOptions> {
        self.hosts.first()
    }

    /// A connection past the pool and without limits: to the primary, or if no host is one, to
    /// one that answers.
    pub(crate) async fn connect_past_pool(&self) -> Result<PgConnection, sqlx::Error> {
        let (mut standby, mut failure) = (None, late("the address names no host"));
        for host in &self.hosts {
            match open_past_pool(host).await {
                Ok((connection, false)) => return Ok(connection),
                Ok((connection, true)) => standby = Some(connection),
                Err(error) => failure = error,
            }
        }
        standby.ok_or(failure)
    }

    pub(super) async fn connect(
        &self,
        class: Class,
        generation: u64,
    ) -> Result<Connected, sqlx::Error> {
        let mut attempts = self.attempts.lock().await;
        if attempts.not_before.is_some_and(|at| Instant::now() < at) {
            return Err(late("the server is away; the next attempt follows shortly"));
        }
        let mut connected = self.try_hosts(class, generation).await;
        if connected.is_err() && attempts.failures == 0 {
            // One that fails by chance is not a server that is away.
            tokio::time::sleep(FIRST_BACKOFF).await;
            connected = self.try_hosts(class, generation).await;
        }
        let failure = match connected {
            Ok(connected) => {
                *attempts = Attempts::default();
                return Ok(connected);
            }
            Err(failure) => failure,
        };
        let backoff = FIRST_BACKOFF * 2_u32.pow(attempts.failures.min(5));
        let backoff = backoff
            .min(MAX_BACKOFF)
            .mul_f64(rand::rng().random_range(0.5..1.0));
        attempts.failures += 1;
        attempts.not_before = Some(Instant::now() + backoff);
        Err(failure)
    }
}

impl Connector {
    async fn try_hosts(&self, class: Class, generation: u64) -> Result<Connected, sqlx::Error> {
        let hosts = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX).max(1);
        let host_timeout = (CONNECT_TIMEOUT / hosts).max(MIN_HOST_TIMEOUT);
        let mut failure = late("the address names no host");
        for host in &self.hosts {
            match timeout(host_timeout, open(host, class, generation)).await {
                Ok(Ok(connected)) => return Ok(connected),
                Ok(Err(error)) => failure = error,
                Err(_) => failure = late("the server did not answer in time"),
            }
        }
        Err(failure)
    }
}

/// Also says whether the host is a standby.
async fn open_past_pool(host: &PgConnectOptions) -> Result<(PgConnection, bool), sqlx::Error> {
    let mut connection = PgConnection::connect_with(host).await?;
    let standby = sqlx::query_scalar!(r#"select pg_is_in_recovery() as "standby!""#);
    let standby = standby.fetch_one(&mut connection).await?;
    Ok((connection, standby))
}

/// A standby is not a success: nothing can be written there.
async fn open(
    host: &PgConnectOptions,
    class: Class,
    generation: u64,
) -> Result<Connected, sqlx::Error> {
    let options = host
        .clone()
        .statement_cache_capacity(PREPARED_STATEMENTS)
        .options(SETTINGS)
        .options(class.settings(0));
    let mut connection = PgConnection::connect_with(&options).await?;
    let standing = sqlx::query!(
        r#"select pg_is_in_recovery() as "in_recovery!",
               current_setting('server_version_num')::int as "version!""#
    )
    .fetch_one(&mut connection)
    .await?;
    if standing.in_recovery {
        return Err(late("the server is a standby"));
    }
    let minutes = rand::rng().random_range(AGE_MINUTES);
    let mut connected = Connected {
        connection,
        class,
        generation,
        expires_at: Instant::now() + Duration::from_mins(minutes),
        version: u32::try_from(standing.version).unwrap_or_default(),
        is_new: true,
    };
    // Earlier versions refuse a connection that names a setting which they do not know.
    if connected.version >= TRANSACTION_TIMEOUT_SINCE {
        connected.set_limits(class).await?;
    }
    Ok(connected)
}

/// A peer that is gone without a word is noticed within seconds, also while it is sent a result.
/// Statements are short: compiling one would take longer than running it.
const SETTINGS: [(&str, &str); 6] = [
    ("jit", "off"),
    ("tcp_user_timeout", "6000"),
    ("tcp_keepalives_idle", "5"),
    ("tcp_keepalives_interval", "2"),
    ("tcp_keepalives_count", "3"),
    ("client_connection_check_interval", "2000"),
];

/// One address for each host: `postgres://user@one:5432,two:5433/name` names two.
pub fn addresses(url: &str) -> Vec<String> {
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

/// Not answered in time: what became of the statement is unknown.
pub(super) fn late(why: &'static str) -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, why))
}

#[cfg(test)]
mod tests {
    use super::addresses;

    #[test]
    fn an_address_may_list_hosts() {
        assert_eq!(
            addresses("postgres://me:se@cret@one:5432,two/name?sslmode=require"),
            [
                "postgres://me:se@cret@one:5432/name?sslmode=require",
                "postgres://me:se@cret@two/name?sslmode=require",
            ]
        );
        assert_eq!(
            addresses("postgres:///name?host=/run/a,b"),
            ["postgres:///name?host=/run/a,b"]
        );
    }
}
