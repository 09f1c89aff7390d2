//! One shard whose only model runs on a real server behind a proxy; one `serve`, one `work`
//! process.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::chaos::server::questions;
use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::databases::DatabaseLayout;
use crate::harness::environment::deployment::Deployment;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::progress::report_progress;
use crate::harness::relays::counting_proxy::CountingProxy;
use crate::harness::servers::llama::{self, LlamaServer};
use crate::options::{ChaosServerOptions, CommonOptions};

const POSTGRES_MEMORY: &str = "128MB";
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
        for (name, value) in write_provider_files(base.scratch.path(), proxy.address)? {
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

/// Writes `providers.toml` and `models.toml` as docs/providers.md describes.
fn write_provider_files(folder: &Path, server: SocketAddr) -> Result<[(&'static str, String); 2]> {
    let providers = format!(
        "[[provider]]\nname = \"our-llama\"\nkind = \"server\"\n\
         base_url = \"http://{server}/v1\"\nlimits = {{ questions = {} }}\n",
        llama::LLAMA_SLOTS
    );
    let models = format!(
        "[[model]]\nid = \"{}\"\nprovider = \"our-llama\"\nupstream = \"{}\"\nkind = \"chat\"\n\
         price = {{ batch = {{ input = \"0.10\", output = \"0.40\" }} }}\n",
        questions::MODEL,
        llama::LLAMA_MODEL
    );
    let write = |name: &str, text: String| {
        let file = folder.join(name);
        fs::write(&file, text).context(format!("writing {name}"))?;
        Ok(file.display().to_string())
    };
    Ok([
        ("PROVIDERS_FILE", write("providers.toml", providers)?),
        ("MODELS_FILE", write("smollm2.toml", models)?),
    ])
}
