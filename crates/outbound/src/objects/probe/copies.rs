//! Reading and publishing: only what was meant, by whom we meant.

use bytes::Bytes;
use futures::TryStreamExt as _;
use http::Method;

use super::{Probed, Trial, accepted, refused};
use crate::objects::failure::{Failure, ProbeFailure};
use crate::objects::object::Copied;

const PRIVATE: &str = "the store must refuse reading without a signature";
const MEANT: &str = "a read must be refused when the object is another (If-Match)";
const COPY_MEANT: &str =
    "a copy must be refused when the object is another (x-amz-copy-source-if-match)";
const COPIES: &str = "a copy must have the bytes of its object";
const SAVED: &str = "a link must make browsers save the file (response-content-disposition)";

const NO_TAG: &str = "\"00000000000000000000000000000000\"";

impl Trial<'_> {
    pub(super) async fn copies(&self) -> Probed {
        let (objects, from, to) = (self.objects, self.key("form"), self.key("copy"));
        let bare = objects.bare_url(&from);
        let anonymous = objects.as_caller(Method::GET, &bare, &[], Bytes::new());
        refused(PRIVATE, anonymous.await)?;
        self.saved().await?;
        match objects.get(&from, NO_TAG).await {
            Err(Failure::Changed) => {}
            Ok(_) => return Err(ProbeFailure::seen(MEANT, "it was read all the same")),
            Err(failure) => return Err(ProbeFailure::from_failure(MEANT, &failure)),
        }
        match objects.copy(&from, &to, NO_TAG).await {
            Ok(Copied::Changed) => {}
            Ok(Copied::Done) => {
                return Err(ProbeFailure::seen(COPY_MEANT, "it was copied all the same"));
            }
            Ok(Copied::Missing) => return Err(ProbeFailure::seen(COPY_MEANT, "it was not found")),
            Err(failure) => return Err(ProbeFailure::from_failure(COPY_MEANT, &failure)),
        }
        let copied = self.copied().await;
        let copied = copied.map_err(|failure| ProbeFailure::from_failure(COPIES, &failure))?;
        if copied == self.bytes {
            Ok(())
        } else {
            Err(ProbeFailure::seen(COPIES, "they are others"))
        }
    }

    async fn copied(&self) -> Result<Bytes, Failure> {
        let (from, to) = (self.key("form"), self.key("copy"));
        let head = self.objects.head(&from).await?.ok_or(Failure::Missing)?;
        self.objects.copy(&from, &to, &head.etag).await?;
        let head = self.objects.head(&to).await?.ok_or(Failure::Missing)?;
        let chunks: Vec<Bytes> = self
            .objects
            .get(&to, &head.etag)
            .await?
            .try_collect()
            .await?;
        Ok(chunks.concat().into())
    }

    async fn saved(&self) -> Probed {
        let query = [("response-content-disposition", "attachment; filename=\"x\"")];
        let link = self.objects.link(&self.key("form"), &query);
        let read = self
            .objects
            .as_caller(Method::GET, &link, &[], Bytes::new());
        let read = accepted(SAVED, read.await)?;
        let told = read.header("content-disposition").unwrap_or_default();
        if told.starts_with("attachment") && read.body == self.bytes {
            Ok(())
        } else {
            Err(ProbeFailure::seen(SAVED, "it is shown in place"))
        }
    }
}
