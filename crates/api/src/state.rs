//! The state that every handler shares.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::{FromRef, FromRequest, Request};
use chrono::TimeDelta;
use domain::callback_url::AllowedSchemes;
use domain::id::Berth;
use domain::model::Catalogue;
use domain::plan_limits::LimitsByPlan;
use domain::time::Clock;
use futures::future::join_all;
use outbound::otlp::Tracer;
use outbound::rate_limits::RedisRateLimiter;
use store::control::node::ServingNode;
use store::{Control, Shard};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api_error::ApiError;
use crate::api_keys::{ApiKeyCache, ApiKeyCacheOptions};
use crate::audit_log_reader::AuditLogReader;
use crate::dropin_state::{DropinOptions, DropinState};
use crate::files::{FileService, FilesState};
use crate::group_commit::LoadWriter;
use crate::identity_reader::IdentityReader;
use crate::lane_id_cache::LaneIdCache;
use crate::lane_state_cache::LaneStateCache;
use crate::listener_hub::ListenerHub;
use crate::load_validation::LoadRules;
use crate::node_heartbeat::NodeHeartbeat;
use crate::rate_limit::{RateLimiter, RateLimiterOptions, RouteLimiter, RouteLimits};
use crate::request_body::BufferedBody;
use crate::request_span::RequestTracer;
use crate::result_stream_limit::ResultStreamLimit;
use crate::shard_probe::ShardProbe;
use crate::usage_profile_cache::UsageProfileCache;
use crate::waiters::{FeedWaiters, WaitLimits, WaitOptions};

/// Everything that the API is built from.
#[derive(Debug)]
pub struct AppDependencies {
    pub control: Control,
    pub shards: Vec<Arc<Shard>>,
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    /// The limits of each plan. They change when a licence is added or removed.
    pub plan_limits: watch::Receiver<LimitsByPlan>,
    /// Rate limits shared by all nodes. Without Redis each node limits on its own.
    pub redis: Option<RedisRateLimiter>,
    /// This process, as one of the serving nodes.
    pub node: ServingNode,
    pub options: Options,
    /// The object store of files, and its health.
    pub files: FileService,
    /// The clock for keys and their expiry, which belong to no shard.
    pub clock: Arc<dyn Clock>,
    /// None: tracing is off.
    pub tracer: Option<Tracer>,
}

/// The API's settings.
#[derive(Debug, Clone)]
pub struct Options {
    pub keys: ApiKeyCacheOptions,
    pub limiter: RateLimiterOptions,
    pub route_limits: RouteLimits,
    /// The URL in rate-limit errors where a caller can upgrade the plan.
    pub upgrade_url: String,
    pub schemes: AllowedSchemes,
    pub max_body_bytes: usize,
    pub max_messages: usize,
    pub max_references: usize,
    pub max_stop_sequences: usize,
    /// The minimum time between two batches of a lane that are not full.
    pub linger: TimeDelta,
    pub waits: WaitOptions,
    /// Whether `listen://NAME` is a callback URL.
    pub allows_listeners: bool,
    pub dropins: DropinOptions,
}

/// Cloned several times for every request, so everything is behind one pointer.
#[derive(Debug, Clone)]
pub struct App(Arc<AppInner>);

#[derive(Debug)]
pub struct AppInner {
    pub(crate) keys: Arc<ApiKeyCache>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) plan_limits: watch::Receiver<LimitsByPlan>,
    pub(crate) limiter: RateLimiter,
    pub(crate) route_limiter: Arc<RouteLimiter>,
    node_heartbeat: Arc<NodeHeartbeat>,
    pub(crate) upgrade_url: String,
    pub(crate) rules: LoadRules,
    pub(crate) max_body_bytes: usize,
    pub(crate) linger: TimeDelta,
    /// No request waits longer for a change.
    pub(crate) max_wait: Duration,
    wait_limits: Arc<WaitLimits>,
    /// Ends all waits.
    stop_waits: CancellationToken,
    pub(crate) files: Arc<FilesState>,
    pub(crate) audit: AuditLogReader,
    pub(crate) identities: IdentityReader,
    /// None: tracing is off.
    pub(crate) request_tracer: Option<RequestTracer>,
    pub(crate) usage_profiles: UsageProfileCache,
    pub(crate) dropins: DropinState,
    pub(crate) result_streams: ResultStreamLimit,
    shard_handles: HashMap<Arc<str>, ShardHandle>,
    shard_names: Vec<Arc<str>>,
    is_draining: AtomicBool,
}

