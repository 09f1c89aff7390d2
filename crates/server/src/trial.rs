//! `longshored trial`: single steps of the real code on real rows, timed for benches.

use std::error::Error;
use std::time::Instant;

use chrono::TimeDelta;
use clap::Subcommand;
use domain::id;
use serde_json::{Value, json};
use store::Shard;
use store::shard::tracking;
use uuid::Uuid;
use workers::stage::{Stage as _, Step};
use workers::{Crew, Packing};

use crate::catalogue::Shelf;
use crate::providers::Accounts;
use crate::providers::credential::Credentials;
use crate::settings::{self, Settings};
use crate::wiring;
use crate::work;

/// Over how long a time the stored cargo are looked for.
const SPREAD: TimeDelta = TimeDelta::hours(1);

#[derive(Debug, Subcommand)]
pub enum TrialCommand {
    /// Gather batch after batch on the first shard.
    Gather {
        #[arg(long)]
        count: usize,
        #[arg(long)]
        items: usize,
        /// The model whose lane is gathered; kept for the record, every free lane is.
        #[arg(long)]
        lane: String,
    },
    /// Look up stored cargo of the first shard, drawn at random.
    Tracking {
        #[arg(long)]
        count: usize,
    },
}

pub async fn run(command: TrialCommand, settings: &Settings) -> Result<Value, Box<dyn Error>> {
    let stores = wiring::connect_for_command(settings)?;
    let shard = stores.shards.first().ok_or("there is no shard")?;
    shard.clock.learn(store::doctor::now(&shard.pool).await?);
    match command {
        TrialCommand::Gather { count, items, lane } => {
            let accounts = Accounts::of(settings, Credentials::Read(&settings::credential))?;
            let shelf = Shelf::open(settings.values.models_file.clone(), accounts)?;
            let parts = work::parts(
                &stores,
                Uuid::from_u128(rand::random()),
                &shelf,
                None,
                &settings.values,
            )?;
            let mut parts = parts.into_iter().next().ok_or("there is no shard")?;
            parts.options.packing = Packing {
                most_items: items,
                linger: TimeDelta::zero(),
            };
            // Only gathering is measured: what is gathered goes nowhere.
            parts.options.account_slots.submissions = usize::MAX;
            let crew = Crew::join(parts).await?;
            Box::pin(gather(crew, shard, count, &lane)).await
        }
        TrialCommand::Tracking { count } => look_up(shard, count).await,
    }
}

async fn gather(
    mut crew: Crew,
    shard: &Shard,
    count: usize,
    lane: &str,
) -> Result<Value, Box<dyn Error>> {
    let (mut milliseconds, mut gathered) = (Vec::with_capacity(count), 0);
    for _ in 0..count {
        let asked = Instant::now();
        let step = crew.gather.step(shard.clock.now()).await?;
        milliseconds.push(asked.elapsed().as_secs_f64() * 1000.0);
        match step {
            Step::Did(items) => gathered += items,
            Step::Idle => break,
        }
    }
    crew.leave().await?;
    Ok(json!({ "milliseconds": milliseconds, "gathered": gathered, "lane": lane }))
}

async fn look_up(shard: &Shard, count: usize) -> Result<Value, Box<dyn Error>> {
    let mut milliseconds = Vec::with_capacity(count);
    for _ in 0..count {
        let back = TimeDelta::microseconds(rand::random_range(
            0..SPREAD.num_microseconds().unwrap_or(1),
        ));
        let near = id::floor(shard.clock.now() - back);
        let Some((cargo, project)) = tracking::at_or_after(shard, near).await? else {
            continue;
        };
        let asked = Instant::now();
        tracking::find(shard, project, cargo)
            .await?
            .ok_or("a stored cargo was not found")?;
        milliseconds.push(asked.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(json!({ "milliseconds": milliseconds }))
}
