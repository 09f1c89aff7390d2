//! `PATCH /files/{file_id}`.

use store::shard::file::FileChange;

use super::BodyFields;
use super::values::{parse_boolean, parse_metadata, parse_ttl};
use crate::api_error::FileApiError;

pub(crate) fn parse_change(body: &[u8]) -> Result<FileChange, FileApiError> {
    let mut fields = BodyFields::parse(body)?;
    let change = FileChange {
        ttl_seconds: fields.optional("ttl_seconds", parse_ttl),
        metadata: fields.optional("metadata", parse_metadata),
        pinned: fields.optional("pinned", parse_boolean),
    };
    fields.finish(Some(change))
}
