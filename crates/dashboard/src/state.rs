//! Shared state of all pages.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use chrono::TimeDelta;
use domain::callback_signature::SigningRoots;
use domain::id::{ApiKeyId, Berth, OrganizationId, PersonId, ProjectId};
use domain::model::Catalogue;
use domain::oidc::{ExternalIdentity, LoginAttempt};
use domain::organization::Plan;
use domain::plan_limits::LimitsByPlan;
use domain::request_buckets::RequestBuckets;
use domain::time::{Clock, Timestamp};
use store::{Control, Shard};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::live_streams::{LiveStreamLimits, LiveStreams};

/// The caller on whose behalf a page calls the API.
#[derive(Debug, Clone, Copy)]
pub struct CallerIdentity {
    pub organization: OrganizationId,
    pub project: ProjectId,
    /// Not a real key: cargo loaded from the dashboard is counted under the project's id.
    pub key: ApiKeyId,
    pub plan: Plan,
    pub berth: Berth,
}

/// The API, called in-process, so that pages pass the same checks, limits and holds.
#[async_trait::async_trait]
pub trait ApiService: Send + Sync + std::fmt::Debug {
    async fn call(&self, acting: CallerIdentity, request: Request) -> Response;
}

/// Single sign-on with an OIDC provider. Errors are messages for the user.
#[async_trait::async_trait]
pub trait IdentityProvider: Send + Sync + std::fmt::Debug {
    async fn authorization_url(&self, attempt: &LoginAttempt) -> Result<String, String>;

    async fn exchange_code(
        &self,
        code: &str,
        attempt: &LoginAttempt,
        now: Timestamp,
    ) -> Result<ExternalIdentity, String>;
}

/// Dependencies of the dashboard.
#[derive(Debug)]
pub struct DashboardDeps {
    pub control: Control,
    pub shards: Vec<Arc<Shard>>,
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    pub limits: watch::Receiver<LimitsByPlan>,
    /// The clock of the control database.
    pub clock: Arc<dyn Clock>,
    pub api: Arc<dyn ApiService>,
    /// None if users sign in with passwords only.
    pub identity_provider: Option<Arc<dyn IdentityProvider>>,
    /// Ends all live streams at shutdown.
    pub stop: CancellationToken,
    pub live_streams: LiveStreamLimits,
    pub options: Options,
}

/// Settings of the dashboard.
#[derive(Debug, Clone)]
pub struct Options {
    /// The base URL for browsers, without a trailing slash.
    pub public_url: String,
    /// The object store's origin. Browsers may send requests to it and to our own origin only.
    pub store_origin: Option<String>,
    /// The plan of the organization that setup creates.
    pub setup_plan: Plan,
    /// How long a lane waits for more cargo before it sends a batch that is not full.
    pub batch_linger: TimeDelta,
    pub sign_in: SignInPolicy,
    /// The secrets of signed callbacks are derived from them. None: signing cannot be turned on.
    pub signing_roots: Option<SigningRoots>,
    /// How many days the installation keeps cargo. A project may choose fewer.
    pub retention_days: u32,
    /// Requests of each person, without the refreshes of live pages.
    pub requests_per_minute: u32,
}

/// How people sign in, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct SignInPolicy {
    /// A session ends this long after sign-in, however often it is used.
    pub session_lifetime: TimeDelta,
    /// Passwords are not accepted: people sign in with single sign-on.
    pub is_sso_only: bool,
    pub second_factor: SecondFactorPolicy,
}

/// Who must sign in with a second factor. An organization can require it of its members too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SecondFactorPolicy {
    #[default]
    Optional,
    Operators,
    Everyone,
}

impl Default for SignInPolicy {
    fn default() -> Self {
        Self {
            session_lifetime: TimeDelta::days(30),
            is_sso_only: false,
            second_factor: SecondFactorPolicy::default(),
        }
    }
}

impl Options {
    /// Whether browsers connect over HTTPS.
    pub(crate) fn is_secure(&self) -> bool {
        self.public_url.starts_with("https://")
    }
}

#[derive(Debug, Clone)]
pub struct DashboardState(Arc<DashboardStateInner>);

#[derive(Debug)]
pub struct DashboardStateInner {
    pub(crate) control: Control,
    pub(crate) shards: Vec<Arc<Shard>>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) limits: watch::Receiver<LimitsByPlan>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) api: Arc<dyn ApiService>,
    pub(crate) identity_provider: Option<Arc<dyn IdentityProvider>>,
    pub(crate) live_streams: Arc<LiveStreams>,
    pub(crate) request_buckets: RequestBuckets<PersonId>,
    pub(crate) options: Options,
    /// Renders pages for live streams.
    router: OnceLock<Router>,
    /// Limits concurrent password hashing, which needs much memory and CPU.
    pub(crate) password_hash_permits: Semaphore,
}

impl Deref for DashboardState {
    type Target = DashboardStateInner;

    fn deref(&self) -> &DashboardStateInner {
        &self.0
    }
}

impl DashboardState {
    pub fn new(parts: DashboardDeps) -> Self {
        Self(Arc::new(DashboardStateInner {
            control: parts.control,
            shards: parts.shards,
            catalogue: parts.catalogue,
            limits: parts.limits,
            clock: parts.clock,
            api: parts.api,
            identity_provider: parts.identity_provider,
            live_streams: LiveStreams::new(parts.live_streams, parts.stop),
            request_buckets: RequestBuckets::new(parts.options.requests_per_minute),
            options: parts.options,
            router: OnceLock::new(),
            password_hash_permits: Semaphore::new(2),
        }))
    }

    /// Called once, when the router is built.
    pub(crate) fn set_router(&self, pages: Router) {
        // A second call would pass the same router.
        let _ = self.router.set(pages);
    }

    pub(crate) fn router(&self) -> Option<Router> {
        self.router.get().cloned()
    }

    pub(crate) fn shard(&self, name: &str) -> Option<&Arc<Shard>> {
        self.shards.iter().find(|shard| *shard.name == *name)
    }
}
