//! `longshored work`: a worker set per shard, so that an unreachable shard stops no other.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::history_retention::HistoryRetention;
use domain::ssrf_guard::DestinationRules;
use outbound::callback::{self, HttpCallbackClient};
use outbound::health::FilesHealth;
use outbound::malware_scanner::MalwareScanner;
use outbound::object_store::ObjectStore;
use outbound::otlp::Tracer;
use outbound::probe::{ProbeLimits, Prober};
use outbound::provider::client::ProviderTimeouts;
use outbound::provider::mock::MockProvider;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use workers::{
    AccountSlots, CallbackLimits, FileStageDeps, Options, PackingLimits, ProviderAccess, Providers,
    ScanSlots, WorkerSet, WorkerSetDeps,
};

use crate::callback_signing;
use crate::catalogue::CatalogueStore;
use crate::databases::{self, Stores};
use crate::providers::{MOCK, ProviderAccount, ProviderAccounts, ProviderAdapter};
use crate::schema;
use crate::server_probe;
use crate::settings::choice::ListenTunnelSwitch;
use crate::settings::table::SettingValues;

pub use outbound::provider::client::ProviderSetupFailure;

/// The running program, even after an upgrade replaced its file.
const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// Part of the drain time that is reserved for releasing claims after the last deliveries.
const CLAIM_RELEASE_TIME: Duration = Duration::from_secs(2);

/// Memory for the payloads of callbacks in flight, per shard.
const MAX_CALLBACK_PAYLOAD_BYTES: usize = 128 << 20;

/// The running worker sets of all shards.
#[derive(Debug)]
pub struct WorkerSets {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl WorkerSets {
    pub fn start(
        stores: &Stores,
        node: Uuid,
        catalogue: &CatalogueStore,
        files: Option<&FileStageDeps>,
        tracer: Option<&Tracer>,
        values: &SettingValues,
    ) -> Result<Self, ProviderSetupFailure> {
        #[cfg(feature = "chaos")]
        if let Some(kill) = values.chaos_kill.clone() {
            tracing::warn!(
                ?kill,
                "SVC_CHAOS_KILL is set: this process kills itself at a failpoint"
            );
            workers::failpoint::arm(kill);
        }
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        for mut parts in worker_set_deps(stores, node, catalogue, files, values)? {
            parts.tracer = tracer.cloned();
            tasks.spawn(run_worker_set(parts, stop.clone()));
        }
        let accounts = catalogue.accounts().clone();
        tasks.spawn(server_probe::run(catalogue.watch(), accounts, stop.clone()));
        tasks.close();
        Ok(Self { tasks, stop })
    }

    /// Returns when all deliveries in flight have ended and every claim is released.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

/// The dependencies of each shard's worker set.
pub fn worker_set_deps(
    stores: &Stores,
    node: Uuid,
    catalogue: &CatalogueStore,
    files: Option<&FileStageDeps>,
    values: &SettingValues,
) -> Result<Vec<WorkerSetDeps>, ProviderSetupFailure> {
    let callbacks = Arc::new(HttpCallbackClient::new(callback::Options {
        timeout: values.callback_timeout,
        allowed_ranges: values.callback_allow.clone(),
        schemes: values.environment.into(),
        rules: DestinationRules {
            denied_ranges: values.callback_deny.clone(),
            denied_hosts: values.callback_deny_hosts.clone(),
            allowed_ports: values.callback_ports.clone(),
        },
    })?);
    let mock = MockProvider::new(values.mock_delay);
    let adapters = adapters(catalogue.accounts())?;
    let options = options(node, values);
    let parts = stores.shards.iter().map(|shard| WorkerSetDeps {
        shard: Arc::clone(shard),
        catalogue: catalogue.watch(),
        providers: Arc::new(providers(&shard.name, &adapters, mock)),
        callbacks: callbacks.clone(),
        files: files.cloned(),
        tracer: None,
        options: options.clone(),
    });
    Ok(parts.collect())
}

/// The providers of one shard, for an operator's command.
pub fn shard_providers(
    shard: &str,
    accounts: &ProviderAccounts,
) -> Result<Providers, ProviderSetupFailure> {
    let mock = MockProvider::new(Duration::ZERO);
    Ok(providers(shard, &adapters(accounts)?, mock))
}

/// The file stages' clients, limits and intervals.
pub fn file_stage_deps(
    objects: ObjectStore,
    scanner: MalwareScanner,
    health: watch::Receiver<FilesHealth>,
    values: &SettingValues,
) -> FileStageDeps {
    let delta = |time: Duration| TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX);
    FileStageDeps {
        objects,
        scanner,
        prober: prober(values),
        slots: ScanSlots {
            small: values.scan_slots,
            large: values.scan_large_slots,
        },
        abandon_after: delta(values.upload_abandon),
        patrol_interval: delta(values.patrol),
        grace: domain::patrol::UNKNOWN_OBJECT_GRACE,
        health,
    }
}

/// Starts this program as a sandboxed child to parse untrusted bytes.
pub fn prober(values: &SettingValues) -> Prober {
    Prober::new(PathBuf::from(OWN_EXECUTABLE)).with_limits(ProbeLimits {
        memory_bytes: values.probe_memory_bytes,
        cpu: values.probe_cpu,
    })
}

async fn run_worker_set(parts: WorkerSetDeps, stop: CancellationToken) {
    if schema::wait_until_compatible(&parts.shard, &stop).await {
        Box::pin(WorkerSet::run_until_stopped(parts, stop)).await;
    }
}

/// One adapter per account; all shards share it.
fn adapters(
    accounts: &ProviderAccounts,
) -> Result<Vec<(&ProviderAccount, ProviderAdapter)>, ProviderSetupFailure> {
    let adapter = |account| {
        Ok((
            account,
            ProviderAccount::adapter(account, ProviderTimeouts::default())?,
        ))
    };
    accounts.iter().map(adapter).collect()
}

/// The providers that one shard may use, each with the shard's limits.
fn providers(
    shard: &str,
    adapters: &[(&ProviderAccount, ProviderAdapter)],
    mock: MockProvider,
) -> Providers {
    let mut providers = HashMap::from([(MOCK.to_owned(), ProviderAccess::Mock(mock))]);
    for (account, adapter) in adapters {
        if let Some(share) = account.shares.get(shard) {
            providers.insert(account.name.clone(), adapter.access(*share));
        }
    }
    Providers(providers)
}

fn options(node: Uuid, values: &SettingValues) -> Options {
    let spent = values.drain_grace + CLAIM_RELEASE_TIME;
    Options {
        node,
        name: databases::node_name(),
        lease_duration: values.lease,
        packing: PackingLimits {
            max_items: values.batch_max_items,
            linger: TimeDelta::from_std(values.batch_linger).unwrap_or_default(),
        },
        account_slots: AccountSlots::default(),
        callback_limits: CallbackLimits {
            slots: values.delivery_slots,
            per_destination: values.delivery_slots_per_host,
            payload_bytes: MAX_CALLBACK_PAYLOAD_BYTES,
        },
        retry_schedule: values.callback_retry_delays.clone(),
        listener_timeout: (values.listen_tunnel == ListenTunnelSwitch::On)
            .then_some(values.callback_timeout),
        signing_roots: callback_signing::roots(values),
        retention: HistoryRetention {
            cargo: TimeDelta::days(i64::from(values.retention_days)),
            ledger: TimeDelta::days(i64::from(values.ledger_retention_days)),
            usage: TimeDelta::days(i64::from(values.usage_retention_days)),
        },
        spool_dir: std::env::temp_dir(),
        drain_timeout: values.drain.saturating_sub(spent),
    }
}
