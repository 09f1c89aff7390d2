//! The data keys of projects: wrapped in rows, unwrapped for a short time in the cache of a process.
//!
//! A key is looked up before a transaction begins: a slow master key never holds a lock.

use std::collections::HashMap;
use std::time::Duration;

use domain::id::ProjectId;
use domain::time::Timestamp;
use tokio::time::Instant;

use crate::Error;
use crate::Shard;
use crate::encryption::{KeyRequest, ReadKeys, WriteKey, WriteKeys};
use crate::shard::project_keys::master::{create_key, unwrap_key};
use crate::shard::project_keys::rows::DataKeyRow;

mod erasure;
mod master;
mod rotation;
mod rows;
mod status;

pub use crate::shard::project_keys::erasure::erase_project_keys;
pub use crate::shard::project_keys::master::check_master_key;
pub use crate::shard::project_keys::rotation::{
    ProjectKeyRotation, enable, rewrap_data_keys, rotate_project_key,
};
pub use crate::shard::project_keys::status::{EncryptionStatus, MasterKeyUse, read_status};

/// How many uses of a key a process reserves at once.
const USES_PER_RESERVATION: u64 = 1 << 16;
/// A key that is full is replaced, and another process may do so at the same time.
const MAX_REPLACEMENTS: usize = 4;
/// How long a stage that works for all projects waits for the keys of some.
const MAX_WAIT: Duration = Duration::from_secs(2);

const NO_FIRST_KEY: &str = "its first data key is missing";

/// The keys for so many new values of each project. Fails only if the database does: a project
/// without a key stops no other.
pub async fn write_keys(
    shard: &Shard,
    values: impl IntoIterator<Item = (ProjectId, u64)>,
) -> Result<WriteKeys, Error> {
    find_write_keys(shard, values, None).await
}

/// The same for a stage that works for all projects: a slow master key does not stop it.
pub(crate) async fn write_keys_within_limit(
    shard: &Shard,
    values: impl IntoIterator<Item = (ProjectId, u64)>,
) -> Result<WriteKeys, Error> {
    find_write_keys(shard, values, Some(Instant::now() + MAX_WAIT)).await
}

