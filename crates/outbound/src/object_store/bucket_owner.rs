//! The owner of a bucket. Two installations on one bucket would delete each other's files.

use bytes::Bytes;
use http::{Method, StatusCode};
use uuid::Uuid;

use super::ObjectStore;
use super::call::ObjectStoreCall;
use super::failure::{ObjectStoreFailure, ObjectStoreProbeFailure};
use super::key::ObjectKey;

pub(super) const OWNER_CHECK: &str = "the bucket must belong to this installation";

impl ObjectStore {
    /// Reads the owner's mark once, without retries, to check that the store works.
    pub async fn ping(&self) -> Result<(), ObjectStoreFailure> {
        let within = self.0.timeouts.ping;
        let marked = tokio::time::timeout(within, self.read_owner(within)).await;
        match marked.unwrap_or(Err(ObjectStoreFailure::TimedOut(within)))? {
            Some(_) => Ok(()),
            None => Err(ObjectStoreFailure::Refused {
                what: "show the owner's mark",
                status: StatusCode::NOT_FOUND.as_u16(),
                code: String::new(),
            }),
        }
    }

    /// Marks the bucket as ours, unless it has an owner.
    pub(super) async fn claim_bucket(
        &self,
        installation: Uuid,
    ) -> Result<(), ObjectStoreProbeFailure> {
        let within = self.0.timeouts.call;
        let ours = installation.simple().to_string();
        let failed = |failure: ObjectStoreFailure| {
            ObjectStoreProbeFailure::from_failure(OWNER_CHECK, &failure)
        };
        if self.read_owner(within).await.map_err(failed)?.is_none() {
            self.write_owner(&ours).await.map_err(failed)?;
        }
        let found = self.read_owner(within).await.map_err(failed)?;
        match found {
            Some(mark) if mark == ours.as_bytes() => Ok(()),
            Some(_) => Err(ObjectStoreProbeFailure::new(
                OWNER_CHECK,
                "the bucket belongs to another installation",
            )),
            None => Err(ObjectStoreProbeFailure::new(
                OWNER_CHECK,
                "the mark is missing after it was written",
            )),
        }
    }

    async fn read_owner(
        &self,
        within: std::time::Duration,
    ) -> Result<Option<Bytes>, ObjectStoreFailure> {
        const OPERATION: &str = "read the owner's mark";
        let key = self.owner_key();
        let call = ObjectStoreCall {
            timeout: within,
            ..self.object_call(OPERATION, Method::GET, &key)
        };
        let answer = self.call(&call).await?;
        if answer.status == StatusCode::NOT_FOUND && answer.error_code() != "NoSuchBucket" {
            return Ok(None);
        }
        answer
            .require_success(OPERATION)
            .map(|answer| Some(answer.body))
    }

    /// Writes only if there is no mark, where the store supports it. The caller reads it back.
    async fn write_owner(&self, ours: &str) -> Result<(), ObjectStoreFailure> {
        const OPERATION: &str = "write the owner's mark";
        let key = self.owner_key();
        let call = ObjectStoreCall {
            headers: &[("if-none-match", "*")],
            body: Bytes::from(ours.to_owned()),
            ..self.object_call(OPERATION, Method::PUT, &key)
        };
        let answer = self.call(&call).await?;
        if matches!(answer.status.as_u16(), 409 | 412) {
            return Ok(());
        }
        answer.require_success(OPERATION).map(drop)
    }

    fn owner_key(&self) -> ObjectKey {
        self.system_key("owner")
    }
}
