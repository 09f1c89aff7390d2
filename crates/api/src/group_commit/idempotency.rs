//! The answer to a load whose `Idempotency-Key` was used before.

use std::collections::HashMap;

use domain::id::{CargoId, ProjectId};
use domain::idempotency::{IDEMPOTENCY_KEY_RETENTION, IdempotencyKey};
use domain::time::Timestamp;
use store::encryption::WriteKey;
use store::shard::idempotency::{self, IdempotencyRecord};
use store::shard::project_keys;
use store::{Error, Shard, Transaction};

use crate::group_commit::{PreparedLoad, StoreLoadError, StoreLoadResult, StoredLoad};

/// The same key with the same body is the same cargo. With another body it is an error. A record
/// from before encryption was switched on has a plain digest.
fn answer_repeated(
    key: &IdempotencyKey,
    write_key: &WriteKey,
    cargo: CargoId,
    digest: &[u8],
) -> StoreLoadResult {
    if key.matches_body(digest) || write_key.stored_digest(&key.body_digest) == digest {
        Ok(StoredLoad::Replay(cargo))
    } else {
        Err(StoreLoadError::KeyReused)
    }
}

/// The answer without a lock, for a load that cannot be stored any more. Nothing if its key is new.
pub(crate) async fn find_earlier_answer(
    shard: &Shard,
    project: ProjectId,
    key: Option<&IdempotencyKey>,
) -> Result<Option<StoreLoadResult>, Error> {
    let Some(key) = key else {
        return Ok(None);
    };
    let since = shard.clock.now() - IDEMPOTENCY_KEY_RETENTION;
    let earlier = idempotency::find_idempotency_record(shard, project, &key.key, since).await?;
    let Some(earlier) = earlier else {
        return Ok(None);
    };
    let keys = project_keys::write_keys(shard, [(project, 0)]).await?;
    let write_key = keys.find(project)?;
    let answer = answer_repeated(key, write_key, earlier.cargo, &earlier.digest);
    Ok(Some(answer))
}

/// The loads with the idempotency keys of a group: those stored earlier, and those of the group.
#[derive(Debug)]
pub(super) struct EarlierLoads(HashMap<(ProjectId, String), (CargoId, Vec<u8>)>);

impl EarlierLoads {
    /// Reads the stored ones, under the locks of the group's accounts.
    pub(super) async fn find(
        tx: &mut Transaction,
        loads: &[&PreparedLoad],
        now: Timestamp,
    ) -> Result<Self, Error> {
        let keyed = loads.iter().filter_map(|load| {
            let key = load.idempotency_key.as_ref()?;
            Some((load.caller.project.uuid(), key.key.clone()))
        });
        let (projects, keys): (Vec<_>, Vec<_>) = keyed.unzip();
        if keys.is_empty() {
            return Ok(Self(HashMap::new()));
        }
        let since = now - IDEMPOTENCY_KEY_RETENTION;
        let records = idempotency::find_idempotency_records(tx, &projects, &keys, since).await?;
        let earlier = |it: IdempotencyRecord| ((it.project, it.key), (it.cargo, it.digest));
        Ok(Self(records.into_iter().map(earlier).collect()))
    }

    /// The answer to a load whose key was used before.
    pub(super) fn answer(
        &self,
        load: &PreparedLoad,
        write_key: &WriteKey,
    ) -> Option<StoreLoadResult> {
        let key = load.idempotency_key.as_ref()?;
        let (cargo, digest) = self.0.get(&(load.caller.project, key.key.clone()))?;
        Some(answer_repeated(key, write_key, *cargo, digest))
    }

    /// Adds a load of the group, for those that follow it.
    pub(super) fn add(&mut self, load: &PreparedLoad, cargo: CargoId) {
        if let Some(key) = &load.idempotency_key {
            let name = (load.caller.project, key.key.clone());
            self.0.insert(name, (cargo, key.body_digest.to_vec()));
        }
    }
}
