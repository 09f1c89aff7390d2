//! Ids: a prefix and 32 hex digits, which are a `UUIDv7` that carries the berth.
//!
//! ```text
//! 48 bits milliseconds · 7 · 12 bits fraction · 10 · 10 bits berth · 52 bits random
//! ```
//! Ids sort by time, so cursors and partitions need no other column. They name
//! the berth, never the database: moving a berth changes the map and no id.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use uuid::Uuid;

use crate::time::Timestamp;

/// A logical shard. Control maps each berth to a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Berth(u16);

impl Berth {
    pub const COUNT: u16 = 1024;

    pub const fn new(number: u16) -> Option<Self> {
        if number < Self::COUNT {
            Some(Self(number))
        } else {
            None
        }
    }

    pub const fn number(self) -> u16 {
        self.0
    }
}

/// What an id identifies, and the prefix that it is written with.
pub trait IdKind {
    const PREFIX: &'static str;
}

/// An id of one kind of thing.
pub struct Id<T> {
    uuid: Uuid,
    kind: PhantomData<fn() -> T>,
}

macro_rules! id_types {
    ($($alias:ident $kind:ident $prefix:literal;)*) => {$(
        #[derive(Debug)]
        pub enum $kind {}
        impl IdKind for $kind {
            const PREFIX: &'static str = $prefix;
        }
        pub type $alias = Id<$kind>;
    )*};
}

id_types! {
    OrganizationId OrganizationKind "org_";
    ProjectId ProjectKind "prj_";
    ApiKeyId ApiKeyKind "key_";
    CargoId CargoKind "crg_";
    BatchId BatchKind "bat_";
    FileId FileKind "file_";
    PersonId PersonKind "usr_";
    SessionId SessionKind "ses_";
    OneTimeLinkId OneTimeLinkKind "pas_";
    ResendId ResendKind "rsd_";
    AuditTokenId AuditTokenKind "aut_";
    GroupId GroupKind "grp_";
    ListenerId ListenerKind "lsn_";
    HandoverId HandoverKind "dlv_";
    ParcelId ParcelKind "prc_";
}

impl<T> Id<T> {
    /// `entropy` fills the 52 random bits; higher bits are ignored.
    pub fn new(now: Timestamp, berth: Berth, entropy: u64) -> Self {
        let micros = u64::try_from(now.timestamp_micros()).unwrap_or_default();
        let (milliseconds, rest) = (micros / 1000, micros % 1000);
        // RFC 9562 method 3: the fraction of the millisecond, in 12 bits.
        let fraction = rest * 4096 / 1000;
        let high = (milliseconds << 16) | 0x7000 | fraction;
        let low = (0b10 << 62) | (u64::from(berth.0) << 52) | (entropy & ((1 << 52) - 1));
        Self::from_uuid(Uuid::from_u64_pair(high, low))
    }

    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self {
            uuid,
            kind: PhantomData,
        }
    }

    pub const fn uuid(self) -> Uuid {
        self.uuid
    }

    pub fn berth(self) -> Berth {
        let (_, low) = self.uuid.as_u64_pair();
        Berth(u16::try_from((low >> 52) & 0x3ff).unwrap_or_default())
    }
}

/// The smallest id of a time; a day's partition begins there.
pub fn first_id_at(moment: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(moment.timestamp_millis()).unwrap_or_default();
    Uuid::from_u64_pair(milliseconds << 16, 0)
}

/// The time that an id carries.
pub fn timestamp_of(id: Uuid) -> Timestamp {
    let milliseconds = i64::try_from(id.as_u128() >> 80).unwrap_or_default();
    Timestamp::from_timestamp_millis(milliseconds).unwrap_or_default()
}

impl<T: IdKind> fmt::Display for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", T::PREFIX, self.uuid.simple())
    }
}

impl<T: IdKind> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Not an id of this kind. The text does not repeat the caller's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this kind")]
pub struct InvalidId;

impl<T: IdKind> FromStr for Id<T> {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let digits = text.strip_prefix(T::PREFIX).ok_or(InvalidId)?;
        let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() != 32 || !digits.bytes().all(lower_hex) {
            return Err(InvalidId);
        }
        Uuid::try_parse(digits)
            .map(Self::from_uuid)
            .map_err(|_| InvalidId)
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.uuid == other.uuid
    }
}
impl<T> Eq for Id<T> {}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.uuid.cmp(&other.uuid)
    }
}
impl<T> From<Id<T>> for Uuid {
    fn from(id: Id<T>) -> Self {
        id.uuid
    }
}
impl<T> From<Uuid> for Id<T> {
    fn from(uuid: Uuid) -> Self {
        Self::from_uuid(uuid)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;

    fn moment(micros: i64) -> Timestamp {
        DateTime::from_timestamp_micros(micros).unwrap()
    }

    #[test]
    fn an_id_is_its_prefix_and_32_hex_digits() {
        let id = CargoId::new(moment(1_767_225_600_123_456), Berth::new(5).unwrap(), 42);
        insta::assert_snapshot!(id, @"crg_019b76daa87b774b805000000000002a");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn other_spellings_are_not_ids() {
        for text in [
            "",
            "crg_",
            "crg_short",
            "file_019b76da807b774b805000000000002a",
        ] {
            assert_eq!(text.parse::<CargoId>(), Err(InvalidId), "{text}");
        }
        let upper = "crg_019B76DA807B774B805000000000002A";
        assert_eq!(upper.parse::<CargoId>(), Err(InvalidId));
    }

    proptest! {
        #[test]
        fn ids_carry_their_berth(number in 0..Berth::COUNT, entropy: u64) {
            let berth = Berth::new(number).unwrap();
            let id = CargoId::new(moment(1_767_225_600_000_000), berth, entropy);
            prop_assert_eq!(id.berth(), berth);
            prop_assert_eq!(id.uuid().get_version_num(), 7);
        }

        #[test]
        fn ids_sort_by_time(earlier in 0_i64..4_000_000_000_000_000, later in 1_i64..1_000_000_000, a: u64, b: u64) {
            let berth = Berth::new(0).unwrap();
            let first = CargoId::new(moment(earlier), berth, a);
            let second = CargoId::new(moment(earlier + later), berth, b);
            prop_assert!(first < second);
            prop_assert!(first_id_at(moment(earlier)) <= first.uuid());
        }
    }
}
