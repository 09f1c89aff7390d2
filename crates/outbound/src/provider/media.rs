//! The files that an item names, as a provider may be given them.

use std::fmt;

use bytes::Bytes;
use domain::file::MediaType;
use domain::params::Source;

/// What is known of files, found before encoding begins.
///
/// The same file must be given the same way every time, addresses included: a payload that is
/// built again must be the same to the byte.
pub trait MediaSource: Send + Sync + fmt::Debug {
    fn media_type(&self, file: &str) -> Option<MediaType>;

    /// An address that a provider can fetch it from for as long as the job may take.
    fn url(&self, file: &str) -> Option<String>;

    /// Of a document that is text.
    fn text(&self, file: &str) -> Option<String>;

    /// For a provider that fetches nothing.
    fn bytes(&self, file: &str) -> Option<Bytes>;
}

/// How a provider wants a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It fetches it itself.
    Address,
    /// Within the request.
    Bytes,
    /// A document that is text, as text.
    Text,
}

impl Form {
    /// Text as text, the rest as said.
    pub(super) const fn or_text(self, media_type: MediaType) -> Self {
        match media_type {
            MediaType::Text | MediaType::Csv | MediaType::Markdown => Self::Text,
            MediaType::Jpeg
            | MediaType::Png
            | MediaType::Gif
            | MediaType::Webp
            | MediaType::Pdf
            | MediaType::Mp4
            | MediaType::QuickTime
            | MediaType::Webm
            | MediaType::Matroska => self,
        }
    }
}

/// For items that name no files.
#[derive(Debug, Clone, Copy)]
pub struct NoMedia;

impl MediaSource for NoMedia {
    fn media_type(&self, _: &str) -> Option<MediaType> {
        None
    }

    fn url(&self, _: &str) -> Option<String> {
        None
    }

    fn text(&self, _: &str) -> Option<String> {
        None
    }

    fn bytes(&self, _: &str) -> Option<Bytes> {
        None
    }
}

/// The item cannot be put into this provider's words. In words for its caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

impl Unfit {
    pub(super) fn because(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// One file of a source, each question answered or unfit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Medium<'a> {
    pub(super) file: &'a str,
    pub(super) media_type: MediaType,
    from: &'a dyn MediaSource,
}

impl<'a> Medium<'a> {
    pub(super) fn find(source: &'a Source, from: &'a dyn MediaSource) -> Result<Self, Unfit> {
        let file = source.file_id.as_str();
        let media_type = from.media_type(file);
        Ok(Self {
            file,
            media_type: media_type.ok_or_else(|| gone(file))?,
            from,
        })
    }

    pub(super) fn is_pdf(&self) -> bool {
        self.media_type == MediaType::Pdf
    }

    pub(super) fn url(&self) -> Result<String, Unfit> {
        self.from.url(self.file).ok_or_else(|| gone(self.file))
    }

    pub(super) fn text(&self) -> Result<String, Unfit> {
        self.from.text(self.file).ok_or_else(|| gone(self.file))
    }

    pub(super) fn base64(&self) -> Result<String, Unfit> {
        use base64::Engine as _;
        let bytes = self.from.bytes(self.file).ok_or_else(|| gone(self.file))?;
        Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

fn gone(file: &str) -> Unfit {
    Unfit(format!("the file {file} is no longer there"))
}
