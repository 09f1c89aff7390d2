//! The length of a video, and whether it is too long.

use domain::file::{FileFailureReason, FileStructure, MAX_VIDEO_DURATION};

use crate::bounded_reader::{Malformed, ReadResult};

/// A length in nanoseconds: the longest that any part of a file states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VideoLength(u128);

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const NANOS_PER_MILLISECOND: u128 = 1_000_000;

impl VideoLength {
    pub(crate) fn from_ticks(ticks: u64, per_second: u32) -> ReadResult<Self> {
        if per_second == 0 {
            return Err(Malformed);
        }
        let nanoseconds = u128::from(ticks) * NANOS_PER_SECOND;
        Ok(Self(nanoseconds.div_ceil(u128::from(per_second))))
    }

    pub(crate) fn from_nanoseconds(nanoseconds: u128) -> Self {
        Self(nanoseconds)
    }
}

/// A video of unknown length or of length zero is refused.
pub(crate) fn check_length(
    length: ReadResult<VideoLength>,
) -> std::result::Result<FileStructure, FileFailureReason> {
    match length {
        Err(Malformed) | Ok(VideoLength(0)) => Err(FileFailureReason::MalformedVideo),
        Ok(VideoLength(length)) if length > MAX_VIDEO_DURATION.as_nanos() => {
            Err(FileFailureReason::VideoTooLong)
        }
        Ok(VideoLength(length)) => {
            let milliseconds = u64::try_from(length.div_ceil(NANOS_PER_MILLISECOND));
            milliseconds
                .map(|milliseconds| FileStructure::Video { milliseconds })
                .map_err(|_| FileFailureReason::VideoTooLong)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_minutes_are_not_too_long_and_a_tick_more_is() {
        let at = |ticks| check_length(VideoLength::from_ticks(ticks, 90_000));
        let most = 30 * 60 * 90_000;
        let milliseconds = 30 * 60 * 1000;
        assert_eq!(at(most), Ok(FileStructure::Video { milliseconds }));
        assert_eq!(at(most + 1), Err(FileFailureReason::VideoTooLong));
        assert_eq!(at(u64::MAX), Err(FileFailureReason::VideoTooLong));
        assert_eq!(at(1), Ok(FileStructure::Video { milliseconds: 1 }));
        assert_eq!(at(0), Err(FileFailureReason::MalformedVideo));
        assert_eq!(
            check_length(VideoLength::from_ticks(1, 0)),
            Err(FileFailureReason::MalformedVideo)
        );
    }
}
