//! The schemas of requests to the Files routes.

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::record;

/// The declaration of the bytes. Other bytes never become a ready file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = CreateFile)]
pub struct CreateFileRequest {
    /// For display only.
    #[schema(max_length = 512, example = "bill of lading.pdf")]
    pub filename: String,
    #[schema(schema_with = record::media_type)]
    pub media_type: String,
    /// At most 20 MB for an image, 50 MB for a document, 1 GB for a video.
    #[schema(minimum = 1, example = 48_213)]
    pub size_bytes: u64,
    /// SHA-256 of the exact bytes, in hex.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    pub sha256: String,
    /// Time to live once the file is ready; 30 days by default.
    #[schema(minimum = 3600, maximum = 31_536_000, example = 2_592_000)]
    pub ttl_seconds: Option<u32>,
    /// Your tags, at most 4,096 bytes of JSON.
    #[schema(value_type = Option<Object>, example = json!({"order": 7}))]
    pub metadata: Option<Map<String, Value>>,
    /// The base64 SHA-256 of every part, in order. With them the object store refuses other
    /// bytes. Only for files larger than 8 MB.
    pub part_checksums: Option<Vec<String>>,
}

/// `{}` for a file that was uploaded in one POST; otherwise every part.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = CompleteFile)]
pub struct CompleteFileRequest {
    pub parts: Option<Vec<CompletedPartBody>>,
}

/// An uploaded part.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = CompletedPart)]
pub struct CompletedPartBody {
    #[schema(minimum = 1, example = 1)]
    pub part_number: u32,
    /// The `ETag` that the object store returned.
    #[schema(example = "\"b54357faf0632cce46e942fa68356b38\"")]
    pub etag: String,
    /// The base64 SHA-256 of the chunk.
    #[schema(example = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")]
    pub checksum_sha256: String,
}

/// Which parts need a new URL; all of them by default.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = RefreshParts)]
pub struct RefreshPartsRequest {
    #[schema(example = json!([1, 3]))]
    pub part_numbers: Option<Vec<u32>>,
}

/// The fields to change; the others stay.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = ChangeFile)]
pub struct ChangeFileRequest {
    /// Counts from now if the file is ready.
    #[schema(minimum = 3600, maximum = 31_536_000, example = 7200)]
    pub ttl_seconds: Option<u32>,
    /// Replaces all tags.
    #[schema(value_type = Option<Object>, example = json!({"order": 8}))]
    pub metadata: Option<Map<String, Value>>,
    /// A pinned file does not expire by its time to live.
    pub pinned: Option<bool>,
}
