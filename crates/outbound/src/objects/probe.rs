//! Whether this store keeps what our grants promise. One that does not is not used.
//!
//! Everything is tried as it will be done: as a caller at the public address, as ourselves at
//! the internal one.

use bytes::Bytes;
use domain::file::{Declared, MediaType, Sha256};
use domain::time::Timestamp;
use sha2::Digest as _;
use uuid::Uuid;

use super::Objects;
use super::call::Answer;
use super::failure::{Failure, ProbeFailure};
use super::key::Key;

mod copies;
mod forms;
mod parts;

type Probed = Result<(), ProbeFailure>;

const LISTS: &str = "the store must list what lies in it";
/// What a probe that crashed left behind goes after this.
const STALE: chrono::TimeDelta = chrono::TimeDelta::hours(1);

impl Objects {
    /// Every check in turn; the first that fails is told in words.
    pub async fn probe(&self, installation: Uuid) -> Result<(), ProbeFailure> {
        self.own(installation).await?;
        let trial = Trial::new(self);
        let checked = trial.checks().await;
        let swept = trial.sweep().await;
        checked?;
        swept?;
        self.open_to_browsers().await?;
        // Another may have written its mark at the same moment.
        self.own(installation).await
    }
}

/// A few bytes on their way through the store, under keys that nobody else uses.
struct Trial<'a> {
    objects: &'a Objects,
    folder: String,
    bytes: Bytes,
    started: Timestamp,
}

impl<'a> Trial<'a> {
    fn new(objects: &'a Objects) -> Self {
        let name = format!("{:032x}", rand::random::<u128>());
        Self {
            objects,
            bytes: Bytes::from(format!("a file of no importance: {name}")),
            folder: format!("probe/{name}/"),
            started: objects.now(),
        }
    }

    async fn checks(&self) -> Probed {
        self.forms().await?;
        self.copies().await?;
        self.parts().await?;
        self.listed().await
    }

    fn key(&self, name: &str) -> Key {
        self.objects.own_key(&format!("{}{name}", self.folder))
    }

    fn declared(&self) -> Declared {
        Declared {
            media_type: MediaType::Text,
            size_bytes: self.bytes.len() as u64,
            sha256: Sha256(sha2::Sha256::digest(&self.bytes).into()),
        }
    }

    /// As long, and not the same.
    fn other_bytes(&self) -> Bytes {
        self.bytes.iter().map(|byte| byte ^ 1).collect()
    }

    async fn listed(&self) -> Probed {
        let key = self.key("form");
        let folder = self.objects.own_key(&self.folder);
        let page = self.objects.list_under(folder.as_str(), None).await;
        let page = page.map_err(|failure| ProbeFailure::from_failure(LISTS, &failure))?;
        if page.objects.iter().any(|object| object.key == key) {
            Ok(())
        } else {
            Err(ProbeFailure::seen(
                LISTS,
                "an object is missing from the list",
            ))
        }
    }

    /// Takes away what this probe left, and what one left that did not come to its end.
    async fn sweep(&self) -> Probed {
        const CHECK: &str = "the store must delete what it is told to";
        let failed = |failure: Failure| ProbeFailure::from_failure(CHECK, &failure);
        let (own, all) = (self.key(""), self.objects.own_key("probe/"));
        let page = self.objects.list_under(all.as_str(), None).await;
        let stale = |modified: Timestamp| self.started - modified > STALE;
        for object in page.map_err(failed)?.objects {
            if object.key.as_str().starts_with(own.as_str()) || stale(object.modified) {
                self.objects.delete(&object.key).await.map_err(failed)?;
            }
        }
        match self.objects.head(&self.key("form")).await.map_err(failed)? {
            Some(_) => Err(ProbeFailure::seen(CHECK, "a deleted object is still there")),
            None => Ok(()),
        }
    }
}

/// What must be answered 2xx.
fn accepted(check: &'static str, answer: Result<Answer, Failure>) -> Result<Answer, ProbeFailure> {
    let answer = answer.map_err(|failure| ProbeFailure::from_failure(check, &failure))?;
    if answer.status.is_success() {
        return Ok(answer);
    }
    Err(status(check, &answer))
}

/// What must be answered 4xx.
fn refused(check: &'static str, answer: Result<Answer, Failure>) -> Probed {
    let answer = answer.map_err(|failure| ProbeFailure::from_failure(check, &failure))?;
    if answer.status.is_client_error() {
        return Ok(());
    }
    Err(status(check, &answer))
}

fn status(check: &'static str, answer: &Answer) -> ProbeFailure {
    let (status, code) = (answer.status.as_u16(), answer.code());
    ProbeFailure {
        check,
        why: format!("the answer was {status} {code}")
            .trim_end()
            .to_owned(),
        away: answer.status.is_server_error(),
    }
}