impl Deref for App {
    type Target = AppInner;

    fn deref(&self) -> &AppInner {
        &self.0
    }
}

/// Everything that the API keeps for one shard.
#[derive(Debug)]
pub(crate) struct ShardHandle {
    pub(crate) shard: Arc<Shard>,
    pub(crate) writer: LoadWriter,
    pub(crate) lanes: LaneIdCache,
    pub(crate) lane_states: LaneStateCache,
    pub(crate) probe: ShardProbe,
    pub(crate) waiters: Arc<FeedWaiters>,
    pub(crate) listeners: Arc<ListenerHub>,
}

impl App {
    pub fn new(parts: AppDependencies) -> Self {
        let options = parts.options;
        let rules = LoadRules {
            schemes: options.schemes,
            allows_listeners: options.allows_listeners,
            max_messages: options.max_messages,
            max_references: options.max_references,
            max_stop_sequences: options.max_stop_sequences,
        };
        let names = parts
            .shards
            .iter()
            .map(|shard| shard.name.clone())
            .collect();
        let (wait_limits, stop_waits) = (WaitLimits::new(options.waits), CancellationToken::new());
        let handles = parts.shards.iter().cloned().map(|shard| {
            let writer = LoadWriter::new(shard.clone());
            let name = shard.name.clone();
            let waiters = FeedWaiters::new(Arc::clone(&wait_limits), stop_waits.clone());
            let waiters = Arc::new(waiters);
            metrics::counter!("longshore_cargo_loaded_total", "shard" => name.to_string())
                .increment(0);
            metrics::counter!("longshore_cargo_cancelled_total", "shard" => name.to_string())
                .increment(0);
            (
                name,
                ShardHandle {
                    shard,
                    writer,
                    lanes: LaneIdCache::default(),
                    lane_states: LaneStateCache::default(),
                    probe: ShardProbe::default(),
                    waiters,
                    listeners: Arc::default(),
                },
            )
        });
        let nodes = Arc::new(NodeHeartbeat::new(parts.control.clone(), parts.node));
        let dropins = DropinState::new(options.dropins, parts.control.clone());
        let audit = AuditLogReader::new(parts.control.clone(), Arc::clone(&parts.clock));
        let identities = IdentityReader::new(parts.control.clone());
        let tracer = parts.tracer;
        let request_tracer =
            tracer.map(|tracer| RequestTracer::new(tracer, Arc::clone(&parts.clock)));
        let usage_profiles = UsageProfileCache::new(parts.control.clone());
        let keys = Arc::new(ApiKeyCache::new(parts.control, options.keys, parts.clock));
        let clock = options.limiter.clock.clone();
        let route_limiter = Arc::new(RouteLimiter::new(options.route_limits, clock));
        let files = FilesState::new(
            parts.files,
            parts.plan_limits.clone(),
            keys.clone(),
            Arc::clone(&route_limiter),
            &parts.shards,
        );
        Self(Arc::new(AppInner {
            limiter: RateLimiter::new(parts.redis, nodes.clone(), options.limiter),
            route_limiter,
            node_heartbeat: nodes,
            upgrade_url: options.upgrade_url,
            keys,
            catalogue: parts.catalogue,
            plan_limits: parts.plan_limits,
            rules,
            max_body_bytes: options.max_body_bytes,
            linger: options.linger,
            max_wait: options.waits.max_wait,
            shard_handles: handles.collect(),
            wait_limits,
            stop_waits,
            files: Arc::new(files),
            audit,
            identities,
            request_tracer,
            usage_profiles,
            dropins,
            result_streams: ResultStreamLimit::default(),
            shard_names: names,
            is_draining: AtomicBool::new(false),
        }))
    }

