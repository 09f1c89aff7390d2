//! `longshored migrate`: creates or upgrades the schema of control and of every shard.

use std::io::{self, Write as _};

use clap::Args;
use store::Pool;
use store::control::berth::{self, BerthAssignment};
use store::migrate::{SchemaName, StepProgress};

use crate::databases::{self, DatabaseAddressFailure, Stores};
use crate::settings::Settings;

#[derive(Debug, Clone, Copy, Args)]
pub struct MigrateOptions {
    /// Change nothing: show what is applied and what is left to do. The exit code is 1 if anything is.
    #[arg(long)]
    pub status: bool,
    /// Print the status as one JSON object instead of text.
    #[arg(long, requires = "status")]
    pub json: bool,
    /// Leave the online steps to a later run. Processes work without them.
    #[arg(long, conflicts_with = "status")]
    pub without_steps: bool,
    /// Apply at most this many migrations to each schema, and no online steps.
    #[arg(long, value_name = "COUNT", hide = true, conflicts_with = "status")]
    pub at_most: Option<usize>,
}

#[derive(Debug, thiserror::Error)]
pub enum MigrateFailure {
    #[error(transparent)]
    Address(#[from] DatabaseAddressFailure),
    #[error("the migration of {name} failed; `longshored doctor` says more")]
    Database { name: String, source: store::Error },
    #[error("the progress cannot be printed")]
    Output(#[from] io::Error),
}

/// Prints a line per completed part. Running it again changes nothing, and continues what was
/// interrupted.
pub async fn run(settings: &Settings, options: &MigrateOptions) -> Result<(), MigrateFailure> {
    let stores = databases::connect_for_command(settings)?;
    if let Some(at_most) = options.at_most {
        for (name, pool, schema) in schemas(&stores) {
            let applied = store::migrate::apply(pool, schema, at_most).await;
            applied.map_err(|source| MigrateFailure::Database { name, source })?;
        }
        return Ok(());
    }
    apply_migrations(&stores, settings).await?;
    // Last: an organization needs a shard that is ready.
    say(&assign_berths(&stores).await?)?;
    if options.without_steps {
        return say("the online steps are left to a later run");
    }
    for (name, pool, schema) in schemas(&stores) {
        let report = |progress: StepProgress<'_>| report_step(&name, progress);
        let finished = store::migrate::finish_steps(pool, schema, &report).await;
        finished.map_err(|source| MigrateFailure::Database {
            name: name.clone(),
            source,
        })?;
        say(&format!("the online steps of {name} are finished"))?;
    }
    Ok(())
}

/// Control and every shard, by name.
pub fn schemas(stores: &Stores) -> Vec<(String, &Pool, SchemaName)> {
    let control = (
        "control".to_owned(),
        &stores.control.pool,
        SchemaName::Control,
    );
    let shards = stores.shards.iter();
    let shards = shards.map(|it| (format!("shard {}", it.name), &it.pool, SchemaName::Shard));
    [control].into_iter().chain(shards).collect()
}

/// Tries each shard's address before its pool, because the pool would wait and then hide the cause.
async fn apply_migrations(stores: &Stores, settings: &Settings) -> Result<(), MigrateFailure> {
    let control = store::migrate::control(&stores.control).await;
    control.map_err(control_failure)?;
    say("control is migrated")?;
    for (shard, address) in stores.shards.iter().zip(&settings.databases.shards) {
        let name = format!("shard {}", shard.name);
        let fail = |source| MigrateFailure::Database {
            name: name.clone(),
            source,
        };
        store::doctor::try_connect(address.url.reveal())
            .await
            .map_err(fail)?;
        // Partitions follow the shard's clock, which may differ from this host's.
        let now = store::doctor::read_server_time(&shard.pool)
            .await
            .map_err(fail)?;
        shard.clock.synchronize(now);
        store::migrate::shard(shard, shard.clock.now())
            .await
            .map_err(fail)?;
        say(&format!("{name} is migrated"))?;
    }
    Ok(())
}

async fn assign_berths(stores: &Stores) -> Result<String, MigrateFailure> {
    let names: Vec<_> = stores
        .shards
        .iter()
        .map(|shard| shard.name.clone())
        .collect();
    let now = store::doctor::read_server_time(&stores.control.pool)
        .await
        .map_err(control_failure)?;
    let assigned = berth::assign(&stores.control, &names, now)
        .await
        .map_err(control_failure)?;
    Ok(match assigned {
        BerthAssignment::Assigned => format!("berths are assigned to {}", names.join(", ")),
        BerthAssignment::AlreadyAssigned => "berths keep their shards".to_owned(),
    })
}

fn control_failure(source: store::Error) -> MigrateFailure {
    MigrateFailure::Database {
        name: "control".to_owned(),
        source,
    }
}

fn report_step(database: &str, progress: StepProgress<'_>) {
    let StepProgress { step, text } = progress;
    tracing::info!(database, step, text, "online step");
    // The step continues when its progress cannot be printed.
    let _printed = say(&format!("{database}: {step}: {text}"));
}

fn say(line: &str) -> Result<(), MigrateFailure> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
