//! Files that come in parts.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::file::{MediaType, Sha256};
use domain::id::FileId;
use http::{Method, StatusCode};
use roxmltree::Node;

use super::Objects;
use super::call::Call;
use super::failure::Failure;
use super::key::Key;
use super::xml;

/// A thousand parts a page; ten thousand are the most that a store keeps.
const MOST_PAGES: usize = 16;

/// What a store says when it is the parts that are wrong, and not it or we.
const THE_PARTS: [&str; 9] = [
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

/// A part that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPart {
    pub number: u32,
    /// With its quotes.
    pub etag: String,
    pub size: u64,
}

/// A part as the caller says that it put it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedPart {
    pub number: u32,
    pub etag: String,
    /// Only of an upload that was begun with checksums.
    pub checksum: Option<Sha256>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finished {
    Done,
    /// Never begun, aborted, or finished before: the object itself tells.
    NoSuchUpload,
    /// These parts with these tags are not there; the store's code.
    Refused(String),
}

impl Objects {
    /// The store's name for the upload. One that nobody learned of is found by listing.
    pub async fn begin_multipart(
        &self,
        file: FileId,
        media_type: MediaType,
        checksummed: bool,
    ) -> Result<String, Failure> {
        self.begin_multipart_at(&self.staging(file), media_type, checksummed)
            .await
    }

    pub(super) async fn begin_multipart_at(
        &self,
        key: &Key,
        media_type: MediaType,
        checksummed: bool,
    ) -> Result<String, Failure> {
        const WHAT: &str = "begin an upload in parts";
        let mut headers = vec![("content-type", media_type.as_str())];
        headers.extend(checksummed.then_some(("x-amz-checksum-algorithm", "SHA256")));
        let call = Call {
            query: &[("uploads", "")],
            headers: &headers,
            ..self.about(WHAT, Method::POST, key)
        };
        let answer = self.call(&call).await?.accepted(WHAT)?;
        xml::read(&answer.body, WHAT, |root| {
            let upload = xml::child(root, "UploadId").map(str::trim);
            upload.filter(|it| !it.is_empty()).map(str::to_owned)
        })
    }

    /// What has arrived, in the order of the numbers. None: no such upload.
    pub async fn parts(
        &self,
        file: FileId,
        upload: &str,
    ) -> Result<Option<Vec<StoredPart>>, Failure> {
        const WHAT: &str = "list the parts of an upload";
        let key = self.staging(file);
        let (mut parts, mut after) = (Vec::new(), String::new());
        for _ in 0..MOST_PAGES {
            let mut query = vec![("uploadId", upload)];
            query.extend((!after.is_empty()).then_some(("part-number-marker", after.as_str())));
            let call = Call {
                query: &query,
                ..self.about(WHAT, Method::GET, &key)
            };
            let answer = self.call(&call).await?;
            if answer.status == StatusCode::NOT_FOUND && answer.code() != "NoSuchBucket" {
                return Ok(None);
            }
            let answer = answer.accepted(WHAT)?;
            let (page, next) = xml::read(&answer.body, WHAT, read_page)?;
            parts.extend(page);
            match next {
                Some(next) => after = next,
                None => return Ok(Some(parts)),
            }
        }
        Err(Failure::Unreadable(WHAT))
    }

    /// Makes the object of its parts. Made again after an answer that was lost, it may find no upload.
    pub async fn finish_multipart(
        &self,
        file: FileId,
        upload: &str,
        parts: &[FinishedPart],
    ) -> Result<Finished, Failure> {
        self.finish_multipart_at(&self.staging(file), upload, parts)
            .await
    }

    pub(super) async fn finish_multipart_at(
        &self,
        key: &Key,
        upload: &str,
        parts: &[FinishedPart],
    ) -> Result<Finished, Failure> {
        const WHAT: &str = "put the parts of an upload together";
        let call = Call {
            query: &[("uploadId", upload)],
            headers: &[("content-type", "application/xml")],
            body: document(parts).into(),
            within: self.0.patience.slow,
            ..self.about(WHAT, Method::POST, key)
        };
        let answer = self.call(&call).await?;
        let code = answer.code();
        match (answer.status.as_u16(), code.as_str()) {
            // A 200 may carry an error: it was sent before the end was known.
            (200, "") => Ok(Finished::Done),
            (_, "NoSuchUpload") => Ok(Finished::NoSuchUpload),
            (200 | 400, refused) if THE_PARTS.contains(&refused) => Ok(Finished::Refused(code)),
            _ => Err(answer.refusal(WHAT)),
        }
    }

    /// The parts are given up. None there is fine.
    pub async fn abort_multipart(&self, file: FileId, upload: &str) -> Result<(), Failure> {
        self.abort_multipart_at(&self.staging(file), upload).await
    }

    pub async fn abort_multipart_at(&self, key: &Key, upload: &str) -> Result<(), Failure> {
        const WHAT: &str = "give up an upload in parts";
        let call = Call {
            query: &[("uploadId", upload)],
            ..self.about(WHAT, Method::DELETE, key)
        };
        let answer = self.call(&call).await?;
        if answer.status == StatusCode::NOT_FOUND && answer.code() != "NoSuchBucket" {
            return Ok(());
        }
        answer.accepted(WHAT).map(drop)
    }
}

fn read_page(root: Node<'_, '_>) -> Option<(Vec<StoredPart>, Option<String>)> {
    let parts = xml::children(root, "Part").map(|part| {
        Some(StoredPart {
            number: xml::child(part, "PartNumber")?.trim().parse().ok()?,
            etag: xml::quoted(xml::child(part, "ETag")?),
            size: xml::child(part, "Size")?.trim().parse().ok()?,
        })
    });
    let next = xml::next(root, "NextPartNumberMarker").map(str::to_owned);
    Some((parts.collect::<Option<_>>()?, next))
}

fn document(parts: &[FinishedPart]) -> String {
    let mut text =
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">".to_owned();
    for part in parts {
        let etag = xml::escaped(&xml::quoted(&part.etag));
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
