//! From settings to what the parts of the program are made of.

use std::sync::Arc;
use std::time::Duration;

use domain::time::Clock;
use store::shard::node::session_name;
use store::{Control, PoolOptions, Shard};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::SystemClock;
use crate::settings::Settings;

/// Connections for a command that asks a little and ends.
const COMMAND_CONNECTIONS: usize = 2;

/// Control, every shard, and their clocks. Nothing is connected before it is asked.
#[derive(Debug)]
pub struct Stores {
    pub control: Control,
    pub clock: Arc<SystemClock>,
    pub shards: Vec<Arc<Shard>>,
    /// The clock of each shard, in the same order.
    clocks: Vec<Arc<SystemClock>>,
}

/// How often a database that nothing is written to is asked for its time.
const KEEP: Duration = Duration::from_secs(5);

const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// What people call this process: its host and number.
pub fn node_name() -> String {
    let host = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
    let host = host.trim();
    let host = if host.is_empty() { "unknown" } else { host };
    format!("{host}:{}", std::process::id())
}

/// Databases and what is known of their time.
pub type Clocks = Vec<(String, Arc<SystemClock>)>;

impl Stores {
    /// Asks every database for its time, again and again, until told to stop.
    ///
    /// Commits tell it too; this is for those that are quiet, and for the first load.
    pub async fn keep_time(&self, stop: CancellationToken) {
        let mut beat = tokio::time::interval(KEEP);
        while !stop.is_cancelled() {
            tokio::select! {
                _ = beat.tick() => self.learn_time().await,
                () = stop.cancelled() => {}
            }
        }
    }

    /// One that is away holds up no other.
    async fn learn_time(&self) {
        let mut asked = JoinSet::new();
        let shards = self.shards.iter().map(|shard| &shard.pool);
        let pools = shards.chain([&self.control.pool]);
        for (pool, clock) in pools.zip(self.clocks.iter().chain([&self.clock])) {
            let (pool, clock) = (pool.clone(), Arc::clone(clock));
            asked.spawn(async move {
                if let Ok(told) = store::doctor::now(&pool).await {
                    clock.learn(told);
                }
            });
        }
        asked.join_all().await;
    }

    pub fn clocks(&self) -> Clocks {
        let shards = self
            .shards
            .iter()
            .map(|shard| format!("shard {}", shard.name));
        let shards = shards.zip(self.clocks.iter().cloned());
        std::iter::once(("control".to_owned(), self.clock.clone()))
            .chain(shards)
            .collect()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the address of {name} cannot be used")]
pub struct AddressFailure {
    name: String,
    source: store::Error,
}

/// For a process that serves or works. Its sessions carry its node, so that peers can end them.
pub fn connect(settings: &Settings, node: Uuid) -> Result<Stores, AddressFailure> {
    let connections = settings.values.database_connections;
    open(
        settings,
        &PoolOptions {
            connections: usize::try_from(connections).unwrap_or(usize::MAX),
            application: session_name(node),
            interceptor: None,
        },
        |shard| shard,
    )
}

/// For a command that an operator waits for: few connections, and statements that may take long.
pub fn connect_for_command(settings: &Settings) -> Result<Stores, AddressFailure> {
    let options = PoolOptions {
        connections: COMMAND_CONNECTIONS,
        application: "longshored".to_owned(),
        interceptor: None,
    };
    let stores = open(settings, &options, Shard::patient)?;
    Ok(Stores {
        control: stores.control.patient(),
        ..stores
    })
}

fn open(
    settings: &Settings,
    options: &PoolOptions,
    limited: fn(Shard) -> Shard,
) -> Result<Stores, AddressFailure> {
    let databases = &settings.databases;
    let failure = |name: String| move |source| AddressFailure { name, source };
    let control =
        Control::new(databases.control.reveal(), options).map_err(failure("control".to_owned()))?;
    let mut shards = Vec::with_capacity(databases.shards.len());
    let mut clocks = Vec::with_capacity(databases.shards.len());
    for address in &databases.shards {
        let clock = Arc::new(SystemClock::new());
        let told: Arc<dyn Clock> = clock.clone();
        let shard = Shard::new(&address.name, address.url.reveal(), options, told)
            .map_err(failure(format!("shard {}", address.name)))?;
        shards.push(Arc::new(limited(shard)));
        clocks.push(clock);
    }
    Ok(Stores {
        control,
        clock: Arc::new(SystemClock::new()),
        shards,
        clocks,
    })
}
