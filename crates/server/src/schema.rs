//! Checks that the schema of each database fits this program.

use std::sync::Arc;
use std::time::Duration;

use store::migrate::{self, SchemaState};
use store::{Control, Error, Shard};
use tokio_util::sync::CancellationToken;

/// How often an unreachable or unmigrated database is checked again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaCheck {
    Compatible,
    /// It does not answer now; other databases are not affected.
    Unreachable,
}

#[derive(Debug, thiserror::Error)]
pub enum SchemaFailure {
    #[error("the schema of {name} is missing: run `longshored migrate`")]
    Missing { name: String },
    #[error("the schema of {name} is older than this program: run `longshored migrate`")]
    Behind { name: String },
    #[error(
        "the schema of {name} is newer than this program: \
         run the longshored release that migrated it"
    )]
    TooNew { name: String },
    #[error("the schema of {name} cannot be read; `longshored doctor` says more")]
    Unusable { name: String, source: Error },
}

pub async fn check_control(control: Control) -> Result<SchemaCheck, SchemaFailure> {
    classify("control".to_owned(), migrate::control_state(&control).await)
}

/// Also reads the time of a compatible shard: the first load needs it.
pub async fn check_shard(shard: Arc<Shard>) -> Result<SchemaCheck, SchemaFailure> {
    let name = format!("shard {}", shard.name);
    let check = classify(name, migrate::shard_state(&shard).await)?;
    if check == SchemaCheck::Compatible
        && let Ok(now) = store::doctor::read_server_time(&shard.pool).await
    {
        shard.clock.synchronize(now);
    }
    Ok(check)
}

/// Waits until the shard answers and its schema is compatible; false when `stop` comes first.
pub async fn wait_until_compatible(waiting_for: &Arc<Shard>, stop: &CancellationToken) -> bool {
    let mut logged = None;
    loop {
        let state = match check_shard(Arc::clone(waiting_for)).await {
            Ok(SchemaCheck::Compatible) => return true,
            Ok(SchemaCheck::Unreachable) => "unreachable".to_owned(),
            Err(failure) => failure.to_string(),
        };
        // Logged once per state, not at every retry.
        if logged.as_ref() != Some(&state) {
            tracing::warn!(
                shard = %waiting_for.name,
                state,
                "workers of a shard cannot start yet"
            );
            logged = Some(state);
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
            () = stop.cancelled() => return false,
        }
    }
}

fn classify(name: String, state: Result<SchemaState, Error>) -> Result<SchemaCheck, SchemaFailure> {
    match state {
        Ok(SchemaState::Current | SchemaState::AheadSupported) => Ok(SchemaCheck::Compatible),
        Ok(SchemaState::Missing) => Err(SchemaFailure::Missing { name }),
        Ok(SchemaState::Behind) => Err(SchemaFailure::Behind { name }),
        Ok(SchemaState::TooNew) => Err(SchemaFailure::TooNew { name }),
        Err(error) if error.is_unavailable() => Ok(SchemaCheck::Unreachable),
        Err(source) => Err(SchemaFailure::Unusable { name, source }),
    }
}
