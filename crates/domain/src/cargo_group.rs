//! Groups of cargo: names, positions and statuses.

use std::fmt;

use chrono::TimeDelta;

use crate::time::Timestamp;

/// The most cargo that a group may have.
pub const MAX_GROUP_CARGO: u64 = 1_000_000;
/// The most groups of a project that are not completed.
pub const MAX_OPEN_GROUPS: u64 = 10_000;
/// The largest position that a load may name.
pub const MAX_POSITION: u64 = 999_999_999_999;
const MAX_NAME_BYTES: usize = 128;
const MAX_CUSTOM_ID_CHARACTERS: usize = 256;
/// Longer turnarounds count as this one: 30 years.
const MAX_TURNAROUND_SECONDS: f64 = 1e9;

/// The name of a group, unique in its project.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 128 letters, digits, dots, underscores, colons or hyphens")]
pub struct InvalidGroupName;

impl GroupName {
    pub fn new(text: &str) -> Result<Self, InvalidGroupName> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        let is_valid = (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(is_allowed);
        is_valid
            .then(|| Self(text.to_owned()))
            .ok_or(InvalidGroupName)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The caller's name for a cargo, unique in its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CustomId(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a custom id has 1 to 256 visible characters and does not begin with \"encrypted:\"")]
pub struct InvalidCustomId;

/// The store marks encrypted texts with it.
const RESERVED_PREFIX: &str = "encrypted:";

impl CustomId {
    pub fn new(text: &str) -> Result<Self, InvalidCustomId> {
        let count = text.chars().count();
        let is_visible = |it: char| !it.is_control() && (it == ' ' || !it.is_whitespace());
        let is_valid = (1..=MAX_CUSTOM_ID_CHARACTERS).contains(&count)
            && text.chars().all(is_visible)
            && !text.trim().is_empty()
            && !text.starts_with(RESERVED_PREFIX);
        is_valid
            .then(|| Self(text.to_owned()))
            .ok_or(InvalidCustomId)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupStatus {
    /// More cargo may be added.
    Open,
    Sealed,
    Cancelling,
    Cancelled,
    Completed,
}

impl GroupStatus {
    pub const ALL: &'static [Self] = &[
        Self::Open,
        Self::Sealed,
        Self::Cancelling,
        Self::Cancelled,
        Self::Completed,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Sealed => "sealed",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::Completed => "completed",
        }
    }

    /// The status that follows from the times of a group.
    pub const fn of(times: &GroupTimes) -> Self {
        match (
            times.cancel_requested_at,
            times.completed_at,
            times.sealed_at,
        ) {
            (Some(_), Some(_), _) => Self::Cancelled,
            (Some(_), None, _) => Self::Cancelling,
            (None, Some(_), _) => Self::Completed,
            (None, None, Some(_)) => Self::Sealed,
            (None, None, None) => Self::Open,
        }
    }
}

/// When things happened to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupTimes {
    pub created_at: Timestamp,
    pub sealed_at: Option<Timestamp>,
    pub cancel_requested_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

/// How many cargo a group has, and how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupCounts {
    pub total: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub cancelled: u64,
}

impl GroupCounts {
    pub const fn unfinished(self) -> u64 {
        let ended = self.succeeded + self.failed + self.cancelled;
        self.total.saturating_sub(ended)
    }
}

/// What the expected end of a group follows from.
#[derive(Debug, Clone, Copy)]
pub struct GroupPace {
    pub status: GroupStatus,
    pub counts: GroupCounts,
    /// When its newest cargo was loaded.
    pub loaded_at: Option<Timestamp>,
    /// How long recent batches of the lane of its newest cargo took.
    pub turnaround_seconds: Option<f64>,
}

impl GroupPace {
    /// None if that time has passed, or if nothing is unfinished.
    pub fn expected_end(&self, now: Timestamp) -> Option<Timestamp> {
        let is_running = matches!(self.status, GroupStatus::Open | GroupStatus::Sealed);
        let seconds = self
            .turnaround_seconds
            .filter(|_| is_running && self.counts.unfinished() > 0)?;
        let seconds = seconds.clamp(0.0, MAX_TURNAROUND_SECONDS);
        #[expect(clippy::cast_possible_truncation, reason = "clamped")]
        let turnaround = TimeDelta::try_milliseconds((seconds * 1000.0) as i64)?;
        Some(self.loaded_at? + turnaround).filter(|expected| *expected > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn a_group_ends_a_turnaround_after_its_newest_cargo() {
        let pace = GroupPace {
            status: GroupStatus::Open,
            counts: GroupCounts {
                total: 1210,
                succeeded: 1200,
                failed: 0,
                cancelled: 1,
            },
            loaded_at: Some(at(160)),
            turnaround_seconds: Some(40.0),
        };
        assert_eq!(pace.expected_end(at(170)), Some(at(200)));
        assert_eq!(pace.expected_end(at(200)), None);
        let cancelling = GroupPace {
            status: GroupStatus::Cancelling,
            ..pace
        };
        assert_eq!(cancelling.expected_end(at(170)), None);
        let mut ended = pace;
        ended.counts.succeeded = 1209;
        assert_eq!(ended.expected_end(at(170)), None);
    }

    #[test]
    fn names_and_custom_ids_are_checked() {
        assert!(GroupName::new("run-2026.11:a_b").is_ok());
        for bad in ["", "a b", "ä", &"a".repeat(129)] {
            assert_eq!(GroupName::new(bad), Err(InvalidGroupName));
        }
        assert!(CustomId::new("Zeile 7 ✓").is_ok());
        for bad in ["", " ", "a\nb", "a\u{0}", "encrypted:a", &"a".repeat(257)] {
            assert_eq!(CustomId::new(bad), Err(InvalidCustomId));
        }
    }

    #[test]
    fn a_status_follows_from_the_times() {
        let at = Timestamp::default();
        let open = GroupTimes {
            created_at: at,
            sealed_at: None,
            cancel_requested_at: None,
            completed_at: None,
        };
        assert_eq!(GroupStatus::of(&open), GroupStatus::Open);
        let sealed = GroupTimes {
            sealed_at: Some(at),
            ..open
        };
        assert_eq!(GroupStatus::of(&sealed), GroupStatus::Sealed);
        let completed = GroupTimes {
            completed_at: Some(at),
            ..sealed
        };
        assert_eq!(GroupStatus::of(&completed), GroupStatus::Completed);
        let cancelling = GroupTimes {
            cancel_requested_at: Some(at),
            ..sealed
        };
        assert_eq!(GroupStatus::of(&cancelling), GroupStatus::Cancelling);
        let cancelled = GroupTimes {
            completed_at: Some(at),
            ..cancelling
        };
        assert_eq!(GroupStatus::of(&cancelled), GroupStatus::Cancelled);
    }
}
