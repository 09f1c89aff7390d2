//! One shard whose only model runs on a real server behind a proxy; one `serve`, one `work`
//! process.

use crate::chaos::server::questions;
use crate::harness::longshored::config_files;
use crate::harness::servers::llama;
use crate::harness::{
    BaseEnvironment, CountingProxy, DatabaseLayout, Deployment, LlamaServer, Result,
    TrialEnvironment, TrialProviderAccount, TrialProviderModel, report_progress,
};
use crate::options::{ChaosServerOptions, CommonOptions};

const POSTGRES_MEMORY: &str = "128MB";
/// What the model can do, as in `models.toml`.
const FEATURES: &str =
    r#"tools = "parallel", forced_tools = true, structured_output = "without_tools""#;
const SETTINGS: [(&str, &str); 3] = [
    ("LEASE_SECONDS", "3"),
    ("BATCH_LINGER_MILLISECONDS", "500"),
    ("CALLBACK_RETRY_DELAYS", "1,2,5,10,30"),
];

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct RealModelEnvironment {
    pub service: TrialEnvironment,
    pub proxy: CountingProxy,
    pub llama: LlamaServer,
}

impl RealModelEnvironment {
    pub async fn build(common: &CommonOptions, options: &ChaosServerOptions) -> Result<Self> {
        let layout = DatabaseLayout::SingleShard;
        let mut base = BaseEnvironment::build(common, layout, POSTGRES_MEMORY).await?;
        report_progress("starting a model");
        let mut llama = LlamaServer::new(options, &base.scratch)?;
        llama.start()?;
        let proxy = CountingProxy::start(llama.address).await?;
        let account = TrialProviderAccount {
            name: "our-llama",
            kind: "server",
            base_url: format!("http://{}/v1", proxy.address),
            shard: None,
            limits: format!("questions = {}", llama::LLAMA_SLOTS),
            has_credential: false,
        };
        let model = TrialProviderModel {
            id: questions::MODEL,
            providers: vec!["our-llama"],
            upstream: llama::LLAMA_MODEL,
            is_priced: true,
            // Workers probe a server for the features of its models, which would slow down a trial
            // that does not need them.
            features: if options.schemas > 0 { FEATURES } else { "" },
        };
        let folder = base.scratch.path();
        for (name, value) in config_files::write_config_files(folder, &[account], &[model])? {
            base.longshored.set(name, &value);
        }
        let mut deployment = Deployment::one_serve("", 1)
            .with_organizations(1)
            .with_settings(&SETTINGS)
            .with_stopped_workers();
        deployment.sink.keeps_bodies = true;
        let mut service = TrialEnvironment::start(base, deployment).await?;
        llama.wait_until_ready().await?;
        service.start_workers()?;
        Ok(Self {
            service,
            proxy,
            llama,
        })
    }
}
