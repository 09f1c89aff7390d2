//! Operations on single objects: head, get, copy and delete.

use bytes::Bytes;
use http::{Method, StatusCode};

use super::ObjectStore;
use super::call::ObjectStoreCall;
use super::download::ObjectDownload;
use super::failure::ObjectStoreFailure;
use super::key::ObjectKey;
use super::xml::quote_etag;

/// An object's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectHead {
    pub size: u64,
    /// Including its quotes.
    pub etag: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyResult {
    Done,
    /// The source's `ETag` does not match.
    Changed,
    Missing,
}

impl ObjectStore {
    /// None: the object does not exist.
    pub async fn head(&self, key: &ObjectKey) -> Result<Option<ObjectHead>, ObjectStoreFailure> {
        const OPERATION: &str = "inspect an object";
        let answer = self
            .call(&self.object_call(OPERATION, Method::HEAD, key))
            .await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = answer.require_success(OPERATION)?;
        let size = answer
            .header("content-length")
            .and_then(|it| it.parse().ok());
        let etag = answer.header("etag").map(quote_etag);
        let head = size.zip(etag).map(|(size, etag)| ObjectHead { size, etag });
        head.map(Some)
            .ok_or(ObjectStoreFailure::Unreadable(OPERATION))
    }

    /// Reads the object only if it still has this `ETag`.
    pub async fn get(
        &self,
        key: &ObjectKey,
        etag: &str,
    ) -> Result<ObjectDownload, ObjectStoreFailure> {
        const OPERATION: &str = "read an object";
        let etag = quote_etag(etag);
        let call = ObjectStoreCall {
            headers: &[("if-match", &etag)],
            ..self.object_call(OPERATION, Method::GET, key)
        };
        let response = self.call_streaming(&call).await?;
        match response.status() {
            StatusCode::OK => Ok(ObjectDownload::new(
                response.into_body(),
                self.0.timeouts.chunk,
            )),
            StatusCode::NOT_FOUND => Err(ObjectStoreFailure::Missing),
            StatusCode::PRECONDITION_FAILED => Err(ObjectStoreFailure::Changed),
            status => Err(ObjectStoreFailure::Refused {
                what: OPERATION,
                status: status.as_u16(),
                code: String::new(),
            }),
        }
    }

    /// Copies within the store if the source still has this `ETag`. Large objects take long.
    pub async fn copy(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        etag: &str,
    ) -> Result<CopyResult, ObjectStoreFailure> {
        const OPERATION: &str = "copy an object";
        let (etag, source) = (
            quote_etag(etag),
            format!("/{}/{}", self.0.bucket, from.as_str()),
        );
        let call = ObjectStoreCall {
            headers: &[
                ("x-amz-copy-source", &source),
                ("x-amz-copy-source-if-match", &etag),
            ],
            timeout: self.0.timeouts.slow,
            ..self.object_call(OPERATION, Method::PUT, to)
        };
        let answer = self.call(&call).await?;
        match (answer.status, answer.error_code().as_str()) {
            (StatusCode::OK, "") => Ok(CopyResult::Done),
            (_, "PreconditionFailed") | (StatusCode::PRECONDITION_FAILED, _) => {
                Ok(CopyResult::Changed)
            }
            (_, "NoSuchKey") => Ok(CopyResult::Missing),
            _ => Err(answer.refusal(OPERATION)),
        }
    }

    /// Succeeds if the object does not exist.
    pub async fn delete(&self, key: &ObjectKey) -> Result<(), ObjectStoreFailure> {
        const OPERATION: &str = "delete an object";
        let answer = self
            .call(&self.object_call(OPERATION, Method::DELETE, key))
            .await?;
        if answer.status == StatusCode::NOT_FOUND && answer.error_code() != "NoSuchBucket" {
            return Ok(());
        }
        answer.require_success(OPERATION).map(drop)
    }

    pub(super) fn object_call<'a>(
        &self,
        what: &'static str,
        method: Method,
        key: &'a ObjectKey,
    ) -> ObjectStoreCall<'a> {
        ObjectStoreCall {
            operation: what,
            method,
            key: Some(key),
            query: &[],
            headers: &[],
            body: Bytes::new(),
            timeout: self.0.timeouts.call,
        }
    }
}
