//! `longshored migrate`: brings control and every shard to this program's schema.

use store::control::berth::{self, Assignment};

use crate::settings::Settings;
use crate::wiring::{self, AddressFailure};

#[derive(Debug, thiserror::Error)]
pub enum MigrateFailure {
    #[error(transparent)]
    Address(#[from] AddressFailure),
    #[error("{name} was not migrated: see `longshored doctor`")]
    Database { name: String, source: store::Error },
}

/// Every database is knocked at first: a pool would wait, and then not say why.
///
/// Returns a line for each thing that was done. To repeat it changes nothing.
pub async fn run(settings: &Settings) -> Result<Vec<String>, MigrateFailure> {
    let stores = wiring::connect_for_command(settings)?;
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
        store::doctor::knock(address.url.reveal())
            .await
            .map_err(fail)?;
        // Days begin when the shard says so, whatever this host's clock says.
        let told = store::doctor::now(&shard.pool).await.map_err(fail)?;
        shard.clock.learn(told);
        store::migrate::shard(shard, shard.clock.now())
            .await
            .map_err(fail)?;
        done.push(format!("{name} is migrated"));
    }
    // Last: an organization can only be put where its shard is ready.
    let names: Vec<_> = stores
        .shards
        .iter()
        .map(|shard| shard.name.clone())
        .collect();
    let told = store::doctor::now(&stores.control.pool)
        .await
        .map_err(control)?;
    done.push(
        match berth::assign(&stores.control, &names, told)
            .await
            .map_err(control)?
        {
            Assignment::Made => format!("the berths lie on {}", names.join(", ")),
            Assignment::AlreadyThere => "the berths lie where they lay".to_owned(),
        },
    );
    Ok(done)
}
