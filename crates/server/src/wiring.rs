//! From settings to what the parts of the program are made of.

use std::sync::Arc;
use std::time::Duration;

use domain::time::Clock;
use store::{Control, Shard};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::clock::SystemClock;
use crate::settings::Settings;

/// Connections for a command that asks a little and ends.
pub const FEW: u32 = 2;

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

pub fn connect(settings: &Settings, connections: u32) -> Result<Stores, AddressFailure> {
    let databases = &settings.databases;
    let control =
        Control::connect_lazily(databases.control.reveal(), connections).map_err(|source| {
            AddressFailure {
                name: "control".to_owned(),
                source,
            }
        })?;
    let mut shards = Vec::with_capacity(databases.shards.len());
    let mut clocks = Vec::with_capacity(databases.shards.len());
    for address in &databases.shards {
        let clock = Arc::new(SystemClock::new());
        let told: Arc<dyn Clock> = clock.clone();
        let shard = Shard::connect_lazily(&address.name, address.url.reveal(), connections, told)
            .map_err(|source| AddressFailure {
            name: format!("shard {}", address.name),
            source,
        })?;
        shards.push(Arc::new(shard));
        clocks.push(clock);
    }
    Ok(Stores {
        control,
        clock: Arc::new(SystemClock::new()),
        shards,
        clocks,
    })
}
