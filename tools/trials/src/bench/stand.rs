//! What every bench starts from: one server, one shard.

use crate::failure::Result;
use crate::options::Common;
use crate::postgres::Postgres;
use crate::process::{Databases, Longshored};
use crate::progress::say;
use crate::scratch::Scratch;

pub const SHARD: &str = "north";
const MEMORY: &str = "1GB";

/// Fields are dropped in this order.
#[derive(Debug)]
pub struct Stand {
    pub longshored: Longshored,
    pub postgres: Postgres,
    pub scratch: Scratch,
}

impl Stand {
    pub async fn build(common: &Common) -> Result<Self> {
        let scratch = Scratch::new()?;
        say("starting PostgreSQL");
        let postgres = Postgres::create(&scratch, "bench", MEMORY).await?;
        postgres.create_database("control").await?;
        postgres.create_database(SHARD).await?;
        let databases = Databases {
            control: postgres.url("control"),
            shards: vec![(SHARD.to_owned(), postgres.url(SHARD))],
        };
        let (path, logs) = (&common.longshored, common.logs.as_deref());
        let longshored = Longshored::new(path, &scratch, logs, &databases, 0)?;
        longshored.run(&["migrate"]).await?;
        Ok(Self {
            longshored,
            postgres,
            scratch,
        })
    }
}
