//! Uploads in parts: each of its length, and of its bytes when they were declared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use domain::file::{MediaType, Sha256};
use http::Method;

use super::{Probed, Trial, accepted, refused};
use crate::objects::call::Answer;
use crate::objects::failure::{Failure, ProbeFailure};
use crate::objects::grant::{OUR_CHECKSUM, Part, STORES_CHECKSUM};
use crate::objects::multipart::{Finished, FinishedPart};

const BEGINS: &str = "the store must take uploads in parts";
const LENGTH: &str = "a part's URL must refuse another length";
const TAKES: &str = "a part's URL must take its part, with a digest in a header of ours";
const DIGEST: &str = "a part's URL must refuse other bytes (x-amz-checksum-sha256)";
const JOINS: &str = "the parts must become one object";

impl Trial<'_> {
    pub(super) async fn parts(&self) -> Probed {
        let upload = self.begin(false).await?;
        let tried = self.plain_part(&upload).await;
        let given_up = self.give_up(&upload).await;
        tried?;
        given_up?;
        let upload = self.begin(true).await?;
        let tried = self.declared_part(&upload).await;
        let given_up = self.give_up(&upload).await;
        tried?;
        given_up
    }

    async fn begin(&self, checksummed: bool) -> Result<String, ProbeFailure> {
        let key = self.key("parts");
        let begun = self
            .objects
            .begin_multipart_at(&key, MediaType::Text, checksummed);
        begun
            .await
            .map_err(|failure| ProbeFailure::from_failure(BEGINS, &failure))
    }

    async fn plain_part(&self, upload: &str) -> Probed {
        let shorter = self.bytes.slice(1..);
        let header = (OUR_CHECKSUM, self.digest());
        let put = |bytes| self.put(upload, None, Some(&header), bytes);
        refused(LENGTH, put(shorter).await)?;
        let taken = accepted(TAKES, put(self.bytes.clone()).await)?;
        let Some(etag) = taken.header("etag") else {
            return Err(ProbeFailure::seen(TAKES, "the answer has no ETag"));
        };
        let parts = [FinishedPart {
            number: 1,
            etag: etag.to_owned(),
            checksum: None,
        }];
        let key = self.key("parts");
        let finished = self.objects.finish_multipart_at(&key, upload, &parts);
        match finished.await {
            Ok(Finished::Done) => self.joined().await,
            Ok(other) => Err(ProbeFailure::seen(JOINS, format!("{other:?}"))),
            Err(failure) => Err(ProbeFailure::from_failure(JOINS, &failure)),
        }
    }

    async fn joined(&self) -> Probed {
        let head = self.objects.head(&self.key("parts")).await;
        let head = head.map_err(|failure| ProbeFailure::from_failure(JOINS, &failure))?;
        if head.is_some_and(|head| head.size == self.bytes.len() as u64) {
            Ok(())
        } else {
            Err(ProbeFailure::seen(
                JOINS,
                "the object is not there or is of another size",
            ))
        }
    }

    async fn declared_part(&self, upload: &str) -> Probed {
        let declared = self.declared().sha256;
        let header = (STORES_CHECKSUM, self.digest());
        let put = |bytes| self.put(upload, Some(&declared), Some(&header), bytes);
        refused(DIGEST, put(self.other_bytes()).await)?;
        accepted(DIGEST, put(self.bytes.clone()).await).map(drop)
    }

    async fn put(
        &self,
        upload: &str,
        checksum: Option<&Sha256>,
        header: Option<&(&str, String)>,
        bytes: Bytes,
    ) -> Result<Answer, Failure> {
        let part = Part {
            key: &self.key("parts"),
            upload,
            number: 1,
            length: self.bytes.len() as u64,
            checksum,
        };
        let url = self.objects.part_url(&part, self.objects.now());
        let header = header.map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<_> = header.into_iter().collect();
        self.objects
            .as_caller(Method::PUT, &url, &headers, bytes)
            .await
    }

    async fn give_up(&self, upload: &str) -> Probed {
        const CHECK: &str = "the store must let an upload in parts be given up";
        let key = self.key("parts");
        let given_up = self.objects.abort_multipart_at(&key, upload);
        given_up
            .await
            .map_err(|failure| ProbeFailure::from_failure(CHECK, &failure))
    }

    fn digest(&self) -> String {
        BASE64.encode(self.declared().sha256.0)
    }
}
