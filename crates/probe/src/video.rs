//! How long a video is, and whether that is too long.

use domain::file::{Flaw, LONGEST_VIDEO, Structure};

use crate::source::{Broken, Result};

/// A length in nanoseconds, the longest that anything in a file gives it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Length(u128);

const SECOND: u128 = 1_000_000_000;
const MILLISECOND: u128 = 1_000_000;

impl Length {
    pub(crate) fn of_ticks(ticks: u64, per_second: u32) -> Result<Self> {
        if per_second == 0 {
            return Err(Broken);
        }
        let nanoseconds = u128::from(ticks) * SECOND;
        Ok(Self(nanoseconds.div_ceil(u128::from(per_second))))
    }

    pub(crate) fn of_nanoseconds(nanoseconds: u128) -> Self {
        Self(nanoseconds)
    }
}

/// A video whose length nobody knows is refused, and so is one without any.
pub(crate) fn judge(length: Result<Length>) -> std::result::Result<Structure, Flaw> {
    match length {
        Err(Broken) | Ok(Length(0)) => Err(Flaw::MalformedVideo),
        Ok(Length(length)) if length > LONGEST_VIDEO.as_nanos() => Err(Flaw::VideoTooLong),
        Ok(Length(length)) => {
            let milliseconds = u64::try_from(length.div_ceil(MILLISECOND));
            milliseconds
                .map(|milliseconds| Structure::Video { milliseconds })
                .map_err(|_| Flaw::VideoTooLong)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_minutes_are_not_too_long_and_a_tick_more_is() {
        let at = |ticks| judge(Length::of_ticks(ticks, 90_000));
        let most = 30 * 60 * 90_000;
        let milliseconds = 30 * 60 * 1000;
        assert_eq!(at(most), Ok(Structure::Video { milliseconds }));
        assert_eq!(at(most + 1), Err(Flaw::VideoTooLong));
        assert_eq!(at(u64::MAX), Err(Flaw::VideoTooLong));
        assert_eq!(at(1), Ok(Structure::Video { milliseconds: 1 }));
        assert_eq!(at(0), Err(Flaw::MalformedVideo));
        assert_eq!(judge(Length::of_ticks(1, 0)), Err(Flaw::MalformedVideo));
    }
}