    /// Starts the background tasks: the key feed, the heartbeats, the rate limiter, the writers,
    /// the probes, the readers of the shards' feeds, and the listeners.
    ///
    /// `stop` ends all of them but the writers, which end after [`App::flush`].
    pub fn spawn(&self, tracker: &TaskTracker, stop: &CancellationToken) {
        let (keys, stopped) = (self.keys.clone(), stop.clone());
        tracker.spawn(async move { keys.run(stopped).await });
        let (nodes, stopped) = (self.node_heartbeat.clone(), stop.clone());
        tracker.spawn(async move { nodes.run(stopped).await });
        self.limiter.spawn(tracker, stop);
        self.files.spawn(tracker, stop);
        for name in &self.shard_names {
            let Some(handle) = self.shard_handles.get(name) else {
                continue;
            };
            handle.writer.spawn(tracker);
            handle.waiters.spawn(&handle.shard, tracker, stop.clone());
            let listeners = &handle.listeners;
            listeners.spawn(&handle.shard, tracker, stop.clone());
            let (app, name, stopped) = (self.clone(), name.clone(), stop.clone());
            tracker.spawn(async move {
                if let Some(handle) = app.shard_handles.get(&name) {
                    handle
                        .probe
                        .run(&handle.shard, &handle.writer, stopped)
                        .await;
                }
            });
        }
    }

    /// Probes every shard once. Call before the first request: a database that was restored or
    /// copied takes no loads.
    pub async fn probe_shards(&self) {
        let probes = self.shard_handles().map(|handle| {
            let probe = &handle.probe;
            probe.probe_once(&handle.shard, &handle.writer)
        });
        join_all(probes).await;
    }

    /// Reads the key feed to its end. The background task does the same every half second.
    pub async fn refresh_keys(&self) {
        self.keys.read_feed().await;
    }

    /// From now on `/ready` answers 503, so that load balancers send no more requests here.
    /// Waiting requests are answered at once, and the streams of listeners end.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        self.stop_waits.cancel();
    }

    /// Waits until all accepted loads are written, then ends the writers.
    pub async fn flush(&self) {
        for handle in self.shard_handles.values() {
            handle.writer.close().await;
        }
        self.keys.flush_usage().await;
    }

    /// Cancelled when the process stops: streams end.
    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.stop_waits.clone()
    }

    /// How many requests wait for a change of their cargo, or for callbacks as listeners.
    pub fn count_waiting_requests(&self) -> usize {
        self.wait_limits.count_waiting()
    }

    pub fn limiter(&self) -> &RateLimiter {
        &self.limiter
    }

    pub fn node_heartbeat(&self) -> &NodeHeartbeat {
        &self.node_heartbeat
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// All shards, in the order of the settings.
    pub(crate) fn shard_handles(&self) -> impl Iterator<Item = &ShardHandle> {
        self.shard_names
            .iter()
            .filter_map(|name| self.shard_handles.get(name))
    }

    pub(crate) fn shard_names(&self) -> &[Arc<str>] {
        &self.shard_names
    }

    pub(crate) fn shard_handle_of(&self, name: &str) -> Option<&ShardHandle> {
        self.shard_handles.get(name)
    }

    /// The shard that a berth is assigned to.
    pub(crate) fn shard_handle(&self, berth: Berth) -> Result<&ShardHandle, ApiError> {
        let name = self.keys.shard_of(berth);
        name.and_then(|name| self.shard_handles.get(&name))
            .ok_or_else(ApiError::shard_unavailable)
    }
}

impl FromRef<App> for Arc<FilesState> {
    fn from_ref(app: &App) -> Self {
        Self::clone(&app.files)
    }
}

impl FromRequest<App> for BufferedBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        Self::read(request, app.max_body_bytes).await
    }
}
