//! The environment of trials with files: databases, store, scanner, one `serve` and some `work`
//! processes.

use std::sync::Arc;
use std::time::Duration;

use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::databases::{CHAOS_MEMORY, DatabaseLayout};
use crate::harness::environment::deployment::Deployment;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::{
    FREE_MODEL, FailureContext as _, FaultyRelay, FilesClient, HttpClient, PollLimits, Result,
    SampleFile, ScratchFolder, TrialClamdServer, TrialSeaweedServer, UploadContent,
    report_progress,
};
use crate::options::CommonOptions;

/// The service probes store and scanner before it accepts files.
const FILES_READY_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(100));

/// The servers of a trial with files, before the service starts.
#[derive(Debug)]
pub struct FilesServers {
    pub base: BaseEnvironment,
    store_relay: FaultyRelay,
    scanner_relay: FaultyRelay,
    object_store: TrialSeaweedServer,
    scanner: TrialClamdServer,
    scratch: Arc<ScratchFolder>,
}

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct FilesEnvironment {
    pub service: TrialEnvironment,
    /// One for each organization.
    pub clients: Vec<FilesClient>,
    /// Between the service and the store; callers reach the store directly.
    pub store_relay: FaultyRelay,
    /// Between the service and the scanner.
    pub scanner_relay: FaultyRelay,
    pub object_store: TrialSeaweedServer,
    pub scanner: TrialClamdServer,
    _scratch: Arc<ScratchFolder>,
}

impl FilesServers {
    pub async fn start(common: &CommonOptions) -> Result<Self> {
        let scratch = Arc::new(ScratchFolder::new()?);
        report_progress("starting SeaweedFS and clamd");
        // It takes longest to start.
        let mut objects = TrialSeaweedServer::start_without_waiting(&scratch, &common.weed)?;
        let scanner = TrialClamdServer::create(&scratch).await?;
        let layout = DatabaseLayout::SharedServer;
        let folder = Arc::clone(&scratch);
        let mut base = BaseEnvironment::build_in(folder, common, layout, CHAOS_MEMORY).await?;
        objects.wait_until_working().await?;
        let to_store = FaultyRelay::start(([127, 0, 0, 1], objects.port()).into()).await?;
        let to_scanner = FaultyRelay::start(scanner.address()).await?;
        for (name, value) in objects.settings(&to_store.address.to_string()) {
            base.longshored.set(name, &value);
        }
        let scanner_url = format!("tcp://{}", to_scanner.address);
        base.longshored.set("SCANNER", &scanner_url);
        Ok(Self {
            base,
            store_relay: to_store,
            scanner_relay: to_scanner,
            object_store: objects,
            scanner,
            scratch,
        })
    }
}

impl FilesEnvironment {
    pub async fn build(common: &CommonOptions, deployment: Deployment) -> Result<Self> {
        Self::start(FilesServers::start(common).await?, deployment).await
    }

    /// A file can become ready when this returns.
    pub async fn start(servers: FilesServers, mut deployment: Deployment) -> Result<Self> {
        deployment.models = vec![FREE_MODEL.to_owned()];
        let service = TrialEnvironment::start(servers.base, deployment).await?;
        let (http, address) = (HttpClient::default(), service.server()?.address());
        let organizations = service.callers.organizations.iter();
        let clients = organizations.map(|it| FilesClient::new(http.clone(), address, &it.api_key));
        let environment = Self {
            clients: clients.collect(),
            store_relay: servers.store_relay,
            scanner_relay: servers.scanner_relay,
            object_store: servers.object_store,
            scanner: servers.scanner,
            _scratch: servers.scratch,
            service,
        };
        environment.wait_until_files_work().await?;
        Ok(environment)
    }

    pub fn first_client(&self) -> Result<&FilesClient> {
        let first = self.clients.first();
        first.context("there is no client that can upload")
    }

    async fn wait_until_files_work(&self) -> Result<()> {
        let client = self.first_client()?;
        let content = UploadContent::from(SampleFile::nth(0));
        let upload = async || Ok(client.upload_and_complete(&content).await.err());
        let failed = FILES_READY_LIMITS
            .read_until(Option::is_none, upload)
            .await?;
        failed.map_or(Ok(()), |failed| {
            let what = format!("accepts no file: {failed}");
            Err(self.service.server()?.child.failure(&what))
        })
    }
}
