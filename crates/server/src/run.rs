//! A process that serves, works, or both: start, run, graceful shutdown.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use metrics_exporter_prometheus::PrometheusHandle;
use outbound::rate_limits::RedisRateLimiter;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::catalogue::{CatalogueFailure, CatalogueStore};
use crate::databases::{self, DatabaseAddressFailure, Stores};
use crate::durability::{self, DurabilityFailure};
use crate::files::MonitoredFileBackends;
use crate::licence::watcher::LicenceWatcher;
use crate::listener::options::Options;
use crate::listener::{self, BindFailure, HttpServer};
use crate::master_key::{self, MasterKeySetupFailure};
use crate::metrics;
use crate::node_lease;
use crate::providers::credential::CredentialAccess;
use crate::providers::{ProviderAccounts, ProvidersFailure};
use crate::redis_client::{self, RedisSetupFailure};
use crate::schema::{self, SchemaCheck, SchemaFailure};
use crate::serve::{ApiInputs, ApiServer};
use crate::settings::table::SettingValues;
use crate::settings::{self, Settings};
use crate::signals;
use crate::span_export::SpanExport;
use crate::work::{self, ProviderSetupFailure, WorkerSets};
use crate::worker_readiness;

/// What this process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    Serve,
    Work,
    All,
}

