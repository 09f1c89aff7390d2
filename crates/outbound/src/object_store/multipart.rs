//! Multipart uploads.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::file::{MediaType, Sha256};
use domain::id::FileId;
use http::{Method, StatusCode};
use roxmltree::Node;

use super::ObjectStore;
use super::call::ObjectStoreCall;
use super::failure::ObjectStoreFailure;
use super::key::ObjectKey;
use super::xml;

/// A page has a thousand parts, and an upload at most ten thousand.
const MAX_PART_PAGES: usize = 16;

/// Error codes that mean that the caller's parts are wrong.
const INVALID_PARTS_CODES: [&str; 9] = [
    "BadDigest",
    "EntityTooLarge",
    "EntityTooSmall",
    "InvalidArgument",
    "InvalidDigest",
    "InvalidPart",
    "InvalidPartOrder",
    "InvalidRequest",
    "MalformedXML",
];

/// A part that the store has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPart {
    pub number: u32,
    /// Including its quotes.
    pub etag: String,
    pub size: u64,
}

/// A part as the caller reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedPart {
    pub number: u32,
    pub etag: String,
    /// Only for uploads created with checksums.
    pub checksum: Option<Sha256>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MultipartCompletion {
    Done,
    /// Never created, aborted, or completed before. Check whether the object exists.
    NoSuchUpload,
    /// The store does not have these parts. Contains its error code.
    Refused(String),
}

impl ObjectStore {
    /// Returns the upload id. If the response is lost, patrol finds the upload by listing.
    pub async fn begin_multipart(
        &self,
        file: FileId,
        media_type: MediaType,
        checksummed: bool,
    ) -> Result<String, ObjectStoreFailure> {
        self.begin_multipart_at(&self.staging_key(file), media_type, checksummed)
            .await
    }

    pub(super) async fn begin_multipart_at(
        &self,
        key: &ObjectKey,
        media_type: MediaType,
        checksummed: bool,
    ) -> Result<String, ObjectStoreFailure> {
        const OPERATION: &str = "create a multipart upload";
        let mut headers = vec![("content-type", media_type.as_str())];
        headers.extend(checksummed.then_some(("x-amz-checksum-algorithm", "SHA256")));
        let call = ObjectStoreCall {
            query: &[("uploads", "")],
            headers: &headers,
            ..self.object_call(OPERATION, Method::POST, key)
        };
        let answer = self.call(&call).await?.require_success(OPERATION)?;
        xml::parse_document(&answer.body, OPERATION, |root| {
            let upload = xml::child_text(root, "UploadId").map(str::trim);
            upload.filter(|it| !it.is_empty()).map(str::to_owned)
        })
    }

    /// The received parts in order of their numbers. None: no such upload.
    pub async fn list_parts(
        &self,
        file: FileId,
        upload: &str,
    ) -> Result<Option<Vec<StoredPart>>, ObjectStoreFailure> {
        const OPERATION: &str = "list the parts of a multipart upload";
        let key = self.staging_key(file);
        let (mut parts, mut after) = (Vec::new(), String::new());
        for _ in 0..MAX_PART_PAGES {
            let mut query = vec![("uploadId", upload)];
            query.extend((!after.is_empty()).then_some(("part-number-marker", after.as_str())));
            let call = ObjectStoreCall {
                query: &query,
                ..self.object_call(OPERATION, Method::GET, &key)
            };
            let answer = self.call(&call).await?;
            if answer.status == StatusCode::NOT_FOUND && answer.error_code() != "NoSuchBucket" {
                return Ok(None);
            }
            let answer = answer.require_success(OPERATION)?;
            let (page, next) = xml::parse_document(&answer.body, OPERATION, parse_parts_page)?;
            parts.extend(page);
            match next {
                Some(next) => after = next,
                None => return Ok(Some(parts)),
            }
        }
        Err(ObjectStoreFailure::Unreadable(OPERATION))
    }

    /// Joins the parts into the object. A retry after a lost response may find no upload.
    pub async fn complete_multipart(
        &self,
        file: FileId,
        upload: &str,
        parts: &[UploadedPart],
    ) -> Result<MultipartCompletion, ObjectStoreFailure> {
        self.complete_multipart_at(&self.staging_key(file), upload, parts)
            .await
    }

    pub(super) async fn complete_multipart_at(
        &self,
        key: &ObjectKey,
        upload: &str,
        parts: &[UploadedPart],
    ) -> Result<MultipartCompletion, ObjectStoreFailure> {
        const OPERATION: &str = "complete a multipart upload";
        let call = ObjectStoreCall {
            query: &[("uploadId", upload)],
            headers: &[("content-type", "application/xml")],
            body: completion_document(parts).into(),
            timeout: self.0.timeouts.slow,
            ..self.object_call(OPERATION, Method::POST, key)
        };
        let answer = self.call(&call).await?;
        let code = answer.error_code();
        match (answer.status.as_u16(), code.as_str()) {
            // A 200 may carry an error: the store sends the status before it knows the result.
            (200, "") => Ok(MultipartCompletion::Done),
            (_, "NoSuchUpload") => Ok(MultipartCompletion::NoSuchUpload),
            (200 | 400, refused) if INVALID_PARTS_CODES.contains(&refused) => {
                Ok(MultipartCompletion::Refused(code))
            }
            _ => Err(answer.refusal(OPERATION)),
        }
    }

    /// Aborts the upload. Succeeds if there is none.
    pub async fn abort_multipart(
        &self,
        file: FileId,
        upload: &str,
    ) -> Result<(), ObjectStoreFailure> {
        self.abort_multipart_at(&self.staging_key(file), upload)
            .await
    }

    pub async fn abort_multipart_at(
        &self,
        key: &ObjectKey,
        upload: &str,
    ) -> Result<(), ObjectStoreFailure> {
        const OPERATION: &str = "abort a multipart upload";
        let call = ObjectStoreCall {
            query: &[("uploadId", upload)],
            ..self.object_call(OPERATION, Method::DELETE, key)
        };
        let answer = self.call(&call).await?;
        if answer.status == StatusCode::NOT_FOUND && answer.error_code() != "NoSuchBucket" {
            return Ok(());
        }
        answer.require_success(OPERATION).map(drop)
    }
}

fn parse_parts_page(root: Node<'_, '_>) -> Option<(Vec<StoredPart>, Option<String>)> {
    let parts = xml::children(root, "Part").map(|part| {
        Some(StoredPart {
            number: xml::child_text(part, "PartNumber")?.trim().parse().ok()?,
            etag: xml::quote_etag(xml::child_text(part, "ETag")?),
            size: xml::child_text(part, "Size")?.trim().parse().ok()?,
        })
    });
    let next = xml::next_page_marker(root, "NextPartNumberMarker").map(str::to_owned);
    Some((parts.collect::<Option<_>>()?, next))
}

fn completion_document(parts: &[UploadedPart]) -> String {
    let mut text =
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">".to_owned();
    for part in parts {
        let etag = xml::escape(&xml::quote_etag(&part.etag));
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "<Part><PartNumber>{}</PartNumber><ETag>{etag}</ETag>",
            part.number
        );
        if let Some(Sha256(digest)) = &part.checksum {
            let digest = BASE64.encode(digest);
            let _ = write!(text, "<ChecksumSHA256>{digest}</ChecksumSHA256>");
        }
        text.push_str("</Part>");
    }
    text.push_str("</CompleteMultipartUpload>");
    text
}
