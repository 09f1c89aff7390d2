//! Checks of multipart uploads: each part has its length, and its bytes if they were declared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use domain::file::{MediaType, Sha256};
use http::Method;

use super::{CheckResult, StoreProbe, expect_refusal, expect_success};
use crate::object_store::call::ObjectStoreResponse;
use crate::object_store::failure::{ObjectStoreFailure, ObjectStoreProbeFailure};
use crate::object_store::multipart::{MultipartCompletion, UploadedPart};
use crate::object_store::presigned_grant::{
    GrantedPart, LONGSHORE_CHECKSUM_HEADER, STORE_CHECKSUM_HEADER,
};

const CREATE_CHECK: &str = "the store must accept multipart uploads";
const LENGTH_CHECK: &str = "a part's URL must refuse another length";
const PART_CHECK: &str = "a part's URL must accept its part, with an unsigned digest header";
const DIGEST_CHECK: &str = "a part's URL must refuse other bytes (x-amz-checksum-sha256)";
const COMPLETE_CHECK: &str = "completed parts must become one object";

impl StoreProbe<'_> {
    pub(super) async fn check_parts(&self) -> CheckResult {
        let upload = self.begin(false).await?;
        let tried = self.check_plain_part(&upload).await;
        let given_up = self.abort(&upload).await;
        tried?;
        given_up?;
        let upload = self.begin(true).await?;
        let tried = self.check_declared_part(&upload).await;
        let given_up = self.abort(&upload).await;
        tried?;
        given_up
    }

    async fn begin(&self, checksummed: bool) -> Result<String, ObjectStoreProbeFailure> {
        let key = self.key("parts");
        let begun = self
            .objects
            .begin_multipart_at(&key, MediaType::Text, checksummed);
        begun
            .await
            .map_err(|failure| ObjectStoreProbeFailure::from_failure(CREATE_CHECK, &failure))
    }

    async fn check_plain_part(&self, upload: &str) -> CheckResult {
        let shorter = self.bytes.slice(1..);
        let header = (LONGSHORE_CHECKSUM_HEADER, self.digest());
        let put = |bytes| self.put_part(upload, None, Some(&header), bytes);
        expect_refusal(LENGTH_CHECK, put(shorter).await)?;
        let taken = expect_success(PART_CHECK, put(self.bytes.clone()).await)?;
        let Some(etag) = taken.header("etag") else {
            return Err(ObjectStoreProbeFailure::new(
                PART_CHECK,
                "the response has no ETag",
            ));
        };
        let parts = [UploadedPart {
            number: 1,
            etag: etag.to_owned(),
            checksum: None,
        }];
        let key = self.key("parts");
        let finished = self.objects.complete_multipart_at(&key, upload, &parts);
        match finished.await {
            Ok(MultipartCompletion::Done) => self.check_joined().await,
            Ok(other) => Err(ObjectStoreProbeFailure::new(
                COMPLETE_CHECK,
                format!("{other:?}"),
            )),
            Err(failure) => Err(ObjectStoreProbeFailure::from_failure(
                COMPLETE_CHECK,
                &failure,
            )),
        }
    }

    async fn check_joined(&self) -> CheckResult {
        let head = self.objects.head(&self.key("parts")).await;
        let head = head
            .map_err(|failure| ObjectStoreProbeFailure::from_failure(COMPLETE_CHECK, &failure))?;
        if head.is_some_and(|head| head.size == self.bytes.len() as u64) {
            Ok(())
        } else {
            Err(ObjectStoreProbeFailure::new(
                COMPLETE_CHECK,
                "the object does not exist or has another size",
            ))
        }
    }

    async fn check_declared_part(&self, upload: &str) -> CheckResult {
        let declared = self.declared().sha256;
        let header = (STORE_CHECKSUM_HEADER, self.digest());
        let put = |bytes| self.put_part(upload, Some(&declared), Some(&header), bytes);
        expect_refusal(DIGEST_CHECK, put(self.different_bytes()).await)?;
        expect_success(DIGEST_CHECK, put(self.bytes.clone()).await).map(drop)
    }

    async fn put_part(
        &self,
        upload: &str,
        checksum: Option<&Sha256>,
        header: Option<&(&str, String)>,
        bytes: Bytes,
    ) -> Result<ObjectStoreResponse, ObjectStoreFailure> {
        let part = GrantedPart {
            key: &self.key("parts"),
            upload,
            number: 1,
            length: self.bytes.len() as u64,
            checksum,
        };
        let url = self
            .objects
            .presign_part(&part, &self.objects.upload_signer()?);
        let header = header.map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<_> = header.into_iter().collect();
        self.objects
            .send_as_caller(Method::PUT, &url, &headers, bytes)
            .await
    }

    async fn abort(&self, upload: &str) -> CheckResult {
        const CHECK: &str = "the store must abort multipart uploads";
        let key = self.key("parts");
        let given_up = self.objects.abort_multipart_at(&key, upload);
        given_up
            .await
            .map_err(|failure| ObjectStoreProbeFailure::from_failure(CHECK, &failure))
    }

    fn digest(&self) -> String {
        BASE64.encode(self.declared().sha256.0)
    }
}
