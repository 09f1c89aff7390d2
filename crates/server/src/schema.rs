//! Whether this program may work on the schemas that it finds.

use std::sync::Arc;
use std::time::Duration;

use store::migrate::{self, SchemaState};
use store::{Control, Error, Shard};
use tokio_util::sync::CancellationToken;

/// How often a database that is away, or not migrated yet, is asked again.
const AGAIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Fits,
    /// It does not answer now; that need not stop the others.
    Away,
}

#[derive(Debug, thiserror::Error)]
pub enum SchemaFailure {
    #[error("the schema of {name} is missing: run `longshored migrate`")]
    Missing { name: String },
    #[error("the schema of {name} is older than this program: run `longshored migrate`")]
    Behind { name: String },
    #[error("the schema of {name} is too new: run the release of longshored that migrated it")]
    TooNew { name: String },
    #[error("{name} cannot be used: see `longshored doctor`")]
    Unusable { name: String, source: Error },
}

pub async fn control(control: Control) -> Result<Standing, SchemaFailure> {
    stand("control".to_owned(), migrate::control_state(&control).await)
}

/// A shard that fits tells its time, too: the first load carries it.
pub async fn shard(shard: Arc<Shard>) -> Result<Standing, SchemaFailure> {
    let name = format!("shard {}", shard.name);
    let standing = stand(name, migrate::shard_state(&shard).await)?;
    if standing == Standing::Fits
        && let Ok(told) = store::doctor::now(&shard.pool).await
    {
        shard.clock.learn(told);
    }
    Ok(standing)
}

/// Waits until the shard is there and its schema fits; false when told to stop before.
pub async fn fits(found: &Arc<Shard>, stop: &CancellationToken) -> bool {
    let mut told = None;
    loop {
        let state = match shard(Arc::clone(found)).await {
            Ok(Standing::Fits) => return true,
            Ok(Standing::Away) => "it is away".to_owned(),
            Err(failure) => failure.to_string(),
        };
        // Said once, not every two seconds for as long as it lasts.
        if told.as_ref() != Some(&state) {
            tracing::warn!(shard = %found.name, state, "a shard cannot be worked on yet");
            told = Some(state);
        }
        tokio::select! {
            () = tokio::time::sleep(AGAIN) => {}
            () = stop.cancelled() => return false,
        }
    }
}

fn stand(name: String, state: Result<SchemaState, Error>) -> Result<Standing, SchemaFailure> {
    match state {
        Ok(SchemaState::Current | SchemaState::AheadByOne) => Ok(Standing::Fits),
        Ok(SchemaState::Missing) => Err(SchemaFailure::Missing { name }),
        Ok(SchemaState::Behind) => Err(SchemaFailure::Behind { name }),
        Ok(SchemaState::TooNew) => Err(SchemaFailure::TooNew { name }),
        Err(error) if error.is_away() => Ok(Standing::Away),
        Err(source) => Err(SchemaFailure::Unusable { name, source }),
    }
}
