//! What the probe says of a file: a line from the child that read the bytes to its parent.

use serde::{Deserialize, Serialize};

use crate::file::{Flaw, Kind, LONGEST_VIDEO, MOST_PAGES, MediaType, Structure};

#[cfg(test)]
mod tests;

/// What the child says once it is confined. Whatever ended it before was not the file.
pub const READY: &str = "ready\n";
/// No line is longer, so nothing longer is read.
pub const LONGEST_LINE: usize = 4096;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Image { width: u32, height: u32 },
    Pages(u32),
    Text,
    Video { milliseconds: u64 },
    Flaw(String),
}

/// The line, without its end.
pub fn say(found: Result<Structure, Flaw>) -> String {
    let line = match found {
        Ok(Structure::Image { width, height }) => Line::Image { width, height },
        Ok(Structure::Pages(pages)) => Line::Pages(pages),
        Ok(Structure::Text) => Line::Text,
        Ok(Structure::Video { milliseconds }) => Line::Video { milliseconds },
        Err(flaw) => Line::Flaw(flaw.as_str().to_owned()),
    };
    // Words and numbers always are JSON.
    serde_json::to_string(&line).unwrap_or_default()
}

/// What a line means for a file of that media type. None if a sound child never says so.
pub fn hear(media_type: MediaType, line: &str) -> Option<Result<Structure, Flaw>> {
    match serde_json::from_str(line).ok()? {
        Line::Flaw(flaw) => {
            let flaw = Flaw::parse(&flaw)?;
            flaws(media_type).contains(&flaw).then_some(Err(flaw))
        }
        Line::Image { width, height } => kept(media_type, Structure::Image { width, height }),
        Line::Pages(pages) => kept(media_type, Structure::Pages(pages)),
        Line::Text => kept(media_type, Structure::Text),
        Line::Video { milliseconds } => kept(media_type, Structure::Video { milliseconds }),
    }
}

fn kept(media_type: MediaType, structure: Structure) -> Option<Result<Structure, Flaw>> {
    let is_possible = match structure {
        Structure::Image { width, height } => {
            media_type.kind() == Kind::Image && width > 0 && height > 0
        }
        Structure::Pages(pages) => {
            media_type == MediaType::Pdf && (1..=MOST_PAGES).contains(&pages)
        }
        Structure::Text => media_type.kind() == Kind::Document && media_type != MediaType::Pdf,
        Structure::Video { milliseconds } => {
            media_type.kind() == Kind::Video
                && u128::from(milliseconds) <= LONGEST_VIDEO.as_millis()
        }
    };
    is_possible.then_some(Ok(structure))
}

/// What can be wrong with the structure of such a file.
const fn flaws(media_type: MediaType) -> &'static [Flaw] {
    match media_type {
        MediaType::Jpeg | MediaType::Png | MediaType::Gif | MediaType::Webp => {
            &[Flaw::MalformedImage]
        }
        MediaType::Pdf => &[
            Flaw::MalformedDocument,
            Flaw::EncryptedDocument,
            Flaw::TooManyPages,
        ],
        MediaType::Text | MediaType::Csv | MediaType::Markdown => &[Flaw::MalformedDocument],
        MediaType::Mp4 | MediaType::QuickTime | MediaType::Webm | MediaType::Matroska => {
            &[Flaw::MalformedVideo, Flaw::VideoTooLong]
        }
    }
}
