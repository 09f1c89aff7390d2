//! How long the bodies of a project's cargo are kept: days after the load, or until the callback is
//! acknowledged.

use std::fmt;
use std::str::FromStr;

use chrono::TimeDelta;

use crate::cargo::CallbackState;
use crate::time::Timestamp;

/// Under zero retention, how long an answer can be polled that no callback has delivered.
pub const UNDELIVERED_RETENTION: TimeDelta = TimeDelta::hours(24);
/// Under zero retention, how long the texts of a group stay that has ended. Its last cargo is erased
/// before: the retries of its callback end within two hours, and a day later it is erased.
const ENDED_GROUP_RETENTION: TimeDelta = TimeDelta::hours(48);
/// No installation keeps cargo longer.
const MAX_DAYS: u16 = 3650;

/// What a project chose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProjectRetention {
    /// As long as the installation keeps cargo.
    #[default]
    Installation,
    /// This many days after the load.
    Days(u16),
    /// Until the callback is acknowledged.
    Zero,
}

/// When a completed cargo ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CargoEnd {
    pub loaded_at: Timestamp,
    pub completed_at: Timestamp,
    /// None without a callback.
    pub callback: Option<CallbackState>,
    pub callback_ended_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a retention is a number of days from 1 to 3650, `zero` or `default`")]
pub struct InvalidRetention;

/// The installation drops cargo earlier than the project asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this installation keeps cargo for {0} days: choose at most {0}")]
pub struct RetentionTooLong(pub u32);

impl ProjectRetention {
    /// When the bodies of a completed cargo are erased. None: not before its callback has ended, or
    /// with its day.
    pub fn erase_at(self, cargo: &CargoEnd) -> Option<Timestamp> {
        let ended_at = cargo.callback_ended_at.unwrap_or(cargo.completed_at);
        match (self, cargo.callback) {
            (Self::Installation, _) | (Self::Zero, Some(CallbackState::Open)) => None,
            (Self::Days(_), _) => Some(cargo.loaded_at + self.min_age()),
            (Self::Zero, Some(CallbackState::Delivered)) => Some(ended_at),
            (Self::Zero, Some(CallbackState::Failed)) => Some(ended_at + UNDELIVERED_RETENTION),
            (Self::Zero, None) => Some(cargo.completed_at + UNDELIVERED_RETENTION),
        }
    }

    /// Younger cargo is not examined for erasure. Deliver has erased what it delivered.
    pub fn min_age(self) -> TimeDelta {
        match self {
            Self::Installation => TimeDelta::MAX,
            Self::Days(days) => TimeDelta::days(i64::from(days)),
            Self::Zero => UNDELIVERED_RETENTION,
        }
    }

    /// How old an input file can become. Under zero retention, a batch that has loaded it ends it
    /// earlier.
    pub fn max_input_age(self) -> TimeDelta {
        self.min_age()
    }

    /// How long the texts of an ended group are kept: after its newest load, or, under zero retention,
    /// after its end.
    pub fn group_age(self) -> TimeDelta {
        match self {
            Self::Installation | Self::Days(_) => self.min_age(),
            Self::Zero => ENDED_GROUP_RETENTION,
        }
    }

    /// Refuses more days than the installation keeps cargo.
    pub fn check(self, installation_days: u32) -> Result<Self, RetentionTooLong> {
        match self {
            Self::Days(days) if u32::from(days) > installation_days => {
                Err(RetentionTooLong(installation_days))
            }
            Self::Installation | Self::Days(_) | Self::Zero => Ok(self),
        }
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for ProjectRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installation => f.write_str("default"),
            Self::Days(days) => write!(f, "{days}"),
            Self::Zero => f.write_str("zero"),
        }
    }
}

impl FromStr for ProjectRetention {
    type Err = InvalidRetention;

    fn from_str(text: &str) -> Result<Self, InvalidRetention> {
        match text {
            "default" => Ok(Self::Installation),
            "zero" => Ok(Self::Zero),
            number => match number.parse() {
                Ok(days) if (1..=MAX_DAYS).contains(&days) => Ok(Self::Days(days)),
                Ok(_) | Err(_) => Err(InvalidRetention),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::hours(hours)
    }

    /// Loaded at 0 and completed after an hour; its callback ended after two.
    fn cargo(callback: Option<CallbackState>) -> CargoEnd {
        let has_ended = callback.is_some_and(|state| state != CallbackState::Open);
        CargoEnd {
            loaded_at: at(0),
            completed_at: at(1),
            callback,
            callback_ended_at: has_ended.then(|| at(2)),
        }
    }

    #[test]
    fn days_count_from_the_load() {
        let states = [
            None,
            Some(CallbackState::Open),
            Some(CallbackState::Delivered),
            Some(CallbackState::Failed),
        ];
        for state in states {
            let cargo = cargo(state);
            assert_eq!(ProjectRetention::Days(2).erase_at(&cargo), Some(at(48)));
            assert_eq!(ProjectRetention::Installation.erase_at(&cargo), None);
        }
    }

    #[test]
    fn zero_retention_ends_with_the_acknowledgement_or_a_day_later() {
        let erase_at = |state| ProjectRetention::Zero.erase_at(&cargo(state));
        assert_eq!(erase_at(Some(CallbackState::Delivered)), Some(at(2)));
        assert_eq!(erase_at(Some(CallbackState::Failed)), Some(at(26)));
        assert_eq!(erase_at(None), Some(at(25)));
        assert_eq!(erase_at(Some(CallbackState::Open)), None);
    }

    #[test]
    fn the_texts_of_a_group_outlive_its_last_cargo() {
        assert_eq!(ProjectRetention::Days(2).group_age(), TimeDelta::days(2));
        let last_erased = ProjectRetention::Zero.erase_at(&cargo(Some(CallbackState::Failed)));
        let group_ended_at = at(1);
        assert!(last_erased < Some(group_ended_at + ProjectRetention::Zero.group_age()));
    }

    #[test]
    fn a_retention_is_read_as_it_is_written() {
        for text in ["default", "zero", "1", "30", "3650"] {
            let retention: ProjectRetention = text.parse().unwrap();
            assert_eq!(retention.to_string(), text);
        }
        for text in ["", "0", "-1", "3651", "Zero", "1.5", "a week"] {
            assert_eq!(text.parse::<ProjectRetention>(), Err(InvalidRetention));
        }
    }

    #[test]
    fn a_project_keeps_no_longer_than_the_installation() {
        let days = ProjectRetention::Days;
        assert_eq!(days(30).check(30), Ok(days(30)));
        assert_eq!(days(31).check(30), Err(RetentionTooLong(30)));
        for other in [ProjectRetention::Zero, ProjectRetention::Installation] {
            assert_eq!(other.check(1), Ok(other));
        }
    }
}
