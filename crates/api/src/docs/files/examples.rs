//! Bodies that the pages of files show.

use domain::file::{Flaw, ScanStatus, Status};
use domain::time::Timestamp;
use serde_json::{Value, json};
use wire::file::record::tags;
use wire::file::{Content, FileRecord, Part, Session, Upload};
use wire::moment::Moment;

const FILE: &str = "file_019b76da807b774b805000000000002a";
const SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(super) fn creations() -> [(&'static str, Value); 3] {
    let part = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    [
        (
            "A document, sent in one POST",
            json!({
                "filename": "bill of lading.pdf", "media_type": "application/pdf",
                "size_bytes": 48_213, "sha256": SHA256,
            }),
        ),
        (
            "With a time to live and your own tags",
            json!({
                "filename": "crane.png", "media_type": "image/png", "size_bytes": 67,
                "sha256": SHA256, "ttl_seconds": 3600, "metadata": {"order": 7},
            }),
        ),
        (
            "A video in two parts whose checksums are known",
            json!({
                "filename": "quay.mp4", "media_type": "video/mp4", "size_bytes": 17_825_792,
                "sha256": SHA256, "part_checksums": [part, part],
            }),
        ),
    ]
}

pub(super) fn post() -> Upload {
    let fields = [
        ("key", "staging/005/019b76da807b774b805000000000002a"),
        ("Content-Type", "application/pdf"),
        ("policy", "eyJleHBpcmF0aW9uIjoi…"),
        ("x-amz-signature", "…"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Upload::Post {
        url: "https://storage.example/longshore".to_owned(),
        fields: fields.to_vec(),
        expires_at: moment("2026-11-15T09:45:00Z"),
    }
}

pub(super) fn parts() -> Upload {
    let part = |part_number| Part {
        part_number,
        url: format!("https://storage.example/longshore/staging/…?partNumber={part_number}&…"),
    };
    Upload::Multipart {
        part_size_bytes: domain::upload::PART_BYTES,
        parts: vec![part(1), part(2)],
        checksum_header: "x-object-checksum-sha256",
        expires_at: moment("2026-11-15T09:45:00Z"),
    }
}

pub(super) fn session(upload: Option<Upload>) -> Session {
    let status = if upload.is_some() {
        Status::Uploading
    } else {
        Status::Ready
    };
    Session {
        id: FILE.to_owned(),
        status: status.as_str(),
        deduplicated: upload.is_none(),
        upload,
    }
}

pub(super) fn ready() -> FileRecord {
    FileRecord {
        id: FILE.to_owned(),
        status: Status::Ready.as_str(),
        kind: "document",
        filename: "bill of lading.pdf".to_owned(),
        media_type: "application/pdf",
        size_bytes: 48_213,
        sha256: SHA256.to_owned(),
        scan_status: ScanStatus::Clean.as_str(),
        failure_reason: None,
        ttl_seconds: domain::file::DEFAULT_TTL,
        expires_at: Some(moment("2026-12-15T09:31:00Z")),
        pinned: false,
        active_ref_count: 0,
        metadata: tags(Some(br#"{"order":7}"#.to_vec())),
        created_at: moment("2026-11-15T09:30:00Z"),
    }
}

pub(super) fn uploading() -> FileRecord {
    FileRecord {
        status: Status::Uploading.as_str(),
        scan_status: ScanStatus::Pending.as_str(),
        expires_at: None,
        ..ready()
    }
}

pub(super) fn validating() -> FileRecord {
    FileRecord {
        status: Status::Validating.as_str(),
        ..uploading()
    }
}

pub(super) fn failed(flaw: Flaw) -> FileRecord {
    FileRecord {
        status: Status::Failed.as_str(),
        failure_reason: Some(flaw.as_str()),
        scan_status: flaw.scan_status().as_str(),
        ..uploading()
    }
}

pub(super) fn expired() -> FileRecord {
    FileRecord {
        status: Status::Expired.as_str(),
        ..ready()
    }
}

pub(super) fn content() -> Content {
    Content {
        id: FILE.to_owned(),
        download_url: "https://storage.example/longshore/files/…".to_owned(),
        expires_at: moment("2026-11-15T09:36:00Z"),
        filename: "bill of lading.pdf".to_owned(),
        media_type: "application/pdf",
        size_bytes: 48_213,
    }
}

fn moment(text: &str) -> Moment {
    Moment(text.parse::<Timestamp>().unwrap_or_default())
}
