//! Upload sessions: the presigned grants, and when they expire.

use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::record;
use crate::timestamp::WireTimestamp;

/// The answer to `POST /files`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UploadSession)]
pub struct UploadSessionResponse {
    #[schema(example = "file_019b76da807b774b805000000000002a")]
    pub id: String,
    #[schema(schema_with = record::status)]
    pub status: &'static str,
    /// The project already has these bytes: use the id, there is nothing to upload.
    pub deduplicated: bool,
    /// Null when deduplicated.
    #[schema(required = true)]
    pub upload: Option<UploadGrantBody>,
}

/// The answer to `POST /files/{file_id}/parts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = RefreshedUpload)]
pub struct RefreshedUploadResponse {
    #[schema(example = "file_019b76da807b774b805000000000002a")]
    pub id: String,
    #[schema(schema_with = record::status)]
    pub status: &'static str,
    pub upload: UploadGrantBody,
}

/// One POST for files up to 8 MB, multipart for larger ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schema(as = Upload)]
pub enum UploadGrantBody {
    /// `multipart/form-data` with every field, then the file as the last field, named `file`.
    #[schema(title = "Post")]
    Post {
        #[schema(format = "uri")]
        url: String,
        /// Send them unchanged.
        #[serde(serialize_with = "in_order")]
        #[schema(value_type = std::collections::HashMap<String, String>)]
        fields: Vec<(String, String)>,
        expires_at: WireTimestamp,
    },
    /// PUT each chunk to the URL of its part.
    #[schema(title = "Multipart")]
    Multipart {
        /// Every chunk but the last has this size.
        #[schema(example = 16_777_216)]
        part_size_bytes: u64,
        parts: Vec<UploadPartBody>,
        /// The header that takes the base64 SHA-256 of the chunk.
        #[schema(value_type = String, example = "x-object-checksum-sha256")]
        checksum_header: &'static str,
        expires_at: WireTimestamp,
    },
}

/// Where to upload one chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = UploadPart)]
pub struct UploadPartBody {
    #[schema(minimum = 1, example = 1)]
    pub part_number: u32,
    #[schema(format = "uri")]
    pub url: String,
}

fn in_order<S: Serializer>(fields: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().map(|(name, value)| (name, value)))
}

#[cfg(test)]
mod tests {
    use domain::time::Timestamp;

    use super::*;

    fn moment() -> WireTimestamp {
        WireTimestamp("2026-01-01T00:15:00Z".parse::<Timestamp>().unwrap())
    }

    #[test]
    fn a_post_keeps_its_fields_in_order() {
        let upload = UploadGrantBody::Post {
            url: "http://store/bucket".to_owned(),
            fields: [("key", "staging/1"), ("Content-Type", "image/png")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            expires_at: moment(),
        };
        insta::assert_snapshot!(serde_json::to_string(&upload).unwrap(), @r#"{"type":"post","url":"http://store/bucket","fields":{"key":"staging/1","Content-Type":"image/png"},"expires_at":"2026-01-01T00:15:00.000000Z"}"#);
    }

    #[test]
    fn parts_name_their_header() {
        let upload = UploadGrantBody::Multipart {
            part_size_bytes: 16_777_216,
            parts: vec![UploadPartBody {
                part_number: 1,
                url: "http://store/bucket/1".to_owned(),
            }],
            checksum_header: "x-object-checksum-sha256",
            expires_at: moment(),
        };
        insta::assert_snapshot!(serde_json::to_string(&upload).unwrap(), @r#"{"type":"multipart","part_size_bytes":16777216,"parts":[{"part_number":1,"url":"http://store/bucket/1"}],"checksum_header":"x-object-checksum-sha256","expires_at":"2026-01-01T00:15:00.000000Z"}"#);
    }
}
