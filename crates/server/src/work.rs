//! `longshored work`: a crew for each shard, so that one that is away stops no other.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use outbound::callback::{self, Callbacks};
use outbound::health::FilesHealth;
use outbound::objects::Objects;
use outbound::probe::{Limits, Prober};
use outbound::provider::Provider;
use outbound::provider::call::Patience;
use outbound::provider::mock::Mock;
use outbound::scanner::Scanner;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use workers::{
    Access, AccountSlots, CallbackLimits, Crew, Files, Options, Packing, Parts, Providers, Slots,
};

use crate::catalogue::Shelf;
use crate::providers::{Account, Accounts, Adapter, MOCK};
use crate::schema;
use crate::settings::table::Values;
use crate::wiring::{self, Stores};

pub use outbound::provider::call::SetupFailure;

/// This very program, also when an upgrade has put another in its place.
const OURSELVES: &str = "/proc/self/exe";

/// What of the drain is left to free claims when deliveries took all the rest.
const TO_LEAVE: Duration = Duration::from_secs(2);

/// The most memory that payloads of callbacks in flight take, per shard.
const MAX_PAYLOAD_BYTES: usize = 128 << 20;

/// The crews while they run.
#[derive(Debug)]
pub struct Crews {
    crews: TaskTracker,
    stop: CancellationToken,
}

impl Crews {
    pub fn start(
        stores: &Stores,
        node: Uuid,
        shelf: &Shelf,
        files: Option<&Files>,
        values: &Values,
    ) -> Result<Self, SetupFailure> {
        #[cfg(feature = "chaos")]
        if let Some(kill) = values.chaos_kill.clone() {
            tracing::warn!(?kill, "this process will kill itself");
            workers::chaos::arm(kill);
        }
        let (crews, stop) = (TaskTracker::new(), CancellationToken::new());
        for parts in parts(stores, node, shelf, files, values)? {
            crews.spawn(work(parts, stop.clone()));
        }
        crews.close();
        Ok(Self { crews, stop })
    }

    /// Returns when deliveries under way have ended and every claim is free.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.crews.wait().await;
    }
}

/// What the crew of each shard is made of.
pub fn parts(
    stores: &Stores,
    node: Uuid,
    shelf: &Shelf,
    files: Option<&Files>,
    values: &Values,
) -> Result<Vec<Parts>, SetupFailure> {
    let (timeout, allow) = (values.callback_timeout, values.callback_allow.clone());
    let callbacks = Arc::new(Callbacks::new(callback::Options { timeout, allow })?);
    let mock: Arc<dyn Provider> = Arc::new(Mock::new(values.mock_delay));
    let adapters = adapters(shelf.accounts())?;
    let options = options(node, values);
    let parts = stores.shards.iter().map(|shard| Parts {
        shard: Arc::clone(shard),
        catalogue: shelf.watch(),
        providers: Arc::new(providers(&shard.name, &adapters, &mock)),
        callbacks: callbacks.clone(),
        files: files.cloned(),
        options: options.clone(),
    });
    Ok(parts.collect())
}

/// What the stages of files need, around what API and workers share.
pub fn files(
    objects: Objects,
    scanner: Scanner,
    health: watch::Receiver<FilesHealth>,
    values: &Values,
) -> Files {
    let whole = |time: Duration| TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX);
    Files {
        objects,
        scanner,
        prober: prober(values),
        slots: Slots {
            small: values.scan_slots,
            large: values.scan_large_slots,
        },
        abandon: whole(values.upload_abandon),
        patrol: whole(values.patrol),
        grace: domain::patrol::GRACE,
        health,
    }
}

/// Who reads untrusted bytes: this program once more, confined.
pub fn prober(values: &Values) -> Prober {
    Prober::new(PathBuf::from(OURSELVES)).limited(Limits {
        memory_bytes: values.probe_memory_bytes,
        cpu: values.probe_cpu,
    })
}

async fn work(parts: Parts, stop: CancellationToken) {
    if schema::fits(&parts.shard, &stop).await {
        Crew::work(parts, stop).await;
    }
}

/// One for each account, whatever the number of shards.
fn adapters(accounts: &Accounts) -> Result<Vec<(&Account, Adapter)>, SetupFailure> {
    let adapter = |account| Ok((account, Account::adapter(account, Patience::default())?));
    accounts.iter().map(adapter).collect()
}

/// Who can be asked on one shard, and for how much.
fn providers(shard: &str, adapters: &[(&Account, Adapter)], mock: &Arc<dyn Provider>) -> Providers {
    let mut providers = HashMap::from([(MOCK.to_owned(), Access::Mock(Arc::clone(mock)))]);
    for (account, adapter) in adapters {
        if let Some(share) = account.shares.get(shard) {
            providers.insert(account.name.clone(), adapter.access(*share));
        }
    }
    Providers(providers)
}

fn options(node: Uuid, values: &Values) -> Options {
    let spent = values.drain_grace + TO_LEAVE;
    Options {
        node,
        name: wiring::node_name(),
        lease: values.lease,
        packing: Packing {
            most_items: values.batch_max_items,
            linger: TimeDelta::from_std(values.batch_linger).unwrap_or_default(),
        },
        account_slots: AccountSlots::default(),
        callback_limits: CallbackLimits {
            slots: values.delivery_slots,
            per_destination: values.delivery_slots_per_host,
            payload_bytes: MAX_PAYLOAD_BYTES,
        },
        schedule: values.callback_retry_delays.clone(),
        retention: TimeDelta::days(i64::from(values.retention_days)),
        spools: std::env::temp_dir(),
        drain: values.drain.saturating_sub(spent),
    }
}
