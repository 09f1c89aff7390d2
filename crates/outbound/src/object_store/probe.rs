//! Checks that the store enforces our grants. A store that does not is not used.
//!
//! Each check works as in production: as a caller at the public address, as longshored at the
//! internal one.

use bytes::Bytes;
use domain::file::{FileDeclaration, MediaType, Sha256};
use domain::time::Timestamp;
use sha2::Digest as _;
use uuid::Uuid;

use super::ObjectStore;
use super::call::ObjectStoreResponse;
use super::failure::{ObjectStoreFailure, ObjectStoreProbeFailure};
use super::key::ObjectKey;

mod copies;
mod forms;
mod parts;

type CheckResult = Result<(), ObjectStoreProbeFailure>;

const LIST_CHECK: &str = "the store must list its objects";
/// Test objects that a crashed probe left are deleted after this time.
const STALE_AFTER: chrono::TimeDelta = chrono::TimeDelta::hours(1);

impl ObjectStore {
    /// Runs every check in order and reports the first failure.
    pub async fn probe(&self, installation: Uuid) -> Result<(), ObjectStoreProbeFailure> {
        self.claim_bucket(installation).await?;
        let trial = StoreProbe::new(self);
        let checked = trial.run_checks().await;
        let swept = trial.clean_up().await;
        checked?;
        swept?;
        self.ensure_cors().await?;
        // Another installation may have written its mark at the same time.
        self.claim_bucket(installation).await
    }
}

/// Writes a few bytes under keys that only this probe uses.
struct StoreProbe<'a> {
    objects: &'a ObjectStore,
    folder: String,
    bytes: Bytes,
    started_at: Timestamp,
}

impl<'a> StoreProbe<'a> {
    fn new(objects: &'a ObjectStore) -> Self {
        let name = format!("{:032x}", rand::random::<u128>());
        Self {
            objects,
            bytes: Bytes::from(format!("a file of no importance: {name}")),
            folder: format!("probe/{name}/"),
            started_at: objects.now(),
        }
    }

    async fn run_checks(&self) -> CheckResult {
        self.check_forms().await?;
        self.check_copies().await?;
        self.check_parts().await?;
        self.check_listing().await
    }

    fn key(&self, name: &str) -> ObjectKey {
        self.objects.system_key(&format!("{}{name}", self.folder))
    }

    fn declared(&self) -> FileDeclaration {
        FileDeclaration {
            media_type: MediaType::Text,
            size_bytes: self.bytes.len() as u64,
            sha256: Sha256(sha2::Sha256::digest(&self.bytes).into()),
        }
    }

    /// Different bytes of the same length.
    fn different_bytes(&self) -> Bytes {
        self.bytes.iter().map(|byte| byte ^ 1).collect()
    }

    async fn check_listing(&self) -> CheckResult {
        let key = self.key("form");
        let folder = self.objects.system_key(&self.folder);
        let page = self.objects.list_under(folder.as_str(), None).await;
        let page =
            page.map_err(|failure| ObjectStoreProbeFailure::from_failure(LIST_CHECK, &failure))?;
        if page.objects.iter().any(|object| object.key == key) {
            Ok(())
        } else {
            Err(ObjectStoreProbeFailure::new(
                LIST_CHECK,
                "an object is missing from the listing",
            ))
        }
    }

    /// Deletes the objects of this probe and of probes that crashed.
    async fn clean_up(&self) -> CheckResult {
        const CHECK: &str = "the store must delete objects";
        let failed =
            |failure: ObjectStoreFailure| ObjectStoreProbeFailure::from_failure(CHECK, &failure);
        let (own, all) = (self.key(""), self.objects.system_key("probe/"));
        let page = self.objects.list_under(all.as_str(), None).await;
        let stale = |modified: Timestamp| self.started_at - modified > STALE_AFTER;
        for object in page.map_err(failed)?.objects {
            if object.key.as_str().starts_with(own.as_str()) || stale(object.modified_at) {
                self.objects.delete(&object.key).await.map_err(failed)?;
            }
        }
        match self.objects.head(&self.key("form")).await.map_err(failed)? {
            Some(_) => Err(ObjectStoreProbeFailure::new(
                CHECK,
                "a deleted object still exists",
            )),
            None => Ok(()),
        }
    }
}

/// The response must be 2xx.
fn expect_success(
    check: &'static str,
    answer: Result<ObjectStoreResponse, ObjectStoreFailure>,
) -> Result<ObjectStoreResponse, ObjectStoreProbeFailure> {
    let answer =
        answer.map_err(|failure| ObjectStoreProbeFailure::from_failure(check, &failure))?;
    if answer.status.is_success() {
        return Ok(answer);
    }
    Err(unexpected_status(check, &answer))
}

/// The response must be 4xx.
fn expect_refusal(
    check: &'static str,
    answer: Result<ObjectStoreResponse, ObjectStoreFailure>,
) -> CheckResult {
    let answer =
        answer.map_err(|failure| ObjectStoreProbeFailure::from_failure(check, &failure))?;
    if answer.status.is_client_error() {
        return Ok(());
    }
    Err(unexpected_status(check, &answer))
}

fn unexpected_status(check: &'static str, answer: &ObjectStoreResponse) -> ObjectStoreProbeFailure {
    let (status, code) = (answer.status.as_u16(), answer.error_code());
    ObjectStoreProbeFailure {
        check,
        why: format!("the answer was {status} {code}")
            .trim_end()
            .to_owned(),
        is_unreachable: answer.status.is_server_error(),
    }
}
