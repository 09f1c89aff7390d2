//! The record of a file, as every route shows it.

use domain::file::{FileFailureReason, FileKind, FileStatus, MediaType, ScanStatus};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

use crate::timestamp::WireTimestamp;

/// The record of one file. Every field is always present.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = File)]
pub struct FileRecord {
    #[schema(example = "file_019b76da807b774b805000000000002a")]
    pub id: String,
    #[schema(schema_with = status)]
    pub status: &'static str,
    #[schema(schema_with = kind)]
    pub kind: &'static str,
    /// For display only.
    #[schema(max_length = 512, example = "bill of lading.pdf")]
    pub filename: String,
    #[schema(schema_with = media_type)]
    pub media_type: &'static str,
    #[schema(example = 48_213)]
    pub size_bytes: u64,
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
    #[schema(schema_with = scan_status)]
    pub scan_status: &'static str,
    /// Why a file failed; null otherwise.
    #[schema(required = true, schema_with = failure_reason)]
    pub failure_reason: Option<&'static str>,
    /// Time to live once the file is ready.
    #[schema(minimum = 3600, maximum = 31_536_000, example = 2_592_000)]
    pub ttl_seconds: u32,
    /// Until the file is ready, provisional: as if it became ready when its first grant expires.
    pub expires_at: WireTimestamp,
    /// A pinned file does not expire by its time to live.
    pub pinned: bool,
    /// How many cargo in flight reference it.
    #[schema(example = 0)]
    pub active_ref_count: u64,
    /// Your tags, as given.
    #[schema(value_type = Object, example = json!({"order": 7}))]
    pub metadata: Box<RawValue>,
    pub created_at: WireTimestamp,
}

/// A page of files, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FileList)]
pub struct FileListResponse {
    pub files: Vec<FileRecord>,
    /// The `cursor` of the next page; null when there are no older files.
    #[schema(required = true, example = "MQGbdtqAe3dLgFAAAAAAACo")]
    pub next_cursor: Option<String>,
}

/// Where to download a ready file, for five minutes and without an API key.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FileContent)]
pub struct FileContentResponse {
    #[schema(example = "file_019b76da807b774b805000000000002a")]
    pub id: String,
    #[schema(format = "uri")]
    pub download_url: String,
    pub expires_at: WireTimestamp,
    #[schema(example = "bill of lading.pdf")]
    pub filename: String,
    #[schema(schema_with = media_type)]
    pub media_type: &'static str,
    #[schema(example = 48_213)]
    pub size_bytes: u64,
}

/// The tags as given; an empty object if there are none.
pub fn metadata_or_empty(metadata: Option<Vec<u8>>) -> Box<RawValue> {
    let none = || crate::tracking::raw_json(b"{}".to_vec());
    let given = metadata.and_then(crate::tracking::raw_json).or_else(none);
    given.unwrap_or_else(|| RawValue::NULL.to_owned())
}

pub(super) fn status() -> Object {
    one_of(FileStatus::ALL.iter().map(|one| one.as_str()))
}

fn kind() -> Object {
    one_of(FileKind::ALL.iter().map(|one| one.as_str()))
}

pub(super) fn media_type() -> Object {
    one_of(MediaType::ALL.iter().map(|one| one.as_str()))
}

fn scan_status() -> Object {
    one_of(ScanStatus::ALL.iter().map(|one| one.as_str()))
}

fn failure_reason() -> Object {
    let reasons = FileFailureReason::ALL
        .iter()
        .map(|one| Value::from(one.as_str()));
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(reasons.chain([Value::Null])))
        .build()
}

fn one_of(words: impl Iterator<Item = &'static str>) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_tags_has_an_empty_object() {
        assert_eq!(metadata_or_empty(None).get(), "{}");
        assert_eq!(
            metadata_or_empty(Some(br#"{"b":1,"a":2}"#.to_vec())).get(),
            r#"{"b":1,"a":2}"#
        );
    }

    #[test]
    fn every_field_is_always_there() {
        let moment = |text: &str| WireTimestamp(text.parse().unwrap());
        let record = FileRecord {
            id: "file_019b76da807b774b805000000000002a".to_owned(),
            status: FileStatus::Uploading.as_str(),
            kind: FileKind::Image.as_str(),
            filename: "crane.png".to_owned(),
            media_type: MediaType::Png.as_str(),
            size_bytes: 67,
            sha256: "00".repeat(32),
            scan_status: ScanStatus::Pending.as_str(),
            failure_reason: None,
            ttl_seconds: 3600,
            expires_at: moment("2026-01-01T01:15:00Z"),
            pinned: false,
            active_ref_count: 0,
            metadata: metadata_or_empty(None),
            created_at: moment("2026-01-01T00:00:00Z"),
        };
        insta::assert_snapshot!(serde_json::to_string(&record).unwrap(), @r#"{"id":"file_019b76da807b774b805000000000002a","status":"uploading","kind":"image","filename":"crane.png","media_type":"image/png","size_bytes":67,"sha256":"0000000000000000000000000000000000000000000000000000000000000000","scan_status":"pending","failure_reason":null,"ttl_seconds":3600,"expires_at":"2026-01-01T01:15:00.000000Z","pinned":false,"active_ref_count":0,"metadata":{},"created_at":"2026-01-01T00:00:00.000000Z"}"#);
    }
}
