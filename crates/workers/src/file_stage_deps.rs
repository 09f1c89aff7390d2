//! The dependencies of scan, patrol and the file sweep besides the rows.

use chrono::TimeDelta;
use domain::id::FileId;
use outbound::health::FilesHealth;
use outbound::malware_scanner::MalwareScanner;
use outbound::object_store::{ObjectStore, ObjectStoreFailure};
use outbound::probe::Prober;
use tokio::sync::watch;

/// Without it scan, patrol and the file sweep do nothing.
#[derive(Debug, Clone)]
pub struct FileStageDeps {
    pub objects: ObjectStore,
    pub scanner: MalwareScanner,
    pub prober: Prober,
    pub slots: ScanSlots,
    /// How long an upload session may stay open.
    pub abandon_after: TimeDelta,
    /// How often the store is compared with the rows.
    pub patrol_interval: TimeDelta,
    /// How old unknown objects must be to be removed: [`domain::patrol::UNKNOWN_OBJECT_GRACE`] except in tests.
    pub grace: TimeDelta,
    pub health: watch::Receiver<FilesHealth>,
}

/// How many files this node verifies at once.
#[derive(Debug, Clone, Copy)]
pub struct ScanSlots {
    pub small: usize,
    pub large: usize,
}

impl FileStageDeps {
    /// Whether bytes may be removed: only from an object store that passes its health check.
    pub(crate) fn is_store_healthy(&self) -> bool {
        self.health.borrow().store.is_healthy()
    }

    /// Removes the staged bytes of a file that is ready or failed.
    pub(crate) async fn clear_staging(
        &self,
        file: FileId,
        upload: Option<&str>,
    ) -> Result<(), ObjectStoreFailure> {
        if let Some(upload) = upload {
            self.objects.abort_multipart(file, upload).await?;
        }
        self.objects.delete(&self.objects.staging_key(file)).await
    }
}
