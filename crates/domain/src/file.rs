//! A file: what a caller uploads, and the states it goes through.
//!
//! ```text
//! (create) ─► uploading ─complete─► validating ─► ready ─► expired
//!                 │                     │
//!                 └────────► failed ◄───┘          failed ─► expired (deleted)
//! ```
//! A file is ready only after its bytes were read, hashed, probed and scanned.

use std::time::Duration;

use crate::model::Capability;
use crate::time::Timestamp;

/// One MB of the contract.
const MB: u64 = 1 << 20;

pub const MAX_PDF_PAGES: u32 = 100;
pub const MAX_VIDEO_DURATION: Duration = Duration::from_mins(30);
pub const MAX_FILENAME_CHARS: usize = 512;
/// The size of the tags as JSON.
pub const MAX_METADATA_BYTES: usize = 4096;

/// How long a file lives once it is ready, in seconds.
pub const MIN_TTL_SECONDS: u32 = 3_600;
pub const MAX_TTL_SECONDS: u32 = 31_536_000;
pub const DEFAULT_TTL_SECONDS: u32 = 2_592_000;

/// Enums that are written as one string, in JSON and in rows.
macro_rules! string_enums {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($variant,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text)
            }
        }
    )*};
}

string_enums! {
    FileKind {
        Image "image",
        Document "document",
        Video "video",
    }
    /// The allowlist of media types.
    MediaType {
        Jpeg "image/jpeg",
        Png "image/png",
        Gif "image/gif",
        Webp "image/webp",
        Pdf "application/pdf",
        Text "text/plain",
        Csv "text/csv",
        Markdown "text/markdown",
        Mp4 "video/mp4",
        QuickTime "video/quicktime",
        Webm "video/webm",
        Matroska "video/x-matroska",
    }
    FileStatus {
        Uploading "uploading",
        Validating "validating",
        Ready "ready",
        Failed "failed",
        Expired "expired",
    }
    /// The result of the malware scan.
    ScanStatus {
        Pending "pending",
        Clean "clean",
        Infected "infected",
        Error "error",
        Timeout "timeout",
    }
    /// Why a file failed: the code of the 422, and `failure_reason`.
    FileFailureReason {
        SizeMismatch "size_mismatch",
        ChecksumMismatch "checksum_mismatch",
        MagicByteMismatch "magic_byte_mismatch",
        MalformedDocument "malformed_document",
        MalformedImage "malformed_image",
        MalformedVideo "malformed_video",
        TooManyPages "too_many_pages",
        VideoTooLong "video_too_long",
        EncryptedDocument "encrypted_document",
        MalwareDetected "malware_detected",
        ScanTimeout "scan_timeout",
        ScanLimitExceeded "scan_limit_exceeded",
        UploadMissing "upload_missing",
        UploadAborted "upload_aborted",
        UploadAbandoned "upload_abandoned",
    }
}

impl FileKind {
    pub const fn max_bytes(self) -> u64 {
        match self {
            Self::Image => 20 * MB,
            Self::Document => 50 * MB,
            Self::Video => 1024 * MB,
        }
    }

    /// The capability that a model needs for files of this kind.
    pub const fn capability(self) -> Capability {
        match self {
            Self::Image => Capability::Vision,
            Self::Document => Capability::Documents,
            Self::Video => Capability::Video,
        }
    }

    /// Why a file of this kind fails that cannot be parsed.
    pub const fn malformed_reason(self) -> FileFailureReason {
        match self {
            Self::Image => FileFailureReason::MalformedImage,
            Self::Document => FileFailureReason::MalformedDocument,
            Self::Video => FileFailureReason::MalformedVideo,
        }
    }
}

impl MediaType {
    pub const fn kind(self) -> FileKind {
        match self {
            Self::Jpeg | Self::Png | Self::Gif | Self::Webp => FileKind::Image,
            Self::Pdf | Self::Text | Self::Csv | Self::Markdown => FileKind::Document,
            Self::Mp4 | Self::QuickTime | Self::Webm | Self::Matroska => FileKind::Video,
        }
    }
}

impl FileStatus {
    /// Whether upload and validation are over.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Ready | Self::Failed | Self::Expired)
    }
}

impl FileFailureReason {
    /// The scan status of a file that failed for this reason.
    pub const fn scan_status(self) -> ScanStatus {
        match self {
            Self::MalwareDetected => ScanStatus::Infected,
            Self::ScanTimeout => ScanStatus::Timeout,
            Self::ScanLimitExceeded => ScanStatus::Error,
            Self::SizeMismatch
            | Self::ChecksumMismatch
            | Self::MagicByteMismatch
            | Self::MalformedDocument
            | Self::MalformedImage
            | Self::MalformedVideo
            | Self::TooManyPages
            | Self::VideoTooLong
            | Self::EncryptedDocument
            | Self::UploadMissing
            | Self::UploadAborted
            | Self::UploadAbandoned => ScanStatus::Pending,
        }
    }
}

/// SHA-256 of a file or a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

/// The caller's declaration of the bytes. Other bytes never become ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileDeclaration {
    pub media_type: MediaType,
    pub size_bytes: u64,
    pub sha256: Sha256,
}

/// What the probe read from the bytes. It sizes the hold of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStructure {
    Image {
        width: u32,
        height: u32,
    },
    /// Of a PDF.
    Pages(u32),
    Text,
    Video {
        milliseconds: u64,
    },
}

/// When a file that becomes ready `now` expires.
pub fn expires_at(now: Timestamp, ttl_seconds: u32) -> Timestamp {
    now + Duration::from_secs(u64::from(ttl_seconds))
}

/// A file that a load references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferencedFile {
    pub status: FileStatus,
    pub media_type: MediaType,
    pub size_bytes: u64,
    /// Known while the file is ready.
    pub structure: Option<FileStructure>,
    pub expires_at: Option<Timestamp>,
    pub pinned: bool,
}

impl ReferencedFile {
    /// Whether a load may reference it. Sweep keeps a file past its expiry while cargo still
    /// references it, but no new load may.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        let lives = self.pinned || self.expires_at.is_none_or(|end| now < end);
        self.status == FileStatus::Ready && lives
    }
}
