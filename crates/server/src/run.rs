//! The life of a process that serves, works, or both: start, run, stop in order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::catalogue::{CatalogueFailure, Shelf};
use crate::files::Files;
use crate::licence::keeper::Keeper;
use crate::listener::options::Options;
use crate::listener::{self, BindFailure, Served};
use crate::metrics;
use crate::presence;
use crate::providers::credential::Credentials;
use crate::providers::{Accounts, ProvidersFailure};
use crate::schema::{self, SchemaFailure, Standing};
use crate::serve::{Api, Told};
use crate::settings::{self, Settings};
use crate::signals;
use crate::wiring::{self, AddressFailure, Stores};
use crate::work::{Crews, SetupFailure};

/// What this process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Serve,
    Work,
    All,
}

impl Role {
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
    Address(#[from] AddressFailure),
    #[error(transparent)]
    Bind(#[from] BindFailure),
    #[error(transparent)]
    Schema(#[from] SchemaFailure),
    #[error(transparent)]
    Setup(#[from] SetupFailure),
    #[error(transparent)]
    Objects(#[from] outbound::objects::SetupFailure),
    #[error("metrics cannot be kept")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
    #[error("signals cannot be received")]
    Signals(#[from] io::Error),
    #[error("SVC_DRAIN_SECONDS were over before all was finished; other nodes take it up")]
    Unfinished,
}

/// Returns when told to stop and everything has ended.
pub async fn run(settings: &Settings, role: Role) -> Result<(), RunFailure> {
    let values = &settings.values;
    // As far as the host allows; `doctor` says when that is too little.
    let _raised = rlimit::increase_nofile_limit(u64::MAX);
    let kept = metrics::install()?;
    let accounts = Accounts::of(settings, credentials(role))?;
    let shelf = Arc::new(Shelf::open(values.models_file.clone(), accounts)?);
    // Drawn at every start: a restarted process is another node.
    let node = Uuid::from_u128(rand::random());
    let stores = Arc::new(wiring::connect(settings, node)?);
    let keeper = Arc::new(Keeper::open(values, stores.clock.clone()));
    let files = Arc::new(Files::open(values, stores.clock.clone())?);
    let told = signals::watch(again(&shelf, &keeper))?;

    // Listeners first: a taken port shows at once, and early callers wait in the queue.
    let side = listener::bind("SVC_METRICS_LISTEN", values.metrics_listen)?;
    let front = match role {
        Role::Serve | Role::All => Some(listener::bind("SVC_LISTEN", values.listen)?),
        Role::Work => None,
    };
    admit(&stores, role).await?;

    let (beside, finish) = (TaskTracker::new(), CancellationToken::new());
    beside.spawn(metrics::upkeep(
        kept.clone(),
        stores.clocks(),
        finish.clone(),
    ));
    keep(&beside, &stores, &keeper, &files, &finish);
    // The lease of a crew stands for the whole process.
    if role == Role::Serve {
        presence::keep(&stores, node, values, &beside, &finish);
    }
    let side = Served::start("metrics", side, metrics::router(kept), Options::default());
    let api = front.map(|front| {
        let told = Told {
            catalogue: shelf.watch(),
            limits: keeper.watch(),
            files: files.desk(values),
        };
        Api::start(front, &stores, node, told, values)
    });
    let crews = match role {
        Role::Work | Role::All => {
            let files = files.for_workers(values);
            Some(Crews::start(&stores, node, &shelf, files.as_ref(), values)?)
        }
        Role::Serve => None,
    };
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        role = role.as_str(),
        "started"
    );

    told.cancelled().await;
    let finished = stop(settings, api, crews).await;
    finish.cancel();
    side.stop(Duration::ZERO).await;
    tracing::info!(finished, "stopped");
    if finished {
        Ok(())
    } else {
        Err(RunFailure::Unfinished)
    }
}

/// The API asks no provider, so a process that only serves holds nothing that proves who we are.
const fn credentials(role: Role) -> Credentials<'static> {
    match role {
        Role::Serve => Credentials::Unread,
        Role::Work | Role::All => Credentials::Read(&settings::credential),
    }
}

/// What is read again when the operator says so.
fn again(shelf: &Arc<Shelf>, keeper: &Arc<Keeper>) -> impl Fn() + Send + Sync + use<> {
    let (shelf, keeper) = (Arc::clone(shelf), Arc::clone(keeper));
    move || {
        shelf.reload();
        keeper.reload();
    }
}

/// Asks for the time, lets a licence end with it, and looks after the store of files.
fn keep(
    beside: &TaskTracker,
    stores: &Arc<Stores>,
    keeper: &Arc<Keeper>,
    files: &Arc<Files>,
    finish: &CancellationToken,
) {
    let (files, control, stop) = (Arc::clone(files), stores.control.clone(), finish.clone());
    beside.spawn(async move { files.watch(control, stop).await });
    let (stores, stop) = (Arc::clone(stores), finish.clone());
    beside.spawn(async move { stores.keep_time(stop).await });
    let (keeper, stop) = (Arc::clone(keeper), finish.clone());
    beside.spawn(async move { keeper.keep(stop).await });
}

/// A schema that is not ours stops the start; a database that is away does not.
async fn admit(stores: &Stores, role: Role) -> Result<(), SchemaFailure> {
    let mut asked = JoinSet::new();
    // Stages never need control.
    if role != Role::Work {
        let control = stores.control.clone();
        asked.spawn(async { ("control".to_owned(), schema::control(control).await) });
    }
    for shard in stores.shards.iter().map(Arc::clone) {
        let name = format!("shard {}", shard.name);
        asked.spawn(async { (name, schema::shard(shard).await) });
    }
    for (database, standing) in asked.join_all().await {
        if standing? == Standing::Away {
            tracing::warn!(database, "away; it is asked again until it is there");
        }
    }
    Ok(())
}

/// The API first: what it accepts to the last is left to workers that still run.
async fn stop(settings: &Settings, api: Option<Api>, crews: Option<Crews>) -> bool {
    let values = &settings.values;
    let end = Instant::now() + values.drain;
    // Deliveries in flight need most of the time.
    let share = if crews.is_some() {
        values.drain / 2
    } else {
        values.drain
    };
    let served = match api {
        Some(api) => api.stop(values, end - values.drain + share).await,
        None => true,
    };
    let worked = match crews {
        Some(crews) => timeout_at(end, crews.stop()).await.is_ok(),
        None => true,
    };
    served && worked
}
