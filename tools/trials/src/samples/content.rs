//! What is uploaded: bytes at hand, or a video that is made as it is read.

use bytes::Bytes;

use crate::samples::Sample;
use crate::samples::movie::Movie;

#[derive(Debug, Clone)]
pub struct Content {
    pub media_type: &'static str,
    pub size: u64,
    pub sha256: String,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Whole(Bytes),
    Movie(Movie),
}

impl From<Sample> for Content {
    fn from(sample: Sample) -> Self {
        Self {
            media_type: sample.media_type,
            size: u64::try_from(sample.bytes.len()).unwrap_or_default(),
            sha256: sample.sha256(),
            source: Source::Whole(sample.bytes.into()),
        }
    }
}

impl From<Movie> for Content {
    fn from(movie: Movie) -> Self {
        Self {
            media_type: "video/mp4",
            size: movie.size,
            sha256: movie.sha256(),
            source: Source::Movie(movie),
        }
    }
}

impl Content {
    /// The bytes from an offset on, so many or up to the end.
    pub fn part(&self, from: u64, most: u64) -> Bytes {
        match &self.source {
            Source::Movie(movie) => movie.part(from, most),
            Source::Whole(bytes) => {
                let place =
                    |offset: u64| usize::try_from(offset.min(self.size)).unwrap_or_default();
                bytes.slice(place(from)..place(from.saturating_add(most)))
            }
        }
    }

    pub fn whole(&self) -> Bytes {
        self.part(0, u64::MAX)
    }
}
