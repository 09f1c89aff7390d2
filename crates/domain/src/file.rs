//! A file: what a caller uploads, and the states it goes through.
//!
//! ```text
//! (create) ─► uploading ─complete─► validating ─► ready ─► expired
//!                 │                     │
//!                 └────────► failed ◄───┘          failed ─► expired (deleted)
//! ```
//! Nothing is ever ready whose bytes were not read, hashed, probed and scanned.

use std::time::Duration;

use crate::model::Capability;
use crate::time::Timestamp;

/// One MB of the contract.
const MB: u64 = 1 << 20;

/// A PDF has at most so many pages.
pub const MOST_PAGES: u32 = 100;
/// A video is at most so long.
pub const LONGEST_VIDEO: Duration = Duration::from_mins(30);
pub const LONGEST_FILENAME: usize = 512;
/// Of the tags, serialized.
pub const MOST_METADATA: usize = 4096;

/// How long a file lives once it is ready, in seconds.
pub const SHORTEST_TTL: u32 = 3_600;
pub const LONGEST_TTL: u32 = 31_536_000;
pub const DEFAULT_TTL: u32 = 2_592_000;

/// Enums that are one word on the wire and in the row.
macro_rules! words {
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

words! {
    Kind {
        Image "image",
        Document "document",
        Video "video",
    }
    /// The allowlist.
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
    Status {
        Uploading "uploading",
        Validating "validating",
        Ready "ready",
        Failed "failed",
        Expired "expired",
    }
    /// What the malware scanner said.
    ScanStatus {
        Pending "pending",
        Clean "clean",
        Infected "infected",
        Error "error",
        Timeout "timeout",
    }
    /// Why a file failed: the code of the 422, and `failure_reason`.
    Flaw {
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

impl Kind {
    pub const fn most_bytes(self) -> u64 {
        match self {
            Self::Image => 20 * MB,
            Self::Document => 50 * MB,
            Self::Video => 1024 * MB,
        }
    }

    /// What a model must be able to read.
    pub const fn capability(self) -> Capability {
        match self {
            Self::Image => Capability::Vision,
            Self::Document => Capability::Documents,
            Self::Video => Capability::Video,
        }
    }

    /// A file of this kind that cannot be read.
    pub const fn malformed(self) -> Flaw {
        match self {
            Self::Image => Flaw::MalformedImage,
            Self::Document => Flaw::MalformedDocument,
            Self::Video => Flaw::MalformedVideo,
        }
    }
}

impl MediaType {
    pub const fn kind(self) -> Kind {
        match self {
            Self::Jpeg | Self::Png | Self::Gif | Self::Webp => Kind::Image,
            Self::Pdf | Self::Text | Self::Csv | Self::Markdown => Kind::Document,
            Self::Mp4 | Self::QuickTime | Self::Webm | Self::Matroska => Kind::Video,
        }
    }
}

impl Status {
    /// Nothing more is expected of the caller's bytes.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Ready | Self::Failed | Self::Expired)
    }
}

impl Flaw {
    /// What a failed file says of its scan.
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

/// What a caller says that the bytes are. Other bytes never become ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Declared {
    pub media_type: MediaType,
    pub size_bytes: u64,
    pub sha256: Sha256,
}

/// What was read from the bytes themselves; the hold of a load is sized by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structure {
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

/// When a file that is ready from `now` on is no longer.
pub fn expiry(now: Timestamp, ttl_seconds: u32) -> Timestamp {
    now + Duration::from_secs(u64::from(ttl_seconds))
}

/// A file as a load sees it that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Referenced {
    pub status: Status,
    pub media_type: MediaType,
    pub size_bytes: u64,
    /// Of its bytes, while it is ready.
    pub structure: Option<Structure>,
    pub expires_at: Option<Timestamp>,
    pub pinned: bool,
}

impl Referenced {
    /// Whether a load may name it. One that is past its time is not swept away while
    /// others still name it, but it takes on no more.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        let lives = self.pinned || self.expires_at.is_none_or(|end| now < end);
        self.status == Status::Ready && lives
    }
}
