//! What every page can reach.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use chrono::TimeDelta;
use domain::house::{Stranger, Visit};
use domain::id::{Berth, KeyId, OrganizationId, ProjectId};
use domain::limit::Limits;
use domain::model::Catalogue;
use domain::organization::Plan;
use domain::time::{Clock, Timestamp};
use ipnet::IpNet;
use store::{Control, Shard};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// In whose name a page asks the API.
#[derive(Debug, Clone, Copy)]
pub struct Acting {
    pub organization: OrganizationId,
    pub project: ProjectId,
    /// No key of anybody's: what pages load is counted under the project's own id.
    pub key: KeyId,
    pub plan: Plan,
    pub berth: Berth,
}

/// The API, asked in-process: every check, limit and hold is the same code.
#[async_trait::async_trait]
pub trait Api: Send + Sync + std::fmt::Debug {
    async fn ask(&self, acting: Acting, request: Request) -> Response;
}

/// A house where people can sign in instead. What it says no with is for people.
#[async_trait::async_trait]
pub trait House: Send + Sync + std::fmt::Debug {
    async fn door(&self, visit: &Visit) -> Result<String, String>;

    async fn who(&self, code: &str, visit: &Visit, now: Timestamp) -> Result<Stranger, String>;
}

/// What the dashboard is made of.
#[derive(Debug)]
pub struct Parts {
    pub control: Control,
    pub shards: Vec<Arc<Shard>>,
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    pub limits: watch::Receiver<Limits>,
    /// Control's.
    pub clock: Arc<dyn Clock>,
    pub api: Arc<dyn Api>,
    /// Nothing where people sign in with a password alone.
    pub house: Option<Arc<dyn House>>,
    /// From then on nobody watches a page any longer.
    pub stop: CancellationToken,
    pub options: Options,
}

/// What the dashboard is told by its settings.
#[derive(Debug, Clone)]
pub struct Options {
    /// How browsers reach us, without a slash at the end.
    pub public_url: String,
    /// Where browsers upload to: the one other origin that they may ask.
    pub store_origin: Option<String>,
    /// Those whose word about a browser's address is believed.
    pub proxies: Vec<IpNet>,
    /// Of the organization that the first start makes.
    pub first_plan: Plan,
    /// How long a lane rests between batches that are not full.
    pub linger: TimeDelta,
}

impl Options {
    /// Whether browsers come over https.
    pub(crate) fn is_secure(&self) -> bool {
        self.public_url.starts_with("https://")
    }
}

#[derive(Debug, Clone)]
pub struct Desk(Arc<Shared>);

#[derive(Debug)]
pub struct Shared {
    pub(crate) control: Control,
    pub(crate) shards: Vec<Arc<Shard>>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) limits: watch::Receiver<Limits>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) api: Arc<dyn Api>,
    pub(crate) house: Option<Arc<dyn House>>,
    pub(crate) stop: CancellationToken,
    pub(crate) options: Options,
    /// All pages, for those that watch one.
    pages: OnceLock<Router>,
    /// A password takes memory and time to check: so many at once.
    pub(crate) hashing: Semaphore,
}

impl Deref for Desk {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Desk {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Shared {
            control: parts.control,
            shards: parts.shards,
            catalogue: parts.catalogue,
            limits: parts.limits,
            clock: parts.clock,
            api: parts.api,
            house: parts.house,
            stop: parts.stop,
            options: parts.options,
            pages: OnceLock::new(),
            hashing: Semaphore::new(2),
        }))
    }

    /// Told once, when the pages are put together.
    pub(crate) fn keep_pages(&self, pages: Router) {
        // A second telling would be of the same pages.
        let _ = self.pages.set(pages);
    }

    pub(crate) fn pages(&self) -> Option<Router> {
        self.pages.get().cloned()
    }

    pub(crate) fn shard(&self, name: &str) -> Option<&Arc<Shard>> {
        self.shards.iter().find(|shard| *shard.name == *name)
    }
}
