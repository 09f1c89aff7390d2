//! Database servers, databases, Redis and the program under test: what every trial starts with.

use std::sync::Arc;

use sqlx::PgPool;

use crate::harness::environment::databases::{self, CHAOS_MEMORY, DatabaseLayout};
use crate::harness::environment::org_factory;
use crate::harness::longshored::org_setup;
use crate::harness::servers::postgres;
use crate::harness::{
    DatabaseUrls, FailureContext as _, LongshoredProgram, Result, ScratchFolder, TrialOrganization,
    TrialPostgresServer, TrialRedisServer, report_progress,
};
use crate::options::CommonOptions;

/// More organizations than this are copied by SQL, if there is one shard.
const MAX_CREATED_ORGANIZATIONS: usize = 20;

/// One master key: the bytes 0 to 31.
const MASTER_KEYS: &str = "trial AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct BaseEnvironment {
    pub longshored: LongshoredProgram,
    pub urls: DatabaseUrls,
    pub shards: Vec<(String, PgPool)>,
    pub redis: TrialRedisServer,
    pub postgres: Vec<TrialPostgresServer>,
    pub scratch: Arc<ScratchFolder>,
}

impl BaseEnvironment {
    /// New servers with migrated databases. The mock provider answers at once.
    pub async fn build(
        common: &CommonOptions,
        layout: DatabaseLayout,
        memory: &str,
    ) -> Result<Self> {
        let scratch = Arc::new(ScratchFolder::new()?);
        Self::build_in(scratch, common, layout, memory).await
    }

    /// The same with the memory of a chaos trial.
    pub async fn build_for_chaos(common: &CommonOptions, layout: DatabaseLayout) -> Result<Self> {
        Self::build(common, layout, CHAOS_MEMORY).await
    }

    /// The same in a folder that other servers use too.
    pub async fn build_in(
        scratch: Arc<ScratchFolder>,
        common: &CommonOptions,
        layout: DatabaseLayout,
        memory: &str,
    ) -> Result<Self> {
        report_progress("starting PostgreSQL and Redis");
        let mut postgres = Vec::new();
        for name in layout.server_names() {
            postgres.push(TrialPostgresServer::create(&scratch, name, memory).await?);
        }
        Self::on_servers(scratch, common, layout, postgres).await
    }

    /// The same on database servers that already run.
    pub async fn on_servers(
        scratch: Arc<ScratchFolder>,
        common: &CommonOptions,
        layout: DatabaseLayout,
        postgres: Vec<TrialPostgresServer>,
    ) -> Result<Self> {
        let (urls, shards) = databases::create_databases(&postgres, layout).await?;
        let base = Self::on_databases(scratch, common, urls, shards).await?;
        Ok(Self { postgres, ..base })
    }

    /// The same with empty databases on servers that the trial runs itself.
    pub async fn on_databases(
        scratch: Arc<ScratchFolder>,
        common: &CommonOptions,
        urls: DatabaseUrls,
        shards: Vec<(String, PgPool)>,
    ) -> Result<Self> {
        let redis = TrialRedisServer::create(&scratch).await?;
        let mut longshored = LongshoredProgram::new(common, &scratch, &urls)?;
        longshored.set("REDIS_URL", &redis.url());
        longshored.run(&["migrate"]).await?;
        Ok(Self {
            longshored,
            urls,
            shards,
            redis,
            postgres: Vec::new(),
            scratch,
        })
    }

    /// Gives the service a master key and switches encryption on, before its processes start.
    pub async fn enable_encryption(&mut self) -> Result<()> {
        let path = self.scratch.join("master-keys");
        std::fs::write(&path, MASTER_KEYS).context("writing the file of master keys")?;
        let path = path.display().to_string();
        self.longshored.set("MASTER_KEY_FILE", &path);
        let enable = ["admin", "encryption", "enable"];
        self.longshored.run(&enable).await.map(|_| ())
    }

    /// The only database server, or the first one.
    pub fn database_server(&self) -> Result<&TrialPostgresServer> {
        postgres::first_server(&self.postgres)
    }

    /// Organizations without limits, assigned to the shards in turn.
    pub async fn create_organizations(&self, count: usize) -> Result<Vec<TrialOrganization>> {
        report_progress(format!("creating {count} organizations"));
        let shards: Vec<&str> = self.shards.iter().map(|(name, _)| name.as_str()).collect();
        let is_copied = shards.len() == 1 && count > MAX_CREATED_ORGANIZATIONS;
        let created = if is_copied { 1 } else { count };
        let created = org_setup::create_organizations(&self.longshored, &shards, created).await?;
        match created.as_slice() {
            [first] if is_copied => {
                let server = self.database_server()?;
                org_factory::copy_organization(server, first.clone(), count - 1).await
            }
            _ => Ok(created),
        }
    }
}
