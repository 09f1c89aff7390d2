//! `POST /files`: checks the fields, then the media type, then the size limit of its kind.

use domain::file::{DEFAULT_TTL_SECONDS, FileDeclaration, MediaType, Sha256};
use domain::upload::UploadMethod;
use serde_json::value::RawValue;

use super::values::{
    parse_array, parse_base64_sha256, parse_filename, parse_metadata, parse_sha256, parse_size,
    parse_text, parse_ttl,
};
use super::{BodyFields, FieldMessage};
use crate::api_error::{ErrorCode, FileApiError};

/// A valid request for an upload session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UploadSessionRequest {
    pub(crate) filename: String,
    pub(crate) declared: FileDeclaration,
    pub(crate) ttl_seconds: u32,
    /// The text of a JSON object, unchanged.
    pub(crate) metadata: Option<Vec<u8>>,
    /// One for each part.
    pub(crate) part_checksums: Option<Vec<Sha256>>,
}

pub(crate) fn parse_create(body: &[u8]) -> Result<UploadSessionRequest, FileApiError> {
    let mut fields = BodyFields::parse(body)?;
    let filename = fields.required("filename", parse_filename);
    let media_type = fields.required("media_type", parse_text);
    let size_bytes = fields.required("size_bytes", parse_size);
    let sha256 = fields.required("sha256", parse_sha256);
    let ttl_seconds = fields.optional("ttl_seconds", parse_ttl);
    let metadata = fields.optional("metadata", parse_metadata);
    let parts = size_bytes.map_or(0, part_count);
    let part_checksums = fields.optional("part_checksums", |raw| parse_part_checksums(raw, parts));
    let given = || Some((filename?, media_type?, size_bytes?, sha256?));
    let (filename, media_type, size_bytes, sha256) = fields.finish(given())?;
    let media_type = parse_media_type(&media_type)?;
    check_size(media_type, size_bytes)?;
    Ok(UploadSessionRequest {
        filename,
        declared: FileDeclaration {
            media_type,
            size_bytes,
            sha256,
        },
        ttl_seconds: ttl_seconds.unwrap_or(DEFAULT_TTL_SECONDS),
        metadata,
        part_checksums,
    })
}

fn part_count(size_bytes: u64) -> u32 {
    match UploadMethod::of(size_bytes) {
        UploadMethod::SingleShot => 0,
        UploadMethod::Multipart { parts } => parts,
    }
}

fn parse_part_checksums(raw: &RawValue, parts: u32) -> Result<Vec<Sha256>, FieldMessage> {
    let given = parse_array(raw)?;
    if parts == 0 {
        return Err("is only for files of more than 8 MB, which are uploaded in parts".into());
    }
    if usize::try_from(parts) != Ok(given.len()) {
        return Err(format!("should have one checksum for each of the {parts} parts").into());
    }
    let read = given.iter().map(|one| parse_base64_sha256(one.as_str()));
    read.collect::<Result<_, _>>()
        .map_err(|_| "should be the base64 SHA-256 of each part, in order".into())
}

fn parse_media_type(media_type: &str) -> Result<MediaType, FileApiError> {
    MediaType::parse(media_type).ok_or_else(|| {
        let all: Vec<_> = MediaType::ALL.iter().map(|one| one.as_str()).collect();
        let message = format!(
            "This media type is not supported. Supported media types: {}.",
            all.join(", ")
        );
        FileApiError::with_code(ErrorCode::UnsupportedMediaType, message)
    })
}

fn check_size(media_type: MediaType, size_bytes: u64) -> Result<(), FileApiError> {
    let kind = media_type.kind();
    let max_bytes = kind.max_bytes();
    if size_bytes <= max_bytes {
        return Ok(());
    }
    let message = format!(
        "A file of kind {} has at most {max_bytes} bytes ({} MB). Make it smaller, or split it.",
        kind.as_str(),
        max_bytes >> 20,
    );
    Err(FileApiError::with_code(ErrorCode::FileTooLarge, message))
}
