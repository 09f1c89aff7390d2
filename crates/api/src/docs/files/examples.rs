//! The example bodies of the Files routes.

use domain::file::{FileFailureReason, FileStatus, ScanStatus};
use domain::time::Timestamp;
use serde_json::{Value, json};
use wire::file::record::metadata_or_empty;
use wire::file::{
    FileContentResponse, FileRecord, UploadGrantBody, UploadPartBody, UploadSessionResponse,
};
use wire::timestamp::WireTimestamp;

const EXAMPLE_FILE_ID: &str = "file_019b76da807b774b805000000000002a";
const EXAMPLE_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(super) fn create_requests() -> [(&'static str, Value); 3] {
    let part = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    [
        (
            "A document, as a single-shot upload",
            json!({
                "filename": "bill of lading.pdf", "media_type": "application/pdf",
                "size_bytes": 48_213, "sha256": EXAMPLE_SHA256,
            }),
        ),
        (
            "With a time to live and your own metadata",
            json!({
                "filename": "crane.png", "media_type": "image/png", "size_bytes": 67,
                "sha256": EXAMPLE_SHA256, "ttl_seconds": 3600, "metadata": {"order": 7},
            }),
        ),
        (
            "A video in two parts, with their checksums",
            json!({
                "filename": "crane.mp4", "media_type": "video/mp4", "size_bytes": 17_825_792,
                "sha256": EXAMPLE_SHA256, "part_checksums": [part, part],
            }),
        ),
    ]
}

pub(super) fn post_upload() -> UploadGrantBody {
    let fields = [
        ("key", "staging/005/019b76da807b774b805000000000002a"),
        ("Content-Type", "application/pdf"),
        ("policy", "eyJleHBpcmF0aW9uIjoi…"),
        ("x-amz-signature", "…"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    UploadGrantBody::Post {
        url: "https://storage.example/longshore".to_owned(),
        fields: fields.to_vec(),
        expires_at: moment("2026-11-15T09:45:00Z"),
    }
}

pub(super) fn multipart_upload() -> UploadGrantBody {
    let part = |part_number| UploadPartBody {
        part_number,
        url: format!("https://storage.example/longshore/staging/…?partNumber={part_number}&…"),
    };
    UploadGrantBody::Multipart {
        part_size_bytes: domain::upload::PART_BYTES,
        parts: vec![part(1), part(2)],
        checksum_header: "x-object-checksum-sha256",
        expires_at: moment("2026-11-15T09:45:00Z"),
    }
}

pub(super) fn session(upload: Option<UploadGrantBody>) -> UploadSessionResponse {
    let status = if upload.is_some() {
        FileStatus::Uploading
    } else {
        FileStatus::Ready
    };
    UploadSessionResponse {
        id: EXAMPLE_FILE_ID.to_owned(),
        status: status.as_str(),
        deduplicated: upload.is_none(),
        upload,
    }
}

pub(super) fn ready_record() -> FileRecord {
    FileRecord {
        id: EXAMPLE_FILE_ID.to_owned(),
        status: FileStatus::Ready.as_str(),
        kind: "document",
        filename: "bill of lading.pdf".to_owned(),
        media_type: "application/pdf",
        size_bytes: 48_213,
        sha256: EXAMPLE_SHA256.to_owned(),
        scan_status: ScanStatus::Clean.as_str(),
        failure_reason: None,
        ttl_seconds: domain::file::DEFAULT_TTL_SECONDS,
        expires_at: moment("2026-12-15T09:31:00Z"),
        pinned: false,
        active_ref_count: 0,
        metadata: metadata_or_empty(Some(br#"{"order":7}"#.to_vec())),
        created_at: moment("2026-11-15T09:30:00Z"),
    }
}

pub(super) fn uploading_record() -> FileRecord {
    FileRecord {
        status: FileStatus::Uploading.as_str(),
        scan_status: ScanStatus::Pending.as_str(),
        expires_at: moment("2026-12-15T09:45:00Z"),
        ..ready_record()
    }
}

pub(super) fn validating_record() -> FileRecord {
    FileRecord {
        status: FileStatus::Validating.as_str(),
        ..uploading_record()
    }
}

pub(super) fn failed_record(flaw: FileFailureReason) -> FileRecord {
    FileRecord {
        status: FileStatus::Failed.as_str(),
        failure_reason: Some(flaw.as_str()),
        scan_status: flaw.scan_status().as_str(),
        ..uploading_record()
    }
}

pub(super) fn expired_record() -> FileRecord {
    FileRecord {
        status: FileStatus::Expired.as_str(),
        ..ready_record()
    }
}

pub(super) fn content() -> FileContentResponse {
    FileContentResponse {
        id: EXAMPLE_FILE_ID.to_owned(),
        download_url: "https://storage.example/longshore/files/…".to_owned(),
        expires_at: moment("2026-11-15T09:36:00Z"),
        filename: "bill of lading.pdf".to_owned(),
        media_type: "application/pdf",
        size_bytes: 48_213,
    }
}

fn moment(text: &str) -> WireTimestamp {
    WireTimestamp(text.parse::<Timestamp>().unwrap_or_default())
}