impl ProcessRole {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Work => "work",
            Self::All => "all",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    #[error(transparent)]
    Providers(#[from] ProvidersFailure),
    #[error(transparent)]
    Catalogue(#[from] CatalogueFailure),
    #[error(transparent)]
    Address(#[from] DatabaseAddressFailure),
    #[error(transparent)]
    MasterKey(#[from] MasterKeySetupFailure),
    #[error(transparent)]
    Bind(#[from] BindFailure),
    #[error(transparent)]
    Schema(#[from] SchemaFailure),
    #[error(transparent)]
    Durability(#[from] DurabilityFailure),
    #[error(transparent)]
    Setup(#[from] ProviderSetupFailure),
    #[error(transparent)]
    Objects(#[from] outbound::object_store::ObjectStoreSetupFailure),
    #[error(transparent)]
    Redis(#[from] RedisSetupFailure),
    #[error(transparent)]
    Tls(#[from] outbound::tls::TlsSetupFailure),
    #[error("the metrics recorder cannot be installed")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
    #[error("signal handlers cannot be installed")]
    Signals(#[from] io::Error),
    #[error("work was still in flight after SVC_DRAIN_SECONDS; other nodes take it over")]
    DrainTimedOut,
}

/// Returns after a stop signal, when everything has ended.
pub async fn run(settings: &Settings, role: ProcessRole) -> Result<(), RunFailure> {
    let values = &settings.values;
    // The host may allow less than needed; `longshored doctor` reports that.
    let _raised = rlimit::increase_nofile_limit(u64::MAX);
    let metrics_handle = metrics::install()?;
    let accounts = ProviderAccounts::from_settings(settings, credential_access(role))?;
    let catalogue = Arc::new(CatalogueStore::open(values.models_file.clone(), accounts)?);
    // A new id at every start: a restarted process is another node.
    let node = Uuid::from_u128(rand::random());
    let master_keys = master_key::from_settings(values)?;
    let stores = Arc::new(databases::connect(settings, node, master_keys.as_ref())?);
    let licence = Arc::new(LicenceWatcher::open(values, stores.clock.clone()));
    // Files are parsed by workers only.
    let prober = (role != ProcessRole::Serve).then(|| work::prober(values));
    let clock = stores.clock.clone();
    let files = Arc::new(MonitoredFileBackends::open(values, clock, prober)?);
    let redis = open_redis(role, values)?;
    let spans = SpanExport::start(values)?;
    let stop_signal = signals::watch(reload_handler(&catalogue, &licence))?;

    // Listeners first: a port in use shows at once, and early callers wait in the backlog.
    let metrics_listener = listener::bind("SVC_METRICS_LISTEN", values.metrics_listen)?;
    let api_listener = match role {
        ProcessRole::Serve | ProcessRole::All => Some(listener::bind("SVC_LISTEN", values.listen)?),
        ProcessRole::Work => None,
    };
    check_databases(&stores, role, values).await?;

    let (background, stop_background) = (TaskTracker::new(), CancellationToken::new());
    background.spawn(metrics::run_upkeep(
        metrics_handle.clone(),
        stop_background.clone(),
    ));
    spawn_background_tasks(&background, &stores, &licence, &files, &stop_background);
    // In the other roles, the lease of the workers covers the whole process.
    if role == ProcessRole::Serve {
        node_lease::spawn_leases(&stores, node, values, &background, &stop_background);
    }
    let routes = metrics_routes(role, metrics_handle, &stop_signal, &files, &stores);
    let options = Options::default();
    let metrics_server = HttpServer::start("metrics", metrics_listener, routes, options);
    let api = match api_listener {
        Some(listener) => {
            let inputs = ApiInputs {
                catalogue: catalogue.watch(),
                limits: licence.watch(),
                files: files.file_service(values),
                redis,
                tracer: spans.tracer(),
            };
            Some(ApiServer::start(listener, &stores, node, inputs, values).await)
        }
        None => None,
    };
    let workers = match role {
        ProcessRole::Work | ProcessRole::All => {
            let files = files.for_workers(values);
            Some(WorkerSets::start(
                &stores,
                node,
                &catalogue,
                files.as_ref(),
                spans.tracer().as_ref(),
                values,
            )?)
        }
        ProcessRole::Serve => None,
    };
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        role = role.as_str(),
        "started"
    );

    stop_signal.cancelled().await;
    let finished = graceful_shutdown(settings, api, workers).await;
    spans.finish().await;
    stop_background.cancel();
    metrics_server.graceful_shutdown(Duration::ZERO).await;
    tracing::info!(finished, "stopped");
    if finished {
        Ok(())
    } else {
        Err(RunFailure::DrainTimedOut)
    }
}

/// Only the API counts requests.
fn open_redis(
    role: ProcessRole,
    values: &SettingValues,
) -> Result<Option<RedisRateLimiter>, RedisSetupFailure> {
    if role == ProcessRole::Work {
        return Ok(None);
    }
    let redis = redis_client::open(values)?;
    if redis.is_none() {
        tracing::warn!(
            "SVC_REDIS_URL is not set: each process enforces its own share of every rate limit"
        );
    }
    Ok(redis)
}

/// A worker has no other listener, so its readiness is here too.
fn metrics_routes(
    role: ProcessRole,
    handle: PrometheusHandle,
    stop: &CancellationToken,
    files: &MonitoredFileBackends,
    stores: &Arc<Stores>,
) -> Router {
    let routes = metrics::router(handle);
    match role {
        ProcessRole::Work => {
            let (stop, stores) = (stop.clone(), Arc::clone(stores));
            routes.merge(worker_readiness::router(stop, files.health(), stores))
        }
        ProcessRole::Serve | ProcessRole::All => routes,
    }
}

/// The API calls no provider, so a process that only serves never reads provider credentials.
const fn credential_access(role: ProcessRole) -> CredentialAccess<'static> {
    match role {
        ProcessRole::Serve => CredentialAccess::Skip,
        ProcessRole::Work | ProcessRole::All => {
            CredentialAccess::Read(&settings::credential_variable)
        }
    }
}

/// SIGHUP reloads the catalogue and the licence.
fn reload_handler(
    catalogue: &Arc<CatalogueStore>,
    licence: &Arc<LicenceWatcher>,
) -> impl Fn() + Send + Sync + use<> {
    let (catalogue, licence) = (Arc::clone(catalogue), Arc::clone(licence));
    move || {
        catalogue.reload();
        licence.reload();
    }
}

/// Health checks of the file backends, clock synchronization, and the expiry of the licence.
fn spawn_background_tasks(
    background: &TaskTracker,
    stores: &Arc<Stores>,
    licence: &Arc<LicenceWatcher>,
    files: &Arc<MonitoredFileBackends>,
    stop: &CancellationToken,
) {
    let (files, control, token) = (Arc::clone(files), stores.control.clone(), stop.clone());
    background.spawn(async move { files.run_health_checks(control, token).await });
    let (stores, token) = (Arc::clone(stores), stop.clone());
    background.spawn(async move { stores.run_clock_sync(token).await });
    let (licence, token) = (Arc::clone(licence), stop.clone());
    background.spawn(async move { licence.run(token).await });
}

async fn check_databases(
    stores: &Stores,
    role: ProcessRole,
    values: &SettingValues,
) -> Result<(), RunFailure> {
    // The worker stages never need control.
    let needs_control = role != ProcessRole::Work;
    check_schemas(stores, needs_control).await?;
    durability::check_at_start(stores, values, needs_control).await?;
    Ok(())
}

/// An incompatible schema stops the start; an unreachable database does not.
async fn check_schemas(stores: &Stores, needs_control: bool) -> Result<(), SchemaFailure> {
    let mut checks = JoinSet::new();
    if needs_control {
        let control = stores.control.clone();
        checks.spawn(async { ("control".to_owned(), schema::check_control(control).await) });
    }
    for shard in stores.shards.iter().map(Arc::clone) {
        let name = format!("shard {}", shard.name);
        checks.spawn(async { (name, schema::check_shard(shard).await) });
    }
    for (database, check) in checks.join_all().await {
        if check? == SchemaCheck::Unreachable {
            tracing::warn!(
                database,
                "database unreachable at start; retrying until it answers"
            );
        }
    }
    Ok(())
}

/// The API stops first, so that the workers still run while it accepts its last requests.
async fn graceful_shutdown(
    settings: &Settings,
    api: Option<ApiServer>,
    workers: Option<WorkerSets>,
) -> bool {
    let values = &settings.values;
    let end = Instant::now() + values.drain;
    // Deliveries in flight need most of the time.
    let share = if workers.is_some() {
        values.drain / 2
    } else {
        values.drain
    };
    let served = match api {
        Some(api) => {
            api.graceful_shutdown(values, end - values.drain + share)
                .await
        }
        None => true,
    };
    let worked = match workers {
        Some(workers) => timeout_at(end, workers.stop()).await.is_ok(),
        None => true,
    };
    served && worked
}
