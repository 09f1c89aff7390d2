//! The content of an upload: bytes in memory, or a video that is generated while it is read.

use bytes::Bytes;

use crate::harness::sample_files::SampleFile;
use crate::harness::sample_files::generated_video::GeneratedVideo;

#[derive(Debug, Clone)]
pub struct UploadContent {
    pub media_type: &'static str,
    pub size: u64,
    pub sha256: String,
    source: ContentSource,
}

#[derive(Debug, Clone)]
enum ContentSource {
    InMemory(Bytes),
    Generated(GeneratedVideo),
}

impl From<SampleFile> for UploadContent {
    fn from(sample: SampleFile) -> Self {
        Self {
            media_type: sample.media_type,
            size: u64::try_from(sample.bytes.len()).unwrap_or_default(),
            sha256: sample.sha256(),
            source: ContentSource::InMemory(sample.bytes.into()),
        }
    }
}

impl From<GeneratedVideo> for UploadContent {
    fn from(movie: GeneratedVideo) -> Self {
        Self {
            media_type: "video/mp4",
            size: movie.size,
            sha256: movie.sha256(),
            source: ContentSource::Generated(movie),
        }
    }
}

impl UploadContent {
    /// Up to `most` bytes from an offset on.
    pub fn part(&self, from: u64, most: u64) -> Bytes {
        match &self.source {
            ContentSource::Generated(movie) => movie.part(from, most),
            ContentSource::InMemory(bytes) => {
                let place =
                    |offset: u64| usize::try_from(offset.min(self.size)).unwrap_or_default();
                bytes.slice(place(from)..place(from.saturating_add(most)))
            }
        }
    }

    pub fn all_bytes(&self) -> Bytes {
        self.part(0, u64::MAX)
    }
}
