//! `longshored trial`: times single steps of the real code on real rows, for benchmarks.

use std::error::Error;
use std::time::Instant;

use chrono::TimeDelta;
use clap::Subcommand;
use domain::id;
use serde_json::{Value, json};
use store::Shard;
use store::shard::tracking;
use uuid::Uuid;
use workers::stage::{Stage as _, StepResult};
use workers::{PackingLimits, WorkerSet};

use crate::catalogue::CatalogueStore;
use crate::databases;
use crate::providers::ProviderAccounts;
use crate::providers::credential::CredentialAccess;
use crate::settings::{self, Settings};
use crate::work;

/// Looked-up cargo are drawn from this time before now.
const LOOKUP_WINDOW: TimeDelta = TimeDelta::hours(1);

#[derive(Debug, Subcommand)]
pub enum TrialCommand {
    /// Gather batch after batch on the first shard.
    Gather {
        #[arg(long)]
        count: usize,
        #[arg(long)]
        items: usize,
        /// The model whose lane is measured. Only recorded: every free lane is gathered.
        #[arg(long)]
        lane: String,
    },
    /// Look up random cargo of the first shard.
    Tracking {
        #[arg(long)]
        count: usize,
    },
}

pub async fn run(command: TrialCommand, settings: &Settings) -> Result<Value, Box<dyn Error>> {
    let stores = databases::connect_for_command(settings)?;
    let shard = stores.shards.first().ok_or("there is no shard")?;
    shard
        .clock
        .synchronize(store::doctor::read_server_time(&shard.pool).await?);
    match command {
        TrialCommand::Gather { count, items, lane } => {
            let accounts = ProviderAccounts::from_settings(
                settings,
                CredentialAccess::Read(&settings::credential_variable),
            )?;
            let catalogue = CatalogueStore::open(settings.values.models_file.clone(), accounts)?;
            let parts = work::worker_set_deps(
                &stores,
                Uuid::from_u128(rand::random()),
                &catalogue,
                None,
                &settings.values,
            )?;
            let mut parts = parts.into_iter().next().ok_or("there is no shard")?;
            parts.options.packing = PackingLimits {
                max_items: items,
                linger: TimeDelta::zero(),
            };
            // Only gathering is measured: no limit on batches that wait for dispatch.
            parts.options.account_slots.submissions = usize::MAX;
            let workers = WorkerSet::join(parts).await?;
            Box::pin(time_gather(workers, shard, count, &lane)).await
        }
        TrialCommand::Tracking { count } => time_tracking(shard, count).await,
    }
}

async fn time_gather(
    mut workers: WorkerSet,
    shard: &Shard,
    count: usize,
    lane: &str,
) -> Result<Value, Box<dyn Error>> {
    let (mut milliseconds, mut gathered) = (Vec::with_capacity(count), 0);
    for _ in 0..count {
        let started = Instant::now();
        let step = workers.gather.step(shard.clock.now()).await?;
        milliseconds.push(started.elapsed().as_secs_f64() * 1000.0);
        match step {
            StepResult::Processed(items) => gathered += items,
            StepResult::Idle => break,
        }
    }
    workers.leave().await?;
    Ok(json!({ "milliseconds": milliseconds, "gathered": gathered, "lane": lane }))
}

async fn time_tracking(shard: &Shard, count: usize) -> Result<Value, Box<dyn Error>> {
    let mut milliseconds = Vec::with_capacity(count);
    for _ in 0..count {
        let back = TimeDelta::microseconds(rand::random_range(
            0..LOOKUP_WINDOW.num_microseconds().unwrap_or(1),
        ));
        let near = id::first_id_at(shard.clock.now() - back);
        let Some((cargo, project)) = tracking::find_at_or_after(shard, near).await? else {
            continue;
        };
        let started = Instant::now();
        tracking::find(shard, project, cargo)
            .await?
            .ok_or("a stored cargo was not found")?;
        milliseconds.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(json!({ "milliseconds": milliseconds }))
}
