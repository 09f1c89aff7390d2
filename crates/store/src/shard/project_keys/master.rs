//! Calls to the master key: data keys are wrapped when they are created, and unwrapped when they are
//! needed.

use std::sync::Arc;

use domain::id::ProjectId;
use domain::master_key::{MasterKeyFailure, MasterKeys};
use domain::time::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};
use sqlx::types::Uuid;
use tokio::time::{Instant, timeout_at};

use super::rows::{self, DataKeyRow};
use crate::Error;
use crate::Shard;
use crate::encryption::{DataKey, KEY_BYTES};

const NO_MASTER_KEY: &str =
    "this process has no master key: set SVC_MASTER_KEY_FILE or SVC_MASTER_KEY_COMMAND";
const WRONG_KEY: &str = "its row has the key of another project, or was changed";
const TIMED_OUT: &str = "the master key did not answer in time";
const NO_RANDOMNESS: &str = "the operating system provided no random numbers";

/// The master keys of this process.
pub(super) fn master_keys(shard: &Shard) -> Result<&Arc<dyn MasterKeys>, Error> {
    let master_keys = shard.keys.master_keys.as_ref();
    master_keys.ok_or_else(|| Error::KeyUnavailable(NO_MASTER_KEY.to_owned()))
}

/// A data key, from the cache or by the master key, which has time until `until`. The row was just
/// read.
pub(super) async fn unwrap_key(
    shard: &Shard,
    row: &DataKeyRow,
    now: Timestamp,
    until: Option<Instant>,
) -> Result<Arc<DataKey>, Error> {
    if let Some(key) = shard.keys.confirm(row.project, row.number, now) {
        return Ok(key);
    }
    before(until, unwrap_by_master_key(shard, row, now)).await
}

async fn unwrap_by_master_key(
    shard: &Shard,
    row: &DataKeyRow,
    now: Timestamp,
) -> Result<Arc<DataKey>, Error> {
    let master_keys = master_keys(shard)?;
    let _slot = shard.keys.acquire_unwrap_slot().await;
    // While this task waited, another one may have unwrapped it, or the master key may have failed.
    if let Some(key) = shard.keys.confirm(row.project, row.number, now) {
        return Ok(key);
    }
    check_recent_failure(shard, now)?;
    let wrapped = row.wrapped.as_deref().unwrap_or_default();
    let plain = master_keys.unwrap_key(&row.master_key, wrapped).await;
    let plain = plain.map_err(|failure| report(shard, &failure, now))?;
    let key = decode_key(row.project, row.number, &plain).map(Arc::new);
    let key = key.ok_or_else(|| Error::KeyUnavailable(WRONG_KEY.to_owned()))?;
    shard.keys.insert(row.project, Arc::clone(&key), now);
    Ok(key)
}

/// Creates a data key of this number. Returns the newest key, which may be another process's.
pub(super) async fn create_key(
    shard: &Shard,
    project: ProjectId,
    number: u32,
    now: Timestamp,
    until: Option<Instant>,
) -> Result<DataKeyRow, Error> {
    let master_keys = master_keys(shard)?;
    check_recent_failure(shard, now)?;
    let mut bytes = [0; KEY_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::KeyUnavailable(NO_RANDOMNESS.to_owned()))?;
    let plain = encode_key(project, number, &bytes);
    let wrapping = async {
        let wrapped = master_keys.wrap_key(&plain).await;
        wrapped.map_err(|failure| report(shard, &failure, now))
    };
    let new = DataKeyRow {
        project,
        number,
        master_key: master_keys.current_id().to_owned(),
        wrapped: Some(before(until, wrapping).await?),
    };
    rows::insert(shard, new, now).await
}

/// Waits for a call until a deadline, if there is one.
async fn before<T>(
    until: Option<Instant>,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let Some(until) = until else {
        return call.await;
    };
    let timed_out = |_| Err(Error::KeyUnavailable(TIMED_OUT.to_owned()));
    timeout_at(until, call).await.unwrap_or_else(timed_out)
}

fn check_recent_failure(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    match shard.keys.recent_failure(now) {
        Some(reason) => Err(Error::KeyUnavailable(reason)),
        None => Ok(()),
    }
}

/// Whether the current master key wraps a key and unwraps it again.
pub async fn check_master_key(master_keys: &dyn MasterKeys) -> Result<(), MasterKeyFailure> {
    let sample = encode_key(Uuid::nil().into(), 0, &rand::random());
    let wrapped = master_keys.wrap_key(&sample).await?;
    let id = master_keys.current_id();
    let plain = master_keys.unwrap_key(id, &wrapped).await?;
    if plain == sample && wrapped != sample {
        Ok(())
    } else {
        Err(MasterKeyFailure::Rejected(id.to_owned()))
    }
}

/// Only a master key that does not answer is left alone for a moment. One that is unknown, or did
/// not wrap a key, says nothing about the keys of other projects.
fn report(shard: &Shard, failure: &MasterKeyFailure, now: Timestamp) -> Error {
    let reason = failure.to_string();
    if matches!(failure, MasterKeyFailure::Unavailable(_)) {
        shard.keys.set_failure(reason.clone(), now);
    }
    Error::KeyUnavailable(reason)
}

/// What is wrapped: the key, its project and its number. So a row with the key of another project
/// is noticed, whatever wraps the keys.
fn encode_key(project: ProjectId, number: u32, key: &[u8; KEY_BYTES]) -> Vec<u8> {
    let (project, number) = (project.uuid(), number.to_be_bytes());
    let parts: [&[u8]; 3] = [key, project.as_bytes(), &number];
    parts.concat()
}

fn decode_key(project: ProjectId, number: u32, plain: &[u8]) -> Option<DataKey> {
    let key = plain.first_chunk::<KEY_BYTES>()?;
    let is_ours = encode_key(project, number, key) == plain;
    is_ours.then(|| DataKey::new(number, key)).flatten()
}
