//! The object store and the scanner of this process: made once, watched all the time.

mod watcher;

use std::sync::Arc;

use api::harbour::{Desk, FilesOptions};
use domain::time::Clock;
use outbound::health::FilesHealth;
use outbound::objects::{self, Objects, Patience, SetupFailure};
use outbound::scanner::{Address, Scanner};
use store::Control;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::files::watcher::Watcher;
use crate::settings::choice::{Deployment, Style};
use crate::settings::files::ScannerAddress;
use crate::settings::table::Values;
use crate::work;

/// Where files lie, and who scans them. Nothing is connected before it is asked.
#[derive(Debug, Clone)]
pub struct Harbour {
    pub objects: Objects,
    pub scanner: Scanner,
}

/// A harbour, if there is one, and how it is.
#[derive(Debug)]
pub struct Files {
    harbour: Option<Harbour>,
    sender: watch::Sender<FilesHealth>,
}

impl Files {
    pub fn open(values: &Values, clock: Arc<dyn Clock>) -> Result<Self, SetupFailure> {
        let harbour = harbour(values, clock)?;
        let health = if harbour.is_some() {
            FilesHealth::UNKNOWN
        } else {
            tracing::warn!("SVC_OBJECTS_URL is not set: there are no files");
            FilesHealth::ABSENT
        };
        let (sender, _) = watch::channel(health);
        Ok(Self { harbour, sender })
    }

    pub fn health(&self) -> watch::Receiver<FilesHealth> {
        self.sender.subscribe()
    }

    /// What the API asks.
    pub fn desk(&self, values: &Values) -> Desk {
        let objects = self.harbour.as_ref().map(|harbour| harbour.objects.clone());
        let options = FilesOptions {
            free_plan: values.deployment == Deployment::SelfHosted,
            complete_wait: values.complete_wait,
        };
        Desk::new(objects, self.health(), options)
    }

    /// What the stages of files need.
    pub fn for_workers(&self, values: &Values) -> Option<workers::Files> {
        let Harbour { objects, scanner } = self.harbour.clone()?;
        Some(work::files(objects, scanner, self.health(), values))
    }

    /// Looks after both until told to stop; `control` knows who we are to a store.
    pub async fn watch(&self, control: Control, stop: CancellationToken) {
        let Some(harbour) = self.harbour.clone() else {
            return;
        };
        let watcher = Watcher::new(harbour, control, self.sender.clone());
        tokio::select! {
            () = watcher.run() => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Nothing when the settings name no store.
pub fn harbour(values: &Values, clock: Arc<dyn Clock>) -> Result<Option<Harbour>, SetupFailure> {
    // The settings take no store without all of these.
    let (Some(internal), Some(bucket), Some(access_key), Some(secret_key), Some(scanner)) = (
        &values.objects_url,
        &values.objects_bucket,
        &values.objects_access_key,
        &values.objects_secret_key,
        &values.scanner,
    ) else {
        return Ok(None);
    };
    let public = values.objects_public_url.as_ref().unwrap_or(internal);
    let options = objects::Options {
        internal: internal.clone(),
        public: public.clone(),
        bucket: bucket.clone(),
        region: values.objects_region.clone(),
        style: match values.objects_style {
            Style::Path => objects::Style::Path,
            Style::Virtual => objects::Style::Virtual,
        },
        access_key: access_key.reveal().to_owned(),
        secret_key: secret_key.reveal().to_owned(),
        prefix: values.objects_prefix.clone(),
        grant: values.upload_grant,
        origins: values.objects_cors_origins.0.clone(),
        patience: Patience::default(),
    };
    let address = match scanner {
        ScannerAddress::Tcp(at) => Address::Tcp(at.clone()),
        ScannerAddress::Unix(path) => Address::Unix(path.clone()),
    };
    Ok(Some(Harbour {
        objects: Objects::new(options, clock)?,
        scanner: Scanner::new(address, values.scan_timeout),
    }))
}
