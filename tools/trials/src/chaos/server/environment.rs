//! One shard whose only model runs on a real server behind a proxy; one `serve`, one `work`
//! process.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use sqlx::PgPool;

use crate::chaos::server::questions;
use crate::harness::callbacks::callback_sink::{CallbackSink, SinkOptions};
use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::longshored::longshored_process::{
    DatabaseUrls, LongshoredProcess, LongshoredProgram,
};
use crate::harness::longshored::org_setup;
use crate::harness::organization::TrialOrganization;
use crate::harness::progress::report_progress;
use crate::harness::relays::counting_proxy::CountingProxy;
use crate::harness::servers::llama::{self, LlamaServer};
use crate::harness::servers::postgres::TrialPostgresServer;
use crate::harness::servers::redis::TrialRedisServer;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::options::{ChaosServerOptions, CommonOptions};

const SHARD: &str = "north";
const POSTGRES_MEMORY: &str = "128MB";
const SETTINGS: [(&str, &str); 4] = [
    ("LEASE_SECONDS", "3"),
    ("BATCH_LINGER_MILLISECONDS", "500"),
    ("REDIS_BUDGET_MILLISECONDS", "2000"),
    ("CALLBACK_RETRY_DELAYS", "1,2,5,10,30"),
];

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct RealModelEnvironment {
    pub worker: LongshoredProcess,
    pub server: LongshoredProcess,
    pub longshored: LongshoredProgram,
    pub shards: Vec<(String, PgPool)>,
    pub organization: TrialOrganization,
    pub callback_sink: CallbackSink,
    pub proxy: CountingProxy,
    pub llama: LlamaServer,
    _postgres: TrialPostgresServer,
    _redis: TrialRedisServer,
    _scratch: ScratchFolder,
}

impl RealModelEnvironment {
    pub async fn build(common: &CommonOptions, options: &ChaosServerOptions) -> Result<Self> {
        let scratch = ScratchFolder::new()?;
        report_progress("starting PostgreSQL, Redis and a model");
        let mut llama = LlamaServer::new(options, &scratch)?;
        llama.start()?;
        let counter = CountingProxy::start(llama.address).await?;
        let postgres = TrialPostgresServer::create(&scratch, "server", POSTGRES_MEMORY).await?;
        let redis = TrialRedisServer::create(&scratch).await?;
        for name in ["control", SHARD] {
            postgres.create_database(name).await?;
        }
        let databases = DatabaseUrls {
            control: postgres.url("control"),
            shards: vec![(SHARD.to_owned(), postgres.url(SHARD))],
        };
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = LongshoredProgram::new(path, &scratch, logs, &databases, 1)?;
        longshored.set("REDIS_URL", &redis.url());
        for (name, value) in SETTINGS {
            longshored.set(name, value);
        }
        for (name, value) in write_provider_files(scratch.path(), counter.address)? {
            longshored.set(name, &value);
        }
        longshored.run(&["migrate"]).await?;
        let organizations = org_setup::create_organizations(&longshored, &[SHARD], 1).await?;
        let organization = organizations.into_iter().next();
        let mut serving = longshored.new_process("serve", "serve")?;
        let mut working = longshored.new_process("work", "work")?;
        serving.start()?;
        serving.wait_until_ready().await?;
        llama.wait_until_ready().await?;
        working.start()?;
        let sink = SinkOptions {
            keeps_bodies: true,
            ..SinkOptions::default()
        };
        Ok(Self {
            worker: working,
            server: serving,
            shards: vec![(SHARD.to_owned(), postgres.pool(SHARD))],
            organization: organization
                .ok_or_else(|| TrialFailure::new("there is no organization"))?,
            longshored,
            callback_sink: CallbackSink::start(sink).await?,
            proxy: counter,
            llama,
            _postgres: postgres,
            _redis: redis,
            _scratch: scratch,
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
