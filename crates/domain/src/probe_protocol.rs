//! The protocol of the probe: one line from the child that read the file to its parent.

use serde::{Deserialize, Serialize};

use crate::file::{
    FileFailureReason, FileKind, FileStructure, MAX_PDF_PAGES, MAX_VIDEO_DURATION, MediaType,
};

#[cfg(test)]
mod tests;

/// The child prints this once its sandbox is in force. A file is not the cause of an earlier end.
pub const READY_LINE: &str = "ready\n";
/// The parent reads no more than this.
pub const MAX_LINE_BYTES: usize = 4096;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ProbeLine {
    Image { width: u32, height: u32 },
    Pages(u32),
    Text,
    Video { milliseconds: u64 },
    Flaw(String),
}

/// The line, without the newline.
pub fn encode_result(found: Result<FileStructure, FileFailureReason>) -> String {
    let line = match found {
        Ok(FileStructure::Image { width, height }) => ProbeLine::Image { width, height },
        Ok(FileStructure::Pages(pages)) => ProbeLine::Pages(pages),
        Ok(FileStructure::Text) => ProbeLine::Text,
        Ok(FileStructure::Video { milliseconds }) => ProbeLine::Video { milliseconds },
        Err(flaw) => ProbeLine::Flaw(flaw.as_str().to_owned()),
    };
    // Strings and numbers always serialize.
    serde_json::to_string(&line).unwrap_or_default()
}

/// Decodes a line for a file of that media type. None if a correct child never prints it.
pub fn decode_result(
    media_type: MediaType,
    line: &str,
) -> Option<Result<FileStructure, FileFailureReason>> {
    match serde_json::from_str(line).ok()? {
        ProbeLine::Flaw(flaw) => {
            let flaw = FileFailureReason::parse(&flaw)?;
            possible_failures(media_type)
                .contains(&flaw)
                .then_some(Err(flaw))
        }
        ProbeLine::Image { width, height } => {
            check_structure(media_type, FileStructure::Image { width, height })
        }
        ProbeLine::Pages(pages) => check_structure(media_type, FileStructure::Pages(pages)),
        ProbeLine::Text => check_structure(media_type, FileStructure::Text),
        ProbeLine::Video { milliseconds } => {
            check_structure(media_type, FileStructure::Video { milliseconds })
        }
    }
}

fn check_structure(
    media_type: MediaType,
    structure: FileStructure,
) -> Option<Result<FileStructure, FileFailureReason>> {
    let is_possible = match structure {
        FileStructure::Image { width, height } => {
            media_type.kind() == FileKind::Image && width > 0 && height > 0
        }
        FileStructure::Pages(pages) => {
            media_type == MediaType::Pdf && (1..=MAX_PDF_PAGES).contains(&pages)
        }
        FileStructure::Text => {
            media_type.kind() == FileKind::Document && media_type != MediaType::Pdf
        }
        FileStructure::Video { milliseconds } => {
            media_type.kind() == FileKind::Video
                && u128::from(milliseconds) <= MAX_VIDEO_DURATION.as_millis()
        }
    };
    is_possible.then_some(Ok(structure))
}

/// What can be wrong with the structure of such a file.
const fn possible_failures(media_type: MediaType) -> &'static [FileFailureReason] {
    match media_type {
        MediaType::Jpeg | MediaType::Png | MediaType::Gif | MediaType::Webp => {
            &[FileFailureReason::MalformedImage]
        }
        MediaType::Pdf => &[
            FileFailureReason::MalformedDocument,
            FileFailureReason::EncryptedDocument,
            FileFailureReason::TooManyPages,
        ],
        MediaType::Text | MediaType::Csv | MediaType::Markdown => {
            &[FileFailureReason::MalformedDocument]
        }
        MediaType::Mp4 | MediaType::QuickTime | MediaType::Webm | MediaType::Matroska => &[
            FileFailureReason::MalformedVideo,
            FileFailureReason::VideoTooLong,
        ],
    }
}
