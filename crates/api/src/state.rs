//! What every handler can reach.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use domain::callback::Schemes;
use domain::id::Berth;
use domain::limit::Limits;
use domain::model::Catalogue;
use domain::time::Clock;
use outbound::counters::Counters;
use store::control::node::Node;
use store::{Control, Shard};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::check::Rules;
use crate::harbour::Desk;
use crate::harbour::verdicts::Verdicts;
use crate::keys::{KeyOptions, Keys};
use crate::lanes::Lanes;
use crate::limits::{Limiter, LimiterOptions, Nodes};
use crate::probe::Probe;
use crate::problem::Problem;
use crate::writer::Writer;

/// What the API is made of.
#[derive(Debug)]
pub struct Parts {
    pub control: Control,
    pub shards: Vec<Arc<Shard>>,
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    /// What each plan allows; a licence may come and go.
    pub limits: watch::Receiver<Limits>,
    /// What counts for all nodes; without it each counts for itself.
    pub counters: Option<Counters>,
    /// This process among those that serve.
    pub node: Node,
    pub options: Options,
    /// The object store of files, and how it is.
    pub files: Desk,
    /// For what belongs to no shard: keys and their expiry.
    pub clock: Arc<dyn Clock>,
}

/// What the API is told by its settings.
#[derive(Debug, Clone)]
pub struct Options {
    pub keys: KeyOptions,
    pub limiter: LimiterOptions,
    /// Where a caller is sent whose plan is too small.
    pub upgrade_url: String,
    pub schemes: Schemes,
    pub max_body_bytes: usize,
    pub max_messages: usize,
    pub max_references: usize,
    pub max_stop_sequences: usize,
    /// How long a lane rests between batches that are not full.
    pub linger: TimeDelta,
}

/// Cloned several times for every request, so all of it lies behind one pointer.
#[derive(Debug, Clone)]
pub struct App(Arc<Shared>);

#[derive(Debug)]
pub struct Shared {
    pub(crate) keys: Arc<Keys>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) limits: watch::Receiver<Limits>,
    pub(crate) limiter: Limiter,
    pub(crate) upgrade_url: String,
    pub(crate) rules: Rules,
    pub(crate) max_body_bytes: usize,
    pub(crate) linger: TimeDelta,
    pub(crate) files: Desk,
    quays: HashMap<Arc<str>, Quay>,
    names: Vec<Arc<str>>,
    draining: AtomicBool,
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// One shard, seen from the API: its rows, its writer, its lanes and its pulse.
#[derive(Debug)]
pub(crate) struct Quay {
    pub(crate) shard: Arc<Shard>,
    pub(crate) writer: Writer,
    pub(crate) lanes: Lanes,
    pub(crate) probe: Probe,
    pub(crate) verdicts: Verdicts,
}

impl App {
    pub fn new(parts: Parts) -> Self {
        let options = parts.options;
        let rules = Rules {
            schemes: options.schemes,
            max_messages: options.max_messages,
            max_references: options.max_references,
            max_stop_sequences: options.max_stop_sequences,
        };
        let names = parts
            .shards
            .iter()
            .map(|shard| shard.name.clone())
            .collect();
        let quays = parts.shards.into_iter().map(|shard| {
            let writer = Writer::new(shard.clone());
            let verdicts = Verdicts::new(shard.clone());
            let name = shard.name.clone();
            (
                name,
                Quay {
                    shard,
                    writer,
                    lanes: Lanes::default(),
                    probe: Probe::default(),
                    verdicts,
                },
            )
        });
        let nodes = Nodes::new(parts.control.clone(), parts.node);
        Self(Arc::new(Shared {
            limiter: Limiter::new(parts.counters, nodes, options.limiter),
            upgrade_url: options.upgrade_url,
            keys: Arc::new(Keys::new(parts.control, options.keys, parts.clock)),
            catalogue: parts.catalogue,
            limits: parts.limits,
            rules,
            max_body_bytes: options.max_body_bytes,
            linger: options.linger,
            files: parts.files,
            quays: quays.collect(),
            names,
            draining: AtomicBool::new(false),
        }))
    }

    /// Starts what works beside the requests: the key feed, the limiter, the writers, the probes.
    ///
    /// All but the writers stop when told to; these stop after [`App::flush`].
    pub fn spawn(&self, tracker: &TaskTracker, stop: &CancellationToken) {
        let (keys, stopped) = (self.keys.clone(), stop.clone());
        tracker.spawn(async move { keys.run(stopped).await });
        self.limiter.spawn(tracker, stop);
        for name in &self.names {
            let Some(quay) = self.quays.get(name) else {
                continue;
            };
            quay.writer.spawn(tracker);
            let (app, name, stopped) = (self.clone(), name.clone(), stop.clone());
            tracker.spawn(async move {
                if let Some(quay) = app.quays.get(&name) {
                    let probed = quay.probe.run(&quay.shard, stopped.clone());
                    tokio::join!(probed, quay.verdicts.run(stopped));
                }
            });
        }
    }

    /// Reads the key feed to its end, as the feed follower does by itself every half second.
    pub async fn refresh(&self) {
        self.keys.refresh().await;
    }

    /// From now on `/ready` tells balancers to look elsewhere.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Waits until everything that was accepted is written, then lets the writers go.
    pub async fn flush(&self) {
        for quay in self.quays.values() {
            quay.writer.close().await;
        }
        self.keys.flush().await;
    }

    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// The shards in the order of the settings.
    pub(crate) fn quays(&self) -> impl Iterator<Item = &Quay> {
        self.names.iter().filter_map(|name| self.quays.get(name))
    }

    /// Where a berth lies.
    pub(crate) fn quay(&self, berth: Berth) -> Result<&Quay, Problem> {
        let name = self.keys.shard_of(berth);
        name.and_then(|name| self.quays.get(&name)).ok_or_else(|| {
            Problem::unavailable(
                "The organization's shard is not available. Retry shortly.",
                5,
            )
        })
    }
}
