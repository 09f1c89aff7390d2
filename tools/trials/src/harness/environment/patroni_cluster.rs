//! Three PostgreSQL servers with Patroni and etcd, and relays that can cut each of them off.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::Request;
use serde_json::Value;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use sqlx::{ConnectOptions as _, PgConnection, PgPool};

use crate::harness::build_profile;
use crate::harness::environment::databases::{CONTROL, SHARD};
use crate::harness::http::http_client::{ConnectionReuse, HttpClient};
use crate::harness::relays::silent_relay::{SilenceDirection, SilenceEnd, SilentRelay};
use crate::harness::servers::etcd::TrialEtcdServer;
use crate::harness::servers::free_port;
use crate::harness::servers::patroni::{PatroniAddresses, PatroniServer, PatroniTimes};
use crate::harness::servers::postgres;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::{DatabaseUrls, FailureContext as _, PollLimits, Result, TrialFailure};

const SERVER_COUNT: usize = 3;
const STATUS_TIMEOUT: Duration =
    build_profile::choose(Duration::from_secs(10), Duration::from_secs(2));
const HEALTHY_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(3), Duration::from_millis(250));
const LEADER_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(90), Duration::from_millis(100));

/// The relays to one server, and from it to etcd.
#[derive(Debug)]
struct ServerRelays {
    postgres: SilentRelay,
    rest_api: SilentRelay,
    etcd: SilentRelay,
}

impl ServerRelays {
    fn all(&self) -> [&SilentRelay; 3] {
        [&self.postgres, &self.rest_api, &self.etcd]
    }
}

/// Fields drop in this order: servers first, then what they use.
#[derive(Debug)]
pub struct PatroniCluster {
    servers: Vec<PatroniServer>,
    relays: Vec<ServerRelays>,
    /// The trial reaches the primary through it.
    to_primary: SilentRelay,
    etcd: TrialEtcdServer,
    http: HttpClient,
}

impl PatroniCluster {
    /// Every server runs and follows the primary when this returns.
    pub async fn start(scratch: &ScratchFolder, times: PatroniTimes) -> Result<Self> {
        let etcd = TrialEtcdServer::start(scratch).await?;
        let (mut servers, mut relays) = (Vec::new(), Vec::new());
        for number in 1..=SERVER_COUNT {
            let (postgres, rest_api) = (
                free_port::find_free_address()?,
                free_port::find_free_address()?,
            );
            let own = ServerRelays {
                postgres: SilentRelay::start(postgres).await?,
                rest_api: SilentRelay::start(rest_api).await?,
                etcd: SilentRelay::start(etcd.address()).await?,
            };
            let addresses = PatroniAddresses {
                postgres,
                rest_api,
                public_postgres: own.postgres.address,
                public_rest_api: own.rest_api.address,
                etcd: own.etcd.address,
            };
            let name = format!("server-{number}");
            servers.push(PatroniServer::new(scratch, &name, addresses, times)?);
            relays.push(own);
        }
        servers.iter_mut().try_for_each(PatroniServer::start)?;
        let first = servers.first().context("there is no server")?;
        let mut cluster = Self {
            to_primary: SilentRelay::start(first.addresses().postgres).await?,
            servers,
            relays,
            etcd,
            http: HttpClient::new(STATUS_TIMEOUT, ConnectionReuse::PerRequest),
        };
        cluster.wait_until_healthy(times.is_synchronous).await?;
        Ok(cluster)
    }

    /// The databases, with every server in their addresses.
    pub fn urls(&self) -> DatabaseUrls {
        let hosts = self.relays.iter().map(|it| it.postgres.address.to_string());
        let hosts = hosts.collect::<Vec<_>>().join(",");
        let url = |name: &str| format!("postgres://postgres@{hosts}/{name}");
        DatabaseUrls {
            control: url(CONTROL),
            shards: vec![(SHARD.to_owned(), url(SHARD))],
        }
    }

    /// Connections of the trial, to whichever server is the primary.
    pub fn pool(&self, database: &str) -> PgPool {
        let options = connect_options(self.to_primary.address, database);
        PgPoolOptions::new()
            .max_connections(4)
            .connect_lazy_with(options)
    }

    /// Creates the databases of a trial with a single shard.
    pub async fn create_databases(&self) -> Result<()> {
        let mut primary = connect(self.to_primary.address, "postgres").await?;
        postgres::execute(&mut primary, "create database control").await?;
        postgres::execute(&mut primary, "create database north").await
    }

    /// Fails if etcd has exited.
    pub fn check_running(&mut self) -> Result<()> {
        self.etcd.child.check_running()
    }

