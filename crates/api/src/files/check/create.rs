//! `POST /files`: fields first, then the media type, then the size that its kind allows.

use axum::http::StatusCode;
use domain::file::{DEFAULT_TTL, Declared, MediaType, Sha256};
use domain::upload::Form;
use serde_json::value::RawValue;

use super::values::{base64_sha256, filename, list, sha256, size, tags, text, ttl};
use super::{Fields, Wrong};
use crate::problem::FileProblem;

/// A session that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) filename: String,
    pub(crate) declared: Declared,
    pub(crate) ttl_seconds: u32,
    /// A JSON object, as given.
    pub(crate) metadata: Option<Vec<u8>>,
    /// One for each part.
    pub(crate) part_checksums: Option<Vec<Sha256>>,
}

pub(crate) fn create(body: &[u8]) -> Result<Asked, FileProblem> {
    let mut fields = Fields::of(body)?;
    let filename = fields.required("filename", filename);
    let media_type = fields.required("media_type", text);
    let size_bytes = fields.required("size_bytes", size);
    let sha256 = fields.required("sha256", sha256);
    let ttl_seconds = fields.optional("ttl_seconds", ttl);
    let metadata = fields.optional("metadata", tags);
    let parts = size_bytes.map_or(0, parts);
    let part_checksums = fields.optional("part_checksums", |raw| checksums(raw, parts));
    let given = || Some((filename?, media_type?, size_bytes?, sha256?));
    let (filename, media_type, size_bytes, sha256) = fields.finish(given())?;
    let media_type = supported(&media_type)?;
    fits(media_type, size_bytes)?;
    Ok(Asked {
        filename,
        declared: Declared {
            media_type,
            size_bytes,
            sha256,
        },
        ttl_seconds: ttl_seconds.unwrap_or(DEFAULT_TTL),
        metadata,
        part_checksums,
    })
}

fn parts(size_bytes: u64) -> u32 {
    match Form::of(size_bytes) {
        Form::SingleShot => 0,
        Form::Multipart { parts } => parts,
    }
}

fn checksums(raw: &RawValue, parts: u32) -> Result<Vec<Sha256>, Wrong> {
    let given = list(raw)?;
    if parts == 0 {
        return Err("is for files of more than 8 MB, which are sent in parts".into());
    }
    if usize::try_from(parts) != Ok(given.len()) {
        return Err(format!("should have one checksum for each of the {parts} parts").into());
    }
    let read = given.iter().map(|one| base64_sha256(one.as_str()));
    read.collect::<Result<_, _>>()
        .map_err(|_| "should be the base64 SHA-256 of each part, in order".into())
}

fn supported(media_type: &str) -> Result<MediaType, FileProblem> {
    MediaType::parse(media_type).ok_or_else(|| {
        let all: Vec<_> = MediaType::ALL.iter().map(|one| one.as_str()).collect();
        let message = format!(
            "Files of this media type cannot be stored. Supported: {}.",
            all.join(", ")
        );
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        FileProblem::coded(status, "unsupported_media_type", message)
    })
}

fn fits(media_type: MediaType, size_bytes: u64) -> Result<(), FileProblem> {
    let kind = media_type.kind();
    let most = kind.most_bytes();
    if size_bytes <= most {
        return Ok(());
    }
    let message = format!(
        "A file of kind {} has at most {most} bytes ({} MB). Make it smaller, or split it.",
        kind.as_str(),
        most >> 20,
    );
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    Err(FileProblem::coded(status, "file_too_large", message))
}