/// The master key has time until `until`.
async fn find_write_keys(
    shard: &Shard,
    values: impl IntoIterator<Item = (ProjectId, u64)>,
    until: Option<Instant>,
) -> Result<WriteKeys, Error> {
    let now = shard.clock.now();
    let uses = sum_by_project(values);
    if !is_enabled(shard, now).await? {
        return Ok(WriteKeys::plain(uses.into_keys()));
    }
    let mut keys = WriteKeys::default();
    let mut stale = Vec::new();
    for (project, uses) in uses {
        match shard.keys.take_fresh(project, uses, now) {
            Some(key) => keys.insert(project, Ok(key)),
            None => stale.push((project, uses)),
        }
    }
    if stale.is_empty() {
        return Ok(keys);
    }
    let projects: Vec<ProjectId> = stale.iter().map(|(project, _)| *project).collect();
    let mut newest = rows::list_newest(shard, &projects).await?;
    for (project, uses) in stale {
        let row = newest.remove(&project);
        match refresh_newest(shard, project, row, uses, now, until).await {
            Ok(key) => keys.insert(project, Ok(key)),
            Err(Error::KeyUnavailable(reason)) => keys.insert(project, Err(reason)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(keys)
}

/// Makes sure that the cache has the key for new values of a project. A load does so before it is
/// queued, so that its group waits for no master key.
pub async fn prepare_write_key(shard: &Shard, project: ProjectId) -> Result<(), Error> {
    match find_write_key(shard, project).await {
        // The group says what to do when the database does not answer.
        Err(failure) if failure.is_unavailable() => Ok(()),
        found => found,
    }
}

async fn find_write_key(shard: &Shard, project: ProjectId) -> Result<(), Error> {
    let now = shard.clock.now();
    if !is_enabled(shard, now).await? || shard.keys.take_fresh(project, 0, now).is_some() {
        return Ok(());
    }
    let keys = write_keys(shard, [(project, 0)]).await?;
    keys.find(project).map(|_| ())
}

/// The keys for so many new values of each project, from the cache alone.
pub fn prepared_write_keys(
    shard: &Shard,
    values: impl IntoIterator<Item = (ProjectId, u64)>,
) -> WriteKeys {
    let now = shard.clock.now();
    let uses = sum_by_project(values);
    if shard.keys.was_enabled() == Some(false) {
        return WriteKeys::plain(uses.into_keys());
    }
    let mut keys = WriteKeys::default();
    for (project, uses) in uses {
        if let Some(key) = shard.keys.take_prepared(project, uses, now) {
            keys.insert(project, Ok(key));
        }
    }
    keys
}

/// The keys that decrypt some values. Fails only if the database does.
pub(crate) async fn read_keys(shard: &Shard, request: &KeyRequest) -> Result<ReadKeys, Error> {
    find_read_keys(shard, request, None).await
}

/// The same for a stage that works for all projects: a slow master key does not stop it.
pub(crate) async fn read_keys_within_limit(
    shard: &Shard,
    request: &KeyRequest,
) -> Result<ReadKeys, Error> {
    find_read_keys(shard, request, Some(Instant::now() + MAX_WAIT)).await
}

async fn find_read_keys(
    shard: &Shard,
    request: &KeyRequest,
    until: Option<Instant>,
) -> Result<ReadKeys, Error> {
    let now = shard.clock.now();
    let mut keys = ReadKeys::default();
    let mut stale = Vec::new();
    for (project, number) in request.iter() {
        match shard.keys.find(project, number, now) {
            Some(key) => keys.insert(project, number, Ok(key)),
            None => stale.push((project, number)),
        }
    }
    if stale.is_empty() {
        return Ok(keys);
    }
    for row in rows::list(shard, &stale).await? {
        let (project, number) = (row.project, row.number);
        match unwrap_key(shard, &row, now, until).await {
            Ok(key) => keys.insert(project, number, Ok(key)),
            Err(Error::KeyUnavailable(reason)) => keys.insert(project, number, Err(reason)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(keys)
}

fn sum_by_project(values: impl IntoIterator<Item = (ProjectId, u64)>) -> HashMap<ProjectId, u64> {
    let mut uses: HashMap<ProjectId, u64> = HashMap::new();
    for (project, count) in values {
        *uses.entry(project).or_default() += count;
    }
    uses
}

async fn is_enabled(shard: &Shard, now: Timestamp) -> Result<bool, Error> {
    let (known, is_due) = shard.keys.switch(now);
    if let (Some(is_enabled), false) = (known, is_due) {
        return Ok(is_enabled);
    }
    let read = async {
        let is_enabled = rows::is_enabled(shard).await?;
        shard.keys.set_enabled(is_enabled, now);
        Ok(is_enabled)
    };
    match known {
        Some(known) => Ok(read.await.unwrap_or(known)),
        None => {
            shard
                .keys
                .first_read
                .get_or_read(|| shard.keys.was_enabled(), read)
                .await
        }
    }
}

/// Prepares the newest key of a project for so many new values. Creates a key if the project has
/// none, or if all uses of the newest are reserved.
async fn refresh_newest(
    shard: &Shard,
    project: ProjectId,
    mut newest: Option<DataKeyRow>,
    uses: u64,
    now: Timestamp,
    until: Option<Instant>,
) -> Result<WriteKey, Error> {
    for _ in 0..MAX_REPLACEMENTS {
        let Some(row) = newest else {
            newest = Some(create_key(shard, project, 1, now, until).await?);
            continue;
        };
        if row.wrapped.is_none() {
            // No load that is queued uses the old key any more.
            shard.keys.set_newest(project, 0, 0, now);
            return WriteKey::forgotten();
        }
        unwrap_key(shard, &row, now, until).await?;
        prepare_first(shard, &row, now, until).await?;
        let added = if shard.keys.lacks_uses(project, row.number, uses) {
            let block = USES_PER_RESERVATION.max(uses);
            if !rows::reserve_uses(shard, project, row.number, block).await? {
                newest = Some(create_key(shard, project, row.number + 1, now, until).await?);
                continue;
            }
            block
        } else {
            0
        };
        shard.keys.set_newest(project, row.number, added, now);
        if let Some(key) = shard.keys.take_prepared(project, uses, now) {
            return Ok(key);
        }
        newest = rows::list_newest(shard, &[project]).await?.remove(&project);
    }
    Err(Error::KeyUnavailable("it changes too often".to_owned()))
}

/// Unwraps the first key of a project too: digests are made with it.
async fn prepare_first(
    shard: &Shard,
    newest: &DataKeyRow,
    now: Timestamp,
    until: Option<Instant>,
) -> Result<(), Error> {
    let project = newest.project;
    if newest.number == 1 || shard.keys.confirm(project, 1, now).is_some() {
        return Ok(());
    }
    let first = rows::list(shard, &[(project, 1)]).await?;
    let first = first.first();
    let first = first.ok_or_else(|| Error::KeyUnavailable(NO_FIRST_KEY.to_owned()))?;
    unwrap_key(shard, first, now, until).await?;
    Ok(())
}
