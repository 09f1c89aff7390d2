//! Checks of reading and copying: signed requests only, and only the expected `ETag`.

use bytes::Bytes;
use futures::TryStreamExt as _;
use http::Method;

use super::{CheckResult, StoreProbe, expect_refusal, expect_success};
use crate::object_store::failure::{ObjectStoreFailure, ObjectStoreProbeFailure};
use crate::object_store::object::CopyResult;

const PRIVATE_CHECK: &str = "the store must refuse reading without a signature";
const IF_MATCH_CHECK: &str = "a read must be refused when the ETag differs (If-Match)";
const COPY_IF_MATCH_CHECK: &str =
    "a copy must be refused when the ETag differs (x-amz-copy-source-if-match)";
const COPY_CHECK: &str = "a copy must have the bytes of its source";
const DISPOSITION_CHECK: &str =
    "a link must make browsers save the file (response-content-disposition)";

const UNKNOWN_ETAG: &str = "\"00000000000000000000000000000000\"";

impl StoreProbe<'_> {
    pub(super) async fn check_copies(&self) -> CheckResult {
        let (objects, from, to) = (self.objects, self.key("form"), self.key("copy"));
        let bare = objects.unsigned_url(&from);
        let anonymous = objects.send_as_caller(Method::GET, &bare, &[], Bytes::new());
        expect_refusal(PRIVATE_CHECK, anonymous.await)?;
        self.check_disposition().await?;
        match objects.get(&from, UNKNOWN_ETAG).await {
            Err(ObjectStoreFailure::Changed) => {}
            Ok(_) => {
                return Err(ObjectStoreProbeFailure::new(
                    IF_MATCH_CHECK,
                    "it was read anyway",
                ));
            }
            Err(failure) => {
                return Err(ObjectStoreProbeFailure::from_failure(
                    IF_MATCH_CHECK,
                    &failure,
                ));
            }
        }
        match objects.copy(&from, &to, UNKNOWN_ETAG).await {
            Ok(CopyResult::Changed) => {}
            Ok(CopyResult::Done) => {
                return Err(ObjectStoreProbeFailure::new(
                    COPY_IF_MATCH_CHECK,
                    "it was copied anyway",
                ));
            }
            Ok(CopyResult::Missing) => {
                return Err(ObjectStoreProbeFailure::new(
                    COPY_IF_MATCH_CHECK,
                    "it was not found",
                ));
            }
            Err(failure) => {
                return Err(ObjectStoreProbeFailure::from_failure(
                    COPY_IF_MATCH_CHECK,
                    &failure,
                ));
            }
        }
        let copied = self.copy_and_read().await;
        let copied = copied
            .map_err(|failure| ObjectStoreProbeFailure::from_failure(COPY_CHECK, &failure))?;
        if copied == self.bytes {
            Ok(())
        } else {
            Err(ObjectStoreProbeFailure::new(COPY_CHECK, "the bytes differ"))
        }
    }

    async fn copy_and_read(&self) -> Result<Bytes, ObjectStoreFailure> {
        let (from, to) = (self.key("form"), self.key("copy"));
        let head = self
            .objects
            .head(&from)
            .await?
            .ok_or(ObjectStoreFailure::Missing)?;
        self.objects.copy(&from, &to, &head.etag).await?;
        let head = self
            .objects
            .head(&to)
            .await?
            .ok_or(ObjectStoreFailure::Missing)?;
        let chunks: Vec<Bytes> = self
            .objects
            .get(&to, &head.etag)
            .await?
            .try_collect()
            .await?;
        Ok(chunks.concat().into())
    }

    async fn check_disposition(&self) -> CheckResult {
        let query = [("response-content-disposition", "attachment; filename=\"x\"")];
        let link = self.objects.presign_read(&self.key("form"), &query);
        let link = link.map_err(|failure| {
            ObjectStoreProbeFailure::from_failure(DISPOSITION_CHECK, &failure)
        })?;
        let read = self
            .objects
            .send_as_caller(Method::GET, &link, &[], Bytes::new());
        let read = expect_success(DISPOSITION_CHECK, read.await)?;
        let disposition = read.header("content-disposition").unwrap_or_default();
        if disposition.starts_with("attachment") && read.body == self.bytes {
            Ok(())
        } else {
            Err(ObjectStoreProbeFailure::new(
                DISPOSITION_CHECK,
                "the response has no attachment disposition",
            ))
        }
    }
}
