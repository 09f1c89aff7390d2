//! `longshored migrate`: creates or upgrades the schema of control and of every shard.

use store::control::berth::{self, BerthAssignment};

use crate::databases::{self, DatabaseAddressFailure};
use crate::settings::Settings;

#[derive(Debug, thiserror::Error)]
pub enum MigrateFailure {
    #[error(transparent)]
    Address(#[from] DatabaseAddressFailure),
    #[error("the migration of {name} failed; `longshored doctor` says more")]
    Database { name: String, source: store::Error },
}

/// Tries each shard's address before its pool, because the pool would wait and then hide the cause.
///
/// Returns a line per completed step. Running it again changes nothing.
pub async fn run(settings: &Settings) -> Result<Vec<String>, MigrateFailure> {
    let stores = databases::connect_for_command(settings)?;
    let control = |source| MigrateFailure::Database {
        name: "control".to_owned(),
        source,
    };
    let mut done = Vec::new();
    store::migrate::control(&stores.control)
        .await
        .map_err(control)?;
    done.push("control is migrated".to_owned());
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
        done.push(format!("{name} is migrated"));
    }
    // Last: an organization needs a shard that is ready.
    let names: Vec<_> = stores
        .shards
        .iter()
        .map(|shard| shard.name.clone())
        .collect();
    let now = store::doctor::read_server_time(&stores.control.pool)
        .await
        .map_err(control)?;
    done.push(
        match berth::assign(&stores.control, &names, now)
            .await
            .map_err(control)?
        {
            BerthAssignment::Assigned => format!("berths are assigned to {}", names.join(", ")),
            BerthAssignment::AlreadyAssigned => "berths keep their shards".to_owned(),
        },
    );
    Ok(done)
}
