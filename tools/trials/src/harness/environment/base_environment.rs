//! One database server, one shard, one Redis: the base of trials with few processes.

use crate::harness::failure::Result;
use crate::harness::longshored::longshored_process::{DatabaseUrls, LongshoredProgram};
use crate::harness::progress::report_progress;
use crate::harness::servers::postgres::TrialPostgresServer;
use crate::harness::servers::redis::TrialRedisServer;
use crate::harness::servers::scratch_folder::ScratchFolder;
use crate::options::CommonOptions;

pub const CONTROL: &str = "control";
pub const SHARD: &str = "north";
/// A bench must not measure a cache that is too small.
pub const BENCH_MEMORY: &str = "1GB";
pub const CHAOS_MEMORY: &str = "256MB";

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct BaseEnvironment {
    pub longshored: LongshoredProgram,
    pub redis: TrialRedisServer,
    pub postgres: TrialPostgresServer,
    pub scratch: ScratchFolder,
}

impl BaseEnvironment {
    pub async fn build(common: &CommonOptions, memory: &str) -> Result<Self> {
        let scratch = ScratchFolder::new()?;
        report_progress("starting PostgreSQL and Redis");
        let postgres = TrialPostgresServer::create(&scratch, "base", memory).await?;
        let redis = TrialRedisServer::create(&scratch).await?;
        postgres.create_database(CONTROL).await?;
        postgres.create_database(SHARD).await?;
        let databases = DatabaseUrls {
            control: postgres.url(CONTROL),
            shards: vec![(SHARD.to_owned(), postgres.url(SHARD))],
        };
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = LongshoredProgram::new(path, &scratch, logs, &databases, 0)?;
        longshored.set("REDIS_URL", &redis.url());
        longshored.run(&["migrate"]).await?;
        Ok(Self {
            longshored,
            redis,
            postgres,
            scratch,
        })
    }
}
