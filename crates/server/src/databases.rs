//! Connection pools for control and every shard, and the clocks of these databases.

use std::sync::Arc;
use std::time::Duration;

use domain::master_key::MasterKeys;
use domain::time::Clock;
use metrics::gauge;
use store::shard::node::session_name;
use store::{Control, PoolOptions, Shard};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::DatabaseClock;
use crate::master_key;
use crate::settings::Settings;

/// Connections to control for the dashboard alone: many open pages never use up those that the API
/// checks keys with.
pub const DASHBOARD_CONNECTIONS: u32 = 4;
/// Connections per database for a command such as `longshored admin`.
const MAX_COMMAND_CONNECTIONS: usize = 2;

/// Control, every shard, and their clocks. A connection opens with the first query.
#[derive(Debug)]
pub struct Stores {
    pub control: Control,
    pub dashboard_control: Control,
    pub clock: Arc<DatabaseClock>,
    pub shards: Vec<Arc<Shard>>,
    /// The clock of each shard, in the same order.
    clocks: Vec<Arc<DatabaseClock>>,
}

/// How often every database is asked for its time.
const CLOCK_SYNC_INTERVAL: Duration = Duration::from_secs(5);

const HOST_NAME_FILE: &str = "/proc/sys/kernel/hostname";

/// The name of this process for operators: host and process id.
pub fn node_name() -> String {
    let host = std::fs::read_to_string(HOST_NAME_FILE).unwrap_or_default();
    let host = host.trim();
    let host = if host.is_empty() { "unknown" } else { host };
    format!("{host}:{}", std::process::id())
}

impl Stores {
    /// Asks every database for its time at an interval, until `stop`.
    ///
    /// Commits report the time too; this covers databases without writes, and the first load.
    pub async fn run_clock_sync(&self, stop: CancellationToken) {
        let mut beat = tokio::time::interval(CLOCK_SYNC_INTERVAL);
        while !stop.is_cancelled() {
            tokio::select! {
                _ = beat.tick() => self.sync_clocks().await,
                () = stop.cancelled() => {}
            }
        }
    }

    /// In parallel: an unreachable database delays no other. An offset is published only when it
    /// was measured.
    async fn sync_clocks(&self) {
        let mut queries = JoinSet::new();
        let shards = self.shards.iter().zip(&self.clocks);
        let shards =
            shards.map(|(shard, clock)| (format!("shard {}", shard.name), &shard.pool, clock));
        let control = ("control".to_owned(), &self.control.pool, &self.clock);
        for (database, pool, clock) in shards.chain([control]) {
            let (pool, clock) = (pool.clone(), Arc::clone(clock));
            queries.spawn(async move {
                let answer = store::doctor::read_server_time(&pool).await;
                let is_reachable = f64::from(u8::from(answer.is_ok()));
                gauge!("longshore_database_reachable", "database" => database.clone())
                    .set(is_reachable);
                if let Ok(now) = answer {
                    clock.synchronize(now);
                    gauge!("longshore_database_clock_offset_seconds", "database" => database)
                        .set(clock.offset_seconds());
                }
            });
        }
        queries.join_all().await;
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the database address of {name} is invalid")]
pub struct DatabaseAddressFailure {
    name: String,
    source: store::Error,
}

/// For a process that serves or works. Its sessions are named after its node, so that other
/// nodes can terminate them.
pub fn connect(
    settings: &Settings,
    node: Uuid,
    master_keys: Option<&Arc<dyn MasterKeys>>,
) -> Result<Stores, DatabaseAddressFailure> {
    let connections = settings.values.database_connections;
    let options = PoolOptions {
        connections: usize::try_from(connections).unwrap_or(usize::MAX),
        application: session_name(node),
        interceptor: None,
    };
    open_pools(settings, &options, |shard| {
        shard.with_master_keys(master_keys.cloned())
    })
}

/// For an operator's command: few connections, and long statement timeouts. A file of master keys
/// that is invalid stops only the commands that need it.
pub fn connect_for_command(settings: &Settings) -> Result<Stores, DatabaseAddressFailure> {
    let options = PoolOptions {
        connections: MAX_COMMAND_CONNECTIONS,
        application: "longshored".to_owned(),
        interceptor: None,
    };
    let master_keys = master_key::from_settings(&settings.values).ok().flatten();
    let stores = open_pools(settings, &options, |shard| {
        shard.for_operator().with_master_keys(master_keys.clone())
    })?;
    Ok(Stores {
        control: stores.control.for_operator(),
        ..stores
    })
}

fn open_pools(
    settings: &Settings,
    options: &PoolOptions,
    prepare: impl Fn(Shard) -> Shard,
) -> Result<Stores, DatabaseAddressFailure> {
    let databases = &settings.databases;
    let failure = |name: String| move |source| DatabaseAddressFailure { name, source };
    let open_control = |options: &PoolOptions| {
        Control::new(databases.control.reveal(), options).map_err(failure("control".to_owned()))
    };
    let control = open_control(options)?;
    let dashboard_control = open_control(&PoolOptions {
        connections: usize::try_from(DASHBOARD_CONNECTIONS).unwrap_or(usize::MAX),
        ..options.clone()
    })?;
    let mut shards = Vec::with_capacity(databases.shards.len());
    let mut clocks = Vec::with_capacity(databases.shards.len());
    for address in &databases.shards {
        let clock = Arc::new(DatabaseClock::with_speed(settings.values.clock_speed));
        let shard_clock: Arc<dyn Clock> = clock.clone();
        let shard = Shard::new(&address.name, address.url.reveal(), options, shard_clock)
            .map_err(failure(format!("shard {}", address.name)))?;
        shards.push(Arc::new(prepare(shard)));
        clocks.push(clock);
    }
    Ok(Stores {
        control,
        dashboard_control,
        clock: Arc::new(DatabaseClock::new()),
        shards,
        clocks,
    })
}
