//! What the stages of files need besides the rows.

use chrono::TimeDelta;
use domain::id::FileId;
use outbound::health::FilesHealth;
use outbound::objects::{Failure, Objects};
use outbound::probe::Prober;
use outbound::scanner::Scanner;
use tokio::sync::watch;

/// Without it the stages of files have nothing to do.
#[derive(Debug, Clone)]
pub struct Files {
    pub objects: Objects,
    pub scanner: Scanner,
    pub prober: Prober,
    pub slots: Slots,
    /// How long an upload session may stay open.
    pub abandon: TimeDelta,
    /// How often the store is compared with the rows.
    pub patrol: TimeDelta,
    /// How old what no row knows must be: [`domain::patrol::GRACE`] but in tests.
    pub grace: TimeDelta,
    pub health: watch::Receiver<FilesHealth>,
}

/// How many files this node verifies at once.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    pub small: usize,
    pub large: usize,
}

impl Files {
    /// Bytes are removed only from a store that is known to be the right one.
    pub(crate) fn store_is_well(&self) -> bool {
        self.health.borrow().store.is_well()
    }

    /// Empties the staging place of a file that is settled.
    pub(crate) async fn unstage(&self, file: FileId, upload: Option<&str>) -> Result<(), Failure> {
        if let Some(upload) = upload {
            self.objects.abort_multipart(file, upload).await?;
        }
        self.objects.delete(&self.objects.staging(file)).await
    }
}
