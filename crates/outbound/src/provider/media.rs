//! The files that an item references, in the form that a provider accepts.

use std::fmt;

use bytes::Bytes;
use domain::file::MediaType;
use domain::params::content::FileSource;
use domain::reason_code::{CargoFailure, FailureCode};

/// Files of items, loaded before encoding begins.
///
/// A source must return the same values for the same file every time, URLs included: a rebuilt
/// job must be identical to the byte.
pub trait MediaSource: Send + Sync + fmt::Debug {
    fn media_type(&self, file: &str) -> Option<MediaType>;

    /// A URL that the provider can fetch for as long as the job may run. None if the object store
    /// cannot sign one: then there are bytes.
    fn url(&self, file: &str) -> Option<String>;

    /// The content of a text document.
    fn text(&self, file: &str) -> Option<String>;

    /// The content, for providers that do not fetch URLs.
    fn bytes(&self, file: &str) -> Option<Bytes>;
}

/// How a provider accepts a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaForm {
    /// The provider fetches the URL.
    Url,
    /// Inline in the request.
    Bytes,
    /// As plain text, for text documents.
    Text,
}

impl MediaForm {
    /// `Text` for text documents, otherwise `self`.
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

/// For items without files.
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

/// This provider cannot run the item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct UnsupportedItem(pub CargoFailure);

impl UnsupportedItem {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(FailureCode::UnsupportedRequest.with_message(why))
    }
}

/// One file of an item. Every getter fails if the file is gone.
#[derive(Debug, Clone, Copy)]
pub(super) struct MediaFile<'a> {
    pub(super) file: &'a str,
    pub(super) media_type: MediaType,
    media: &'a dyn MediaSource,
}

impl<'a> MediaFile<'a> {
    pub(super) fn find(
        source: &'a FileSource,
        media: &'a dyn MediaSource,
    ) -> Result<Self, UnsupportedItem> {
        let file = source.file_id.as_str();
        let media_type = media.media_type(file);
        Ok(Self {
            file,
            media_type: media_type.ok_or_else(|| missing_file(file))?,
            media,
        })
    }

    pub(super) fn is_pdf(&self) -> bool {
        self.media_type == MediaType::Pdf
    }

    /// None if the bytes must be in the request.
    pub(super) fn link(&self) -> Option<String> {
        self.media.url(self.file)
    }

    /// A link, or a `data:` URL with the bytes.
    pub(super) fn url(&self) -> Result<String, UnsupportedItem> {
        if let Some(link) = self.link() {
            return Ok(link);
        }
        let (media_type, data) = (self.media_type.as_str(), self.base64()?);
        Ok(format!("data:{media_type};base64,{data}"))
    }

    pub(super) fn text(&self) -> Result<String, UnsupportedItem> {
        self.media
            .text(self.file)
            .ok_or_else(|| missing_file(self.file))
    }

    pub(super) fn base64(&self) -> Result<String, UnsupportedItem> {
        use base64::Engine as _;
        let bytes = self
            .media
            .bytes(self.file)
            .ok_or_else(|| missing_file(self.file))?;
        Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

fn missing_file(file: &str) -> UnsupportedItem {
    let message = format!("file {file} no longer exists");
    UnsupportedItem(FailureCode::FileMissing.with_message(message))
}
