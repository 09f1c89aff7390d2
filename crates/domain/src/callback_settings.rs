//! How the callbacks of a project are sent: signed or not, with the load's metadata or not.
//!
//! A secret has a number. Turning signing on and rotating give the next number, so no secret ever
//! comes back.

use std::str::FromStr;

use chrono::TimeDelta;

use crate::time::Timestamp;

/// The default is the contract's: unsigned, without metadata.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallbackSettings {
    pub is_signed: bool,
    /// The number of the newest secret; 0 before the first one.
    pub version: u32,
    pub previous: Option<PreviousSecret>,
    pub includes_metadata: bool,
}

/// The secret before the newest one. It also signs until its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousSecret {
    pub version: u32,
    pub until: Timestamp,
}

/// What a person changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackSettingsChange {
    EnableSigning,
    DisableSigning,
    Rotate {
        overlap: RotationOverlap,
        /// Ends a previous secret that still signs.
        replaces_previous: bool,
    },
    EndPrevious,
    IncludeMetadata(bool),
}

/// How long the old secret signs beside the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotationOverlap {
    None,
    OneHour,
    OneDay,
    SevenDays,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an overlap is 0, 1h, 24h or 7d")]
pub struct InvalidOverlap;

/// Why a change is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallbackSettingsRefusal {
    #[error("signing is off: turn it on first")]
    NotSigned,
    #[error("the secret before this one still signs: end it first, or confirm that it ends now")]
    PreviousStillValid,
}

impl CallbackSettings {
    pub fn apply(
        self,
        change: CallbackSettingsChange,
        now: Timestamp,
    ) -> Result<Self, CallbackSettingsRefusal> {
        match change {
            CallbackSettingsChange::EnableSigning if self.is_signed => Ok(self),
            CallbackSettingsChange::EnableSigning => Ok(Self {
                is_signed: true,
                version: self.version.saturating_add(1),
                previous: None,
                ..self
            }),
            CallbackSettingsChange::DisableSigning => Ok(Self {
                is_signed: false,
                previous: None,
                ..self
            }),
            CallbackSettingsChange::Rotate {
                overlap,
                replaces_previous,
            } => self.rotate(overlap, replaces_previous, now),
            CallbackSettingsChange::EndPrevious => Ok(Self {
                previous: None,
                ..self
            }),
            CallbackSettingsChange::IncludeMetadata(includes_metadata) => Ok(Self {
                includes_metadata,
                ..self
            }),
        }
    }

    fn rotate(
        self,
        overlap: RotationOverlap,
        replaces_previous: bool,
        now: Timestamp,
    ) -> Result<Self, CallbackSettingsRefusal> {
        if !self.is_signed {
            return Err(CallbackSettingsRefusal::NotSigned);
        }
        if self.valid_previous(now).is_some() && !replaces_previous {
            return Err(CallbackSettingsRefusal::PreviousStillValid);
        }
        let old = PreviousSecret {
            version: self.version,
            until: now + overlap.duration(),
        };
        Ok(Self {
            version: self.version.saturating_add(1),
            previous: Some(old).filter(|_| overlap != RotationOverlap::None),
            ..self
        })
    }

    /// The previous secret, if it still signs.
    pub fn valid_previous(&self, now: Timestamp) -> Option<PreviousSecret> {
        self.previous.filter(|previous| previous.until > now)
    }
}

impl CallbackSettingsChange {
    /// The action in the audit log.
    pub const fn audit_action(self) -> &'static str {
        match self {
            Self::EnableSigning => "signing.enabled",
            Self::DisableSigning => "signing.disabled",
            Self::Rotate { .. } => "signing.rotated",
            Self::EndPrevious => "signing.previous_ended",
            Self::IncludeMetadata(true) => "callback_metadata.enabled",
            Self::IncludeMetadata(false) => "callback_metadata.disabled",
        }
    }

    /// What the audit log says beside the action.
    pub const fn audit_detail(self) -> &'static str {
        match self {
            Self::Rotate { overlap, .. } => overlap.sentence(),
            Self::EnableSigning
            | Self::DisableSigning
            | Self::EndPrevious
            | Self::IncludeMetadata(_) => "",
        }
    }
}

