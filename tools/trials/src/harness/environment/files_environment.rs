//! The environment of trials with files: databases, store, scanner, one `serve` and some `work`
//! processes.

use std::sync::Arc;
use std::time::Duration;

use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::databases::{CHAOS_MEMORY, DatabaseLayout};
use crate::harness::environment::deployment::Deployment;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::failure::{Result, TrialFailure};
use crate::harness::http::files_client::FilesClient;
use crate::harness::http::http_client::HttpClient;
use crate::harness::longshored::catalogue::FREE_MODEL;
use crate::harness::polling::PollLimits;
use crate::harness::progress::report_progress;
use crate::harness::relays::faulty_relay::FaultyRelay;
use crate::harness::sample_files::SampleFile;
use crate::harness::sample_files::upload_content::UploadContent;
use crate::harness::servers::clamd::TrialClamdServer;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::harness::servers::seaweedfs::TrialSeaweedServer;
use crate::options::CommonOptions;

/// The service probes store and scanner before it accepts files.
const FILES_READY_LIMITS: PollLimits =
    PollLimits::new(Duration::from_secs(30), Duration::from_millis(100));

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

impl FilesEnvironment {
    /// A file can become ready when this returns.
    pub async fn build(common: &CommonOptions, mut deployment: Deployment) -> Result<Self> {
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
        deployment.models = vec![FREE_MODEL.to_owned()];
        let service = TrialEnvironment::start(base, deployment).await?;
        let (http, address) = (HttpClient::default(), service.server()?.address());
        let organizations = service.callers.organizations.iter();
        let clients = organizations.map(|it| FilesClient::new(http.clone(), address, &it.api_key));
        let environment = Self {
            clients: clients.collect(),
            service,
            store_relay: to_store,
            scanner_relay: to_scanner,
            object_store: objects,
            scanner,
            _scratch: scratch,
        };
        environment.wait_until_files_work().await?;
        Ok(environment)
    }

    pub fn first_client(&self) -> Result<&FilesClient> {
        let first = self.clients.first();
        first.ok_or_else(|| TrialFailure::new("there is no client that can upload"))
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
