//! Providers that answer one request per call: self-hosted servers, and accounts with a realtime
//! or flex tier.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use domain::file::MediaType;
use domain::route::Route;

use super::BatchItem;
use super::client::ProviderCallFailure;
use super::item_result::ItemResult;
use super::media::{MediaForm, MediaSource};

pub mod concurrency_limiter;

mod feature_probe;
mod openai_realtime;

pub use super::openai_compatible::ServerDialect;
pub use feature_probe::ProbedFeatures;
pub use openai_realtime::OpenAiRealtime;

#[async_trait]
pub trait RealtimeProvider: Send + Sync + fmt::Debug {
    /// Sends one item by the tier of the route.
    ///
    /// An `Err` is a failure of the provider. A fault of the item is an `Ok` with a failure. An
    /// indeterminate failure may have been billed.
    async fn complete_item(
        &self,
        item: &BatchItem,
        route: &Route,
        media: &dyn MediaSource,
        within: Duration,
    ) -> Result<ItemResult, ProviderCallFailure>;

    /// How the provider accepts a file of this type.
    fn media_form(&self, media_type: MediaType) -> MediaForm;

    async fn check_health(&self) -> Result<(), ProviderCallFailure>;

    /// The provider's names for its models.
    async fn list_models(&self) -> Result<BTreeSet<String>, ProviderCallFailure>;
}
