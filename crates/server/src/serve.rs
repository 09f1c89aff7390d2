//! `longshored serve`: the API and the dashboard, from its first connection to its last.

use std::sync::Arc;

use api::harbour::Desk;
use api::keys::KeyOptions;
use api::limits::LimiterOptions;
use api::{App, Options, Parts};
use chrono::TimeDelta;
use domain::callback::Schemes;
use domain::limit::{Backstop, Limits};
use domain::model::Catalogue;
use domain::time::Clock;
use outbound::counters::Counters;
use store::control::node::Node;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::clock::Held;
use crate::dashboard;
use crate::listener::{self, Served};
use crate::settings::choice::Environment;
use crate::settings::table::Values;
use crate::wiring::{self, Stores};

/// What may change while the API runs.
#[derive(Debug)]
pub struct Told {
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    pub limits: watch::Receiver<Limits>,
    pub files: Desk,
}

/// The API while it runs.
#[derive(Debug)]
pub struct Api {
    app: App,
    served: Served,
    beside: TaskTracker,
    finish: CancellationToken,
    /// Whoever watches a page is sent away first: they would never finish.
    watched: CancellationToken,
}

impl Api {
    pub fn start(
        listener: TcpListener,
        stores: &Stores,
        node: Uuid,
        told: Told,
        values: &Values,
    ) -> Self {
        let (catalogue, limits) = (told.catalogue.clone(), told.limits.clone());
        let app = App::new(Parts {
            control: stores.control.clone(),
            shards: stores.shards.clone(),
            catalogue: told.catalogue,
            limits: told.limits,
            files: told.files,
            counters: counters(values),
            node: Node {
                id: node,
                name: wiring::node_name(),
            },
            options: options(values),
            clock: stores.clock.clone(),
        });
        let (beside, finish) = (TaskTracker::new(), CancellationToken::new());
        app.spawn(&beside, &finish);
        let api = api::router(app.clone());
        let watched = CancellationToken::new();
        let shelf = (catalogue, limits);
        let pages = dashboard::pages(&listener, stores, shelf, api.clone(), &watched, values);
        let offered = dashboard::offer_setup(pages.public_url, stores, finish.clone());
        beside.spawn(offered);
        let router = api.merge(pages.router);
        let served = Served::start("api", listener, router, listener_options(values));
        Self {
            app,
            served,
            beside,
            finish,
            watched,
        }
    }

    /// Tells balancers, finishes requests, writes what was accepted. False when `until` came first.
    pub async fn stop(&self, values: &Values, until: Instant) -> bool {
        self.app.drain();
        self.watched.cancel();
        let finished = timeout_at(until, self.served.stop(values.drain_grace))
            .await
            .is_ok();
        // Also when a caller was too slow: what the others were promised is written.
        let written = timeout_at(until + values.drain_grace, self.app.flush())
            .await
            .is_ok();
        self.finish.cancel();
        self.beside.close();
        let ended = timeout_at(until + values.drain_grace, self.beside.wait())
            .await
            .is_ok();
        finished && written && ended
    }
}

fn options(values: &Values) -> Options {
    Options {
        keys: KeyOptions {
            stale: values.control_stale,
            ..KeyOptions::default()
        },
        limiter: LimiterOptions {
            backstop: Backstop {
                per_minute: values.backstop_per_minute,
                per_hour: values.backstop_per_hour,
            },
            budget: values.redis_budget,
            clock: values.limiter_clock.map(held),
        },
        upgrade_url: values.upgrade_url.to_string(),
        schemes: match values.environment {
            Environment::Production => Schemes::HttpsOnly,
            Environment::Development => Schemes::HttpToo,
        },
        max_body_bytes: values.max_body_bytes,
        max_messages: values.max_messages,
        max_references: values.max_file_references,
        max_stop_sequences: values.max_stop_sequences,
        linger: TimeDelta::from_std(values.batch_linger).unwrap_or_default(),
    }
}

fn listener_options(values: &Values) -> listener::options::Options {
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

fn counters(values: &Values) -> Option<Counters> {
    let Some(url) = &values.redis_url else {
        tracing::warn!(
            "SVC_REDIS_URL is not set: each process keeps its share of every rate limit by itself"
        );
        return None;
    };
    // The settings take no address that cannot be used.
    Counters::new(url.as_str()).ok()
}

fn held(micros: i64) -> Arc<dyn Clock> {
    tracing::warn!("SVC_LIMITER_CLOCK_MICROSECONDS is set: no bucket is ever refilled");
    Arc::new(Held(micros))
}