impl RotationOverlap {
    fn duration(self) -> TimeDelta {
        match self {
            Self::None => TimeDelta::zero(),
            Self::OneHour => TimeDelta::hours(1),
            Self::OneDay => TimeDelta::hours(24),
            Self::SevenDays => TimeDelta::days(7),
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::None => "the old secret ended at once",
            Self::OneHour => "the old secret signs for 1 hour more",
            Self::OneDay => "the old secret signs for 24 hours more",
            Self::SevenDays => "the old secret signs for 7 days more",
        }
    }
}

impl FromStr for RotationOverlap {
    type Err = InvalidOverlap;

    fn from_str(text: &str) -> Result<Self, InvalidOverlap> {
        match text {
            "0" => Ok(Self::None),
            "1h" => Ok(Self::OneHour),
            "24h" => Ok(Self::OneDay),
            "7d" => Ok(Self::SevenDays),
            _ => Err(InvalidOverlap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CallbackSettingsChange::*;
    use super::*;

    fn rotate(overlap: &str, replaces_previous: bool) -> CallbackSettingsChange {
        let overlap = overlap.parse().unwrap();
        Rotate {
            overlap,
            replaces_previous,
        }
    }

    #[test]
    fn the_default_is_unsigned_without_metadata() {
        let settings = CallbackSettings::default();
        assert!(!settings.is_signed && !settings.includes_metadata);
    }

    #[test]
    fn a_rotated_secret_signs_until_its_overlap_ends() {
        let now = Timestamp::from_timestamp(1_763_240_000, 0).unwrap();
        let signed = CallbackSettings::default()
            .apply(EnableSigning, now)
            .unwrap();
        assert_eq!(signed.version, 1);
        assert_eq!(signed.apply(EnableSigning, now), Ok(signed));
        let rotated = signed.apply(rotate("24h", false), now).unwrap();
        assert_eq!(rotated.version, 2);
        let until = now + TimeDelta::hours(24);
        let previous = PreviousSecret { version: 1, until };
        assert_eq!(rotated.valid_previous(now), Some(previous));
        let last = until - TimeDelta::microseconds(1);
        assert_eq!(rotated.valid_previous(last), Some(previous));
        assert_eq!(rotated.valid_previous(until), None);
    }

    #[test]
    fn a_second_rotation_needs_a_confirmation_while_the_first_lasts() {
        let now = Timestamp::from_timestamp(1_763_240_000, 0).unwrap();
        let settings = CallbackSettings::default();
        let not_signed = Err(CallbackSettingsRefusal::NotSigned);
        assert_eq!(settings.apply(rotate("0", true), now), not_signed);
        let signed = settings.apply(EnableSigning, now).unwrap();
        let rotated = signed.apply(rotate("1h", false), now).unwrap();
        let refused = rotated.apply(rotate("0", false), now);
        assert_eq!(refused, Err(CallbackSettingsRefusal::PreviousStillValid));
        let replaced = rotated.apply(rotate("7d", true), now).unwrap();
        let previous = replaced.valid_previous(now).unwrap();
        assert_eq!((replaced.version, previous.version), (3, 2));
        let after = now + TimeDelta::hours(1);
        assert!(rotated.apply(rotate("0", false), after).is_ok());
    }

    #[test]
    fn a_secret_that_ended_never_comes_back() {
        let now = Timestamp::from_timestamp(1_763_240_000, 0).unwrap();
        let mut settings = CallbackSettings::default();
        let mut versions = Vec::new();
        let changes = [
            EnableSigning,
            rotate("24h", false),
            EndPrevious,
            rotate("0", false),
            DisableSigning,
            EnableSigning,
        ];
        for change in changes {
            settings = settings.apply(change, now).unwrap();
            let previous = settings.previous.map(|previous| previous.version);
            versions.push((settings.version, previous));
        }
        let expected = [
            (1, None),
            (2, Some(1)),
            (2, None),
            (3, None),
            (3, None),
            (4, None),
        ];
        assert_eq!(versions, expected);
    }

    #[test]
    fn metadata_is_independent_of_signing() {
        let now = Timestamp::from_timestamp(1_763_240_000, 0).unwrap();
        let settings = CallbackSettings::default();
        let with = settings.apply(IncludeMetadata(true), now).unwrap();
        assert!(with.includes_metadata && !with.is_signed);
        let signed = with.apply(EnableSigning, now).unwrap();
        assert!(signed.includes_metadata);
        let without = signed.apply(IncludeMetadata(false), now).unwrap();
        assert!(without.is_signed && !without.includes_metadata);
    }
}
