//! The object store and the malware scanner of this process, and their health.

mod health_check;

use std::sync::Arc;

use api::files::{FileService, FileServiceOptions};
use domain::time::Clock;
use outbound::health::{DependencyHealth, FilesHealth};
use outbound::malware_scanner::{ClamdAddress, MalwareScanner};
use outbound::object_store::{
    self, ObjectStore, ObjectStoreCredentials, ObjectStoreSetupFailure, ObjectStoreTimeouts,
};
use outbound::probe::Prober;
use store::Control;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::files::health_check::FileHealthChecker;
use crate::settings;
use crate::settings::choice::{BucketStyle, Deployment, ObjectCredentials};
use crate::settings::files::ScannerAddress;
use crate::settings::table::SettingValues;
use crate::work;

/// Clients of the object store and of the scanner. They connect with the first call.
#[derive(Debug, Clone)]
pub struct FileBackends {
    pub objects: ObjectStore,
    pub scanner: MalwareScanner,
}

/// The backends, if files are configured, and their health.
#[derive(Debug)]
pub struct MonitoredFileBackends {
    backends: Option<FileBackends>,
    /// None in a process that parses no files.
    prober: Option<Prober>,
    sender: watch::Sender<FilesHealth>,
}

impl MonitoredFileBackends {
    pub fn open(
        values: &SettingValues,
        clock: Arc<dyn Clock>,
        prober: Option<Prober>,
    ) -> Result<Self, ObjectStoreSetupFailure> {
        let backends = open_backends(values, clock)?;
        let mut health = if backends.is_some() {
            FilesHealth::UNKNOWN
        } else {
            tracing::warn!("SVC_OBJECTS_URL is not set: files are disabled");
            FilesHealth::NOT_CONFIGURED
        };
        if prober.is_none() {
            health.probe = DependencyHealth::NotConfigured;
        }
        let (sender, _) = watch::channel(health);
        Ok(Self {
            backends,
            prober,
            sender,
        })
    }

    pub fn health(&self) -> watch::Receiver<FilesHealth> {
        self.sender.subscribe()
    }

    /// The file service of the API.
    pub fn file_service(&self, values: &SettingValues) -> FileService {
        let objects = self
            .backends
            .as_ref()
            .map(|backends| backends.objects.clone());
        let options = FileServiceOptions {
            allows_free_plan: values.deployment == Deployment::SelfHosted,
            verdict_timeout: values.complete_wait,
            grant_lifetime: values.upload_grant,
        };
        FileService::new(objects, self.health(), options)
    }

    /// The dependencies of the workers' file stages.
    pub fn for_workers(&self, values: &SettingValues) -> Option<workers::FileStageDeps> {
        let FileBackends { objects, scanner } = self.backends.clone()?;
        Some(work::file_stage_deps(
            objects,
            scanner,
            self.health(),
            values,
        ))
    }

    /// Checks the health of all until `stop`; `control` knows the id of this installation.
    pub async fn run_health_checks(&self, control: Control, stop: CancellationToken) {
        let Some(backends) = self.backends.clone() else {
            return;
        };
        let (prober, sender) = (self.prober.clone(), self.sender.clone());
        let checker = FileHealthChecker::new(backends, prober, control, sender);
        tokio::select! {
            () = checker.run() => {}
            () = stop.cancelled() => {}
        }
    }
}

/// None when the settings name no object store.
pub fn open_backends(
    values: &SettingValues,
    clock: Arc<dyn Clock>,
) -> Result<Option<FileBackends>, ObjectStoreSetupFailure> {
    // The settings require all of these together.
    let (Some(internal), Some(bucket), Some(scanner)) =
        (&values.objects_url, &values.objects_bucket, &values.scanner)
    else {
        return Ok(None);
    };
    let Some(credentials) = object_credentials(values)? else {
        return Ok(None);
    };
    let public = values.objects_public_url.as_ref().unwrap_or(internal);
    let options = object_store::Options {
        internal: internal.clone(),
        public: public.clone(),
        public_connect: values.objects_public_connect.clone(),
        bucket: bucket.clone(),
        region: values.objects_region.clone(),
        style: match values.objects_style {
            BucketStyle::Path => object_store::AddressingStyle::Path,
            BucketStyle::Virtual => object_store::AddressingStyle::Virtual,
        },
        credentials,
        prefix: values.objects_prefix.clone(),
        grant_lifetime: values.upload_grant,
        cors_origins: values.objects_cors_origins.0.clone(),
        timeouts: ObjectStoreTimeouts::default(),
    };
    let address = match scanner {
        ScannerAddress::Tcp(at) => ClamdAddress::Tcp(at.clone()),
        ScannerAddress::Unix(path) => ClamdAddress::Unix(path.clone()),
    };
    Ok(Some(FileBackends {
        objects: ObjectStore::new(options, clock)?,
        scanner: MalwareScanner::new(address, values.scan_timeout),
    }))
}

/// Static keys, or the role of this process. The settings require both keys together.
fn object_credentials(
    values: &SettingValues,
) -> Result<Option<ObjectStoreCredentials>, ObjectStoreSetupFailure> {
    match values.objects_credentials {
        ObjectCredentials::Static => {
            let keys = values.objects_access_key.as_ref();
            let keys = keys.zip(values.objects_secret_key.as_ref());
            Ok(keys.map(|(access_key, secret_key)| {
                let (access_key, secret_key) = (access_key.reveal(), secret_key.reveal());
                ObjectStoreCredentials::Static {
                    access_key: access_key.to_owned(),
                    secret_key: secret_key.to_owned(),
                }
            }))
        }
        ObjectCredentials::Environment => {
            let source = settings::object_credential_source(&values.objects_region);
            let source = source.map_err(ObjectStoreSetupFailure::CredentialSource)?;
            Ok(Some(ObjectStoreCredentials::Role(source)))
        }
    }
}
