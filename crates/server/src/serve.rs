//! `longshored serve`: starts and stops the API and the dashboard.

use std::sync::Arc;

use api::api_keys::ApiKeyCacheOptions;
use api::files::FileService;
use api::rate_limit::{RateLimiterOptions, RouteLimits};
use api::{App, AppDependencies, DropinOptions, Options, PublicOrigin, WaitOptions};
use chrono::TimeDelta;
use domain::model::Catalogue;
use domain::plan_limits::{Backstop, LimitsByPlan};
use domain::time::Clock;
use outbound::otlp::Tracer;
use outbound::rate_limits::RedisRateLimiter;
use store::control::node::ServingNode;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::audit_file::AuditFileWriter;
use crate::clock::FrozenClock;
use crate::control_history::ControlHistorySweeper;
use crate::dashboard::{self, DashboardInputs};
use crate::databases::{self, Stores};
use crate::guide;
use crate::listener::{self, HttpServer};
use crate::settings::choice::{Dropins, ListenTunnelSwitch};
use crate::settings::table::SettingValues;

/// What other parts of the process provide to the API; catalogue and limits change on reload.
#[derive(Debug)]
pub struct ApiInputs {
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    pub limits: watch::Receiver<LimitsByPlan>,
    pub files: FileService,
    /// Counts rate limits for all processes.
    pub redis: Option<RedisRateLimiter>,
    /// None: tracing is off.
    pub tracer: Option<Tracer>,
}

/// The running API and dashboard.
#[derive(Debug)]
pub struct ApiServer {
    app: App,
    server: HttpServer,
    background: TaskTracker,
    stop_background: CancellationToken,
    /// Ends the dashboard's event streams, which would otherwise never finish.
    stop_pages: CancellationToken,
}

impl ApiServer {
    /// Takes no request before every shard was probed.
    pub async fn start(
        listener: TcpListener,
        stores: &Stores,
        node: Uuid,
        inputs: ApiInputs,
        values: &SettingValues,
    ) -> Self {
        let (catalogue, limits) = (inputs.catalogue.clone(), inputs.limits.clone());
        let app = App::new(AppDependencies {
            control: stores.control.clone(),
            shards: stores.shards.clone(),
            catalogue: inputs.catalogue,
            plan_limits: inputs.limits,
            files: inputs.files,
            redis: inputs.redis,
            node: ServingNode {
                id: node,
                name: databases::node_name(),
            },
            options: options(values),
            clock: stores.clock.clone(),
            tracer: inputs.tracer,
        });
        let (background, stop_background) = (TaskTracker::new(), CancellationToken::new());
        app.probe_shards().await;
        app.spawn(&background, &stop_background);
        api::spawn_unpackers(&app, &background, &stop_background);
        let api = api::router(app.clone());
        let stop_pages = CancellationToken::new();
        let shared = DashboardInputs {
            catalogue,
            limits,
            api: api.clone(),
            stop: stop_pages.clone(),
        };
        let pages = dashboard::pages(&listener, stores, shared, values);
        let setup = dashboard::offer_setup_link(pages.public_url, stores, stop_background.clone());
        background.spawn(setup);
        let renewal = dashboard::renew_totp_secrets(values, stores, stop_background.clone());
        background.spawn(renewal);
        let history = ControlHistorySweeper {
            control: stores.control.clone(),
            clock: stores.clock.clone(),
            audit_retention: TimeDelta::days(i64::from(values.audit_retention_days)),
            has_audit_file: values.audit_file.is_some(),
        };
        background.spawn(history.run(stop_background.clone()));
        if let Some(path) = values.audit_file.clone() {
            let writer = AuditFileWriter {
                control: stores.control.clone(),
                clock: stores.clock.clone(),
                node,
                path,
            };
            background.spawn(writer.run(stop_background.clone()));
        }
        let guide = api::with_request_tracing(guide::router(values.guide_dir.as_deref()));
        let router = api.merge(pages.router).merge(guide);
        let server = HttpServer::start("api", listener, router, listener_options(values));
        Self {
            app,
            server,
            background,
            stop_background,
            stop_pages,
        }
    }

    /// Fails `/ready` for load balancers, finishes requests and commits accepted loads.
    ///
    /// False when `until` passes first.
    pub async fn graceful_shutdown(&self, values: &SettingValues, until: Instant) -> bool {
        self.app.drain();
        self.stop_pages.cancel();
        let finished = timeout_at(until, self.server.graceful_shutdown(values.drain_grace))
            .await
            .is_ok();
        // Even when a slow caller used up the time, accepted loads are committed.
        let written = timeout_at(until + values.drain_grace, self.app.flush())
            .await
            .is_ok();
        self.stop_background.cancel();
        self.background.close();
        let ended = timeout_at(until + values.drain_grace, self.background.wait())
            .await
            .is_ok();
        finished && written && ended
    }
}

fn options(values: &SettingValues) -> Options {
    Options {
        keys: ApiKeyCacheOptions {
            stale_after: values.control_stale,
            ..ApiKeyCacheOptions::default()
        },
        limiter: RateLimiterOptions {
            backstop: Backstop {
                per_minute: values.backstop_per_minute,
                per_hour: values.backstop_per_hour,
            },
            redis_timeout: values.redis_budget,
            clock: values.limiter_clock.map(frozen_clock),
        },
        route_limits: RouteLimits {
            reads_per_minute: values.read_limit_per_minute,
            file_writes_per_minute: values.file_write_limit_per_minute,
        },
        upgrade_url: values.upgrade_url.to_string(),
        schemes: values.environment.into(),
        max_body_bytes: values.max_body_bytes,
        max_messages: values.max_messages,
        max_references: values.max_file_references,
        max_stop_sequences: values.max_stop_sequences,
        linger: TimeDelta::from_std(values.batch_linger).unwrap_or_default(),
        allows_listeners: values.listen_tunnel == ListenTunnelSwitch::On,
        waits: WaitOptions {
            max_wait: values.wait_max,
            max_connections: listener_options(values).max_connections,
        },
        dropins: DropinOptions {
            is_enabled: values.dropins == Dropins::On,
            origin: PublicOrigin {
                public_url: values.public_url.as_ref().map(ToString::to_string),
            },
        },
    }
}

fn listener_options(values: &SettingValues) -> listener::options::Options {
    let options = listener::options::Options {
        max_connections: values.max_connections,
        max_connections_per_address: values.max_connections_per_address,
        trusted_proxies: values.trusted_proxies.clone(),
        request_timeout: values.request_timeout,
        body_budget: values.body_budget_bytes,
        ..listener::options::Options::default()
    };
    options.within_open_files()
}

fn frozen_clock(micros: i64) -> Arc<dyn Clock> {
    tracing::warn!("SVC_LIMITER_CLOCK_MICROSECONDS is set: rate limits never refill");
    Arc::new(FrozenClock(micros))
}
