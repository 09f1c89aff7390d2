//! The way of a file from its declaration to ready, as a list of what is done.

use domain::file::{Flaw, ScanStatus, Status, Structure};
use store::shard::file::File;
use store::view::files::Progress;

use super::words;
use crate::text;

/// How far a step is: its mark, and how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    Done,
    UnderWay,
    Failed,
    Ahead,
}

impl Stand {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::UnderWay => "under-way",
            Self::Failed => "failed",
            Self::Ahead => "ahead",
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::UnderWay => "under way",
            Self::Failed => "failed",
            Self::Ahead => "not yet",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) stand: Stand,
    pub(super) detail: String,
}

const NAMES: [&str; 6] = [
    "Uploaded",
    "Hashed",
    "Recognised",
    "Read",
    "Scanned",
    "Ready",
];

/// Which step a flaw stops a file at: what comes first explains what comes after.
const fn stopped_at(flaw: Flaw) -> usize {
    match flaw {
        Flaw::UploadMissing | Flaw::UploadAborted | Flaw::UploadAbandoned => 0,
        Flaw::SizeMismatch | Flaw::ChecksumMismatch => 1,
        Flaw::MagicByteMismatch => 2,
        Flaw::MalformedDocument
        | Flaw::MalformedImage
        | Flaw::MalformedVideo
        | Flaw::TooManyPages
        | Flaw::VideoTooLong
        | Flaw::EncryptedDocument => 3,
        Flaw::MalwareDetected | Flaw::ScanTimeout | Flaw::ScanLimitExceeded => 4,
    }
}

pub(super) fn of(file: &File, progress: &Progress) -> Vec<Step> {
    let (reached, at_it) = match (file.status, file.failure_reason) {
        (Status::Failed | Status::Expired, Some(flaw)) => (stopped_at(flaw), Stand::Failed),
        (Status::Uploading, _) => (0, Stand::UnderWay),
        (Status::Validating, _) => (1, Stand::UnderWay),
        (Status::Ready | Status::Expired | Status::Failed, _) => (NAMES.len(), Stand::Done),
    };
    let steps = NAMES.into_iter().enumerate();
    let steps = steps.map(|(place, name)| {
        // The checks of one pass over the bytes go on together.
        let together = file.status == Status::Validating && (1..5).contains(&place);
        let stand = if place < reached {
            Stand::Done
        } else if place == reached || together {
            at_it
        } else {
            Stand::Ahead
        };
        let detail = detail(place, stand, file, progress);
        Step {
            name,
            stand,
            detail,
        }
    });
    steps.collect()
}

fn detail(place: usize, stand: Stand, file: &File, progress: &Progress) -> String {
    let is_copy = file.object.is_some_and(|object| object != file.id);
    match (stand, place) {
        (Stand::Failed, _) => file
            .failure_reason
            .map(|flaw| words::of(flaw).why.to_owned())
            .unwrap_or_default(),
        (Stand::UnderWay, 0) => {
            "Waiting for the bytes, and for whoever sends them to say that all are there. \
             After 24 hours the upload is abandoned."
                .to_owned()
        }
        (Stand::UnderWay, 1) if progress.is_claimed => {
            "A worker reads the bytes now: all checks are made in one pass.".to_owned()
        }
        (Stand::UnderWay, 1) => "Waits for its turn.".to_owned(),
        (Stand::UnderWay, 4) if progress.tries > 0 => format!(
            "The scanner gave no verdict so far, asked {} times. It is asked again.",
            progress.tries
        ),
        (Stand::UnderWay | Stand::Ahead, _) => String::new(),
        (Stand::Done, 0) if is_copy => {
            "Nothing to send: the project had these bytes already.".to_owned()
        }
        (Stand::Done, 0) => text::bytes(file.size_bytes),
        (Stand::Done, 1) => "Size and SHA-256 are as declared.".to_owned(),
        (Stand::Done, 2) => format!("The bytes are {}.", file.media_type.as_str()),
        (Stand::Done, 3) => progress.structure.as_ref().map(read).unwrap_or_default(),
        (Stand::Done, 4) if file.scan_status == ScanStatus::Clean => {
            "The malware scanner found nothing.".to_owned()
        }
        (Stand::Done, 4) => format!("The scanner says {}.", file.scan_status.as_str()),
        (Stand::Done, _) if file.status == Status::Expired => {
            "It was; then its time was over, or it was deleted. Its bytes are gone.".to_owned()
        }
        (Stand::Done, _) => "Cargo can name it.".to_owned(),
    }
}

/// What was read from the bytes.
pub(super) fn read(structure: &Structure) -> String {
    match *structure {
        Structure::Image { width, height } => format!("{width} × {height} pixels"),
        Structure::Pages(1) => "1 page".to_owned(),
        Structure::Pages(pages) => format!("{pages} pages"),
        Structure::Text => "Text in UTF-8".to_owned(),
        Structure::Video { milliseconds } => {
            let long = i64::try_from(milliseconds).unwrap_or(i64::MAX);
            format!(
                "{} of video",
                text::duration(chrono::TimeDelta::milliseconds(long))
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flaw_stops_a_file_before_it_is_ready() {
        for flaw in Flaw::ALL {
            assert!(stopped_at(*flaw) < NAMES.len() - 1, "{flaw:?}");
            assert!(!words::of(*flaw).remedy.is_empty());
        }
    }
}
