//! One server, one shard, one Redis: what a trial of a few processes starts from.

use crate::failure::Result;
use crate::options::Common;
use crate::postgres::Postgres;
use crate::process::{Databases, Longshored};
use crate::progress::say;
use crate::redis::Redis;
use crate::scratch::Scratch;

pub const CONTROL: &str = "control";
pub const SHARD: &str = "north";
/// A bench must not measure a cache that is too small.
pub const BENCH_MEMORY: &str = "1GB";
pub const CHAOS_MEMORY: &str = "256MB";

/// Fields are dropped in this order.
#[derive(Debug)]
pub struct Stand {
    pub longshored: Longshored,
    pub redis: Redis,
    pub postgres: Postgres,
    pub scratch: Scratch,
}

impl Stand {
    pub async fn build(common: &Common, memory: &str) -> Result<Self> {
        let scratch = Scratch::new()?;
        say("starting PostgreSQL and Redis");
        let postgres = Postgres::create(&scratch, "stand", memory).await?;
        let redis = Redis::create(&scratch).await?;
        postgres.create_database(CONTROL).await?;
        postgres.create_database(SHARD).await?;
        let databases = Databases {
            control: postgres.url(CONTROL),
            shards: vec![(SHARD.to_owned(), postgres.url(SHARD))],
        };
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let mut longshored = Longshored::new(path, &scratch, logs, &databases, 0)?;
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