    pub fn server(&self, place: usize) -> Result<&PatroniServer> {
        self.servers.get(place).context("there is no such server")
    }

    pub fn server_mut(&mut self, place: usize) -> Result<&mut PatroniServer> {
        self.servers
            .get_mut(place)
            .context("there is no such server")
    }

    /// From now on no byte passes between this server and etcd, its peers and its clients.
    pub fn cut_off(&self, place: usize) -> Result<()> {
        let relays = self.relays.get(place).context("there is no such server")?;
        for relay in relays.all() {
            relay.silence(SilenceDirection::Both);
        }
        Ok(())
    }

    pub fn restore(&self, place: usize) -> Result<()> {
        let relays = self.relays.get(place).context("there is no such server")?;
        for relay in relays.all() {
            relay.restore(SilenceEnd::Dropped);
        }
        Ok(())
    }

    /// Waits until there is a primary besides this server; returns its place.
    pub async fn wait_for_other_primary(&self, faulty: usize) -> Result<usize> {
        let read = async || Ok(self.read_primary(Some(faulty)).await);
        let primary = LEADER_LIMITS.read_until(Option::is_some, read).await?;
        let primary = primary.context("no other server became the primary")?;
        self.follow(primary)?;
        Ok(primary)
    }

    /// Waits until both standbys stream from the primary, one of them synchronously if wanted;
    /// returns the primary's place.
    pub async fn wait_until_healthy(&mut self, is_synchronous: bool) -> Result<usize> {
        let read = async || Ok(self.read_healthy_primary(is_synchronous).await);
        let primary = HEALTHY_LIMITS.read_until(Option::is_some, read).await?;
        let Some(primary) = primary else {
            let logs = self.servers.iter().map(|it| it.child.log_tail());
            let logs = logs.collect::<Vec<_>>().join("\n\n");
            return Err(TrialFailure::new(format!(
                "the cluster is not healthy\n{logs}"
            )));
        };
        self.follow(primary)?;
        Ok(primary)
    }

    /// Connections of the trial go to this server from now on.
    fn follow(&self, primary: usize) -> Result<()> {
        let address = self.server(primary)?.addresses().postgres;
        self.to_primary.redirect(address);
        Ok(())
    }

    async fn read_healthy_primary(&self, is_synchronous: bool) -> Option<usize> {
        let primary = self.read_primary(None).await?;
        let address = self.servers.get(primary)?.addresses().postgres;
        let count = tokio::time::timeout(STATUS_TIMEOUT, count_standbys(address));
        let (streaming, synchronous) = count.await.ok()?.ok()?;
        let is_healthy = streaming == SERVER_COUNT - 1 && (synchronous > 0) == is_synchronous;
        is_healthy.then_some(primary)
    }

    /// The only server whose Patroni says that it is the primary.
    async fn read_primary(&self, except: Option<usize>) -> Option<usize> {
        for (place, server) in self.servers.iter().enumerate() {
            if Some(place) != except && self.is_primary(server.addresses().rest_api).await {
                return Some(place);
            }
        }
        None
    }

    async fn is_primary(&self, rest_api: SocketAddr) -> bool {
        let request = Request::get(format!("http://{rest_api}/patroni"));
        let answer = self.http.call(request, "").await;
        let role = answer.ok().map(|it| it.json());
        let role = role.as_ref().and_then(|it| it.get("role"));
        role.and_then(Value::as_str)
            .is_some_and(|role| role == "master" || role == "primary")
    }
}

/// Standbys that stream from this server, and how many of them are synchronous.
async fn count_standbys(address: SocketAddr) -> Result<(usize, usize)> {
    let mut connection = connect(address, "postgres").await?;
    let query = "
        select count(*), count(*) filter (where sync_state in ('sync', 'quorum'))
        from pg_stat_replication where state = 'streaming' and application_name <> 'pg_basebackup'";
    let (streaming, synchronous): (i64, i64) = sqlx::query_as(query)
        .fetch_one(&mut connection)
        .await
        .context("reading the standbys")?;
    let count = |number: i64| usize::try_from(number).unwrap_or_default();
    Ok((count(streaming), count(synchronous)))
}

fn connect_options(address: SocketAddr, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(address.port())
        .username("postgres")
        .database(database)
        .ssl_mode(PgSslMode::Disable)
        .application_name(postgres::TRIALS_APPLICATION_NAME)
}

async fn connect(address: SocketAddr, database: &str) -> Result<PgConnection> {
    let connected = connect_options(address, database).connect().await;
    connected.context("connecting to a server of the cluster")
}
