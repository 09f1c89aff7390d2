//! `trials servers`: the servers of `./dev up`, the tests and the browser tests.

use std::fs;
use std::path::Path;

use crate::harness::{
    FailureContext as _, Result, ScratchFolder, TrialClamdServer, TrialPostgresServer,
    TrialRedisServer, TrialSeaweedServer,
};
use crate::options::{CommonOptions, ServersOptions};

/// They are stopped on drop, and their data is removed.
#[derive(Debug)]
pub struct DevServers {
    postgres: TrialPostgresServer,
    redis: Option<TrialRedisServer>,
    object_store: Option<TrialSeaweedServer>,
    scanner: Option<TrialClamdServer>,
    _scratch: ScratchFolder,
}

impl DevServers {
    /// All servers work when this returns.
    pub async fn start(common: &CommonOptions, options: &ServersOptions) -> Result<Self> {
        let scratch = ScratchFolder::at(options.folder.clone())?;
        let (mut object_store, mut scanner, mut redis) = (None, None, None);
        if options.files {
            // It takes longest to start.
            let store = TrialSeaweedServer::start_without_waiting(&scratch, &common.weed)?;
            object_store = Some(store);
            scanner = Some(TrialClamdServer::create(&scratch).await?);
        }
        let postgres = TrialPostgresServer::create_for_tests(&scratch, options.throwaway).await?;
        if options.redis {
            redis = Some(TrialRedisServer::create(&scratch).await?);
        }
        if let Some(store) = &mut object_store {
            store.wait_until_working().await?;
        }
        Ok(Self {
            postgres,
            redis,
            object_store,
            scanner,
            _scratch: scratch,
        })
    }

    /// Writes the addresses as shell variables. The file appears when it is complete.
    pub fn write_env_file(&self, file: &Path) -> Result<()> {
        let server = self.postgres.url("");
        let mut lines = vec![(
            "POSTGRES_URL".to_owned(),
            server.trim_end_matches('/').to_owned(),
        )];
        let mut set = |name: &str, value| lines.push((format!("SVC_{name}"), value));
        if let Some(redis) = &self.redis {
            set("REDIS_URL", redis.url());
        }
        if let Some(scanner) = &self.scanner {
            set("SCANNER", format!("tcp://{}", scanner.address()));
        }
        if let Some(store) = &self.object_store {
            for (name, value) in store.settings(&store.bucket.host) {
                set(name, value);
            }
            lines.push(("OBJECTS_STORE".to_owned(), store.bucket.url_with_keys()));
        }
        let lines = lines.iter();
        let lines = lines.map(|(name, value)| format!("{name}={value}\n"));
        let text: String = lines.collect();
        let unfinished = file.with_extension("unfinished");
        fs::write(&unfinished, text).context("writing the addresses")?;
        fs::rename(&unfinished, file).context("writing the addresses")
    }
}
