//! What the Files routes check before they use the object store: the plan and the store's health.

use std::time::Duration;

use domain::organization::Plan;
use outbound::health::{DependencyHealth, FilesHealth};
use outbound::object_store::ObjectStore;
use tokio::sync::watch;

use crate::api_error::FileApiError;
use crate::files::errors;

/// The settings for files.
#[derive(Debug, Clone, Copy)]
pub struct FileServiceOptions {
    /// Whether the free plan has files. It does not on the cloud service.
    pub allows_free_plan: bool,
    /// How long a complete request waits for the verdict.
    pub verdict_timeout: Duration,
    /// How long a presigned grant is valid.
    pub grant_lifetime: Duration,
}

/// The object store, if one is configured, and its health.
#[derive(Debug)]
pub struct FileService {
    objects: Option<ObjectStore>,
    health: watch::Receiver<FilesHealth>,
    options: FileServiceOptions,
}

impl FileService {
    pub fn new(
        objects: Option<ObjectStore>,
        health: watch::Receiver<FilesHealth>,
        options: FileServiceOptions,
    ) -> Self {
        Self {
            objects,
            health,
            options,
        }
    }

    /// For an installation without an object store.
    pub fn without_store(options: FileServiceOptions) -> Self {
        let (_, health) = watch::channel(FilesHealth::NOT_CONFIGURED);
        Self::new(None, health, options)
    }

    pub(crate) fn check_plan(&self, plan: Plan) -> Result<(), FileApiError> {
        if plan == Plan::Free && !self.options.allows_free_plan {
            return Err(errors::plan_without_files());
        }
        Ok(())
    }

    /// The object store, if it is healthy.
    pub(crate) fn object_store(&self) -> Result<&ObjectStore, FileApiError> {
        let health = self.health.borrow();
        match &self.objects {
            Some(objects) if health.store.is_healthy() => Ok(objects),
            Some(_) => Err(errors::store_unavailable(&health.store)),
            None => Err(errors::store_unavailable(&DependencyHealth::NotConfigured)),
        }
    }

    /// An unreachable scanner is accepted, because files wait for it. One that failed its check is
    /// not.
    pub(crate) fn check_scanner(&self) -> Result<(), FileApiError> {
        match &self.health.borrow().scanner {
            DependencyHealth::ProbeFailed(reason) => Err(errors::scanner_unavailable(reason)),
            DependencyHealth::Unknown
            | DependencyHealth::Healthy
            | DependencyHealth::Unreachable(_)
            | DependencyHealth::NotConfigured => Ok(()),
        }
    }

    pub(crate) fn health(&self) -> FilesHealth {
        self.health.borrow().clone()
    }

    pub(crate) const fn verdict_timeout(&self) -> Duration {
        self.options.verdict_timeout
    }

    pub(crate) const fn grant_lifetime(&self) -> Duration {
        self.options.grant_lifetime
    }
}
