//! Lenient reading: a value of another type is not an error but [`Given::Bad`].
//!
//! serde stops at the first mismatch, and a caller wants to see them all. What
//! is not wanted is skipped without recursion, however deep it is nested.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use wire::detail::Step;

use crate::faults::Faults;

/// What is said about a value that cannot stand: the fault's type and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bad(pub &'static str, pub &'static str);

pub(super) const MISSING: Bad = Bad("missing", "Field required");
pub(super) const OBJECT: Bad = Bad("object_type", "Input should be an object");
pub(super) const LIST: Bad = Bad("list_type", "Input should be an array");
pub(super) const TEXT: Bad = Bad("string_type", "Input should be a string");

/// What stood in the place of a value.
#[derive(Debug)]
pub(super) enum Given<T> {
    /// Nothing, or null.
    Absent,
    Good(T),
    /// Something else; nobody has noted it yet.
    Bad(Bad),
    /// Something with faults inside, which are noted.
    Noted,
}

/// What is wanted in a place. Whatever is not overridden is not wanted.
pub(super) trait Shape<'de>: Sized {
    type Value;
    /// What is said when something of another type stands there.
    const WANTED: Bad;

    fn text(self, _text: &str) -> Given<Self::Value> {
        Given::Bad(Self::WANTED)
    }

    fn integer(self, _integer: i128) -> Given<Self::Value> {
        Given::Bad(Self::WANTED)
    }

    fn fraction(self, _fraction: f64) -> Given<Self::Value> {
        Given::Bad(Self::WANTED)
    }

    fn list<A: SeqAccess<'de>>(self, list: A) -> Result<Given<Self::Value>, A::Error> {
        skip(list).map(|_| Given::Bad(Self::WANTED))
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Given<Self::Value>, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Given::Bad(Self::WANTED))
    }
}

/// Reads a shape from JSON.
#[derive(Debug)]
pub(super) struct Read<S>(pub S);

/// Reads a key: one of these, or `None` for any other.
#[derive(Debug)]
pub(super) struct OneOf(pub &'static [&'static str]);

/// Skips what is left of a list and counts it.
pub(super) fn skip<'de, A: SeqAccess<'de>>(mut list: A) -> Result<usize, A::Error> {
    let mut skipped = 0;
    while list.next_element::<IgnoredAny>()?.is_some() {
        skipped += 1;
    }
    Ok(skipped)
}

/// The next element of a list, if there is one; a null is no element of any shape.
pub(super) fn element<'de, A: SeqAccess<'de>, S: Shape<'de>>(
    list: &mut A,
    shape: S,
) -> Result<Option<Given<S::Value>>, A::Error> {
    let next = list.next_element_seed(Read(shape))?;
    Ok(next.map(|given| match given {
        Given::Absent => Given::Bad(S::WANTED),
        Given::Good(_) | Given::Bad(_) | Given::Noted => given,
    }))
}

impl<T> Given<T> {
    /// The value at `key`, which may be absent.
    pub(super) fn optional(self, faults: &mut Faults, key: &'static str) -> Option<T> {
        match self {
            Self::Good(value) => Some(value),
            Self::Absent | Self::Noted => None,
            Self::Bad(Bad(kind, msg)) => {
                faults.note_at(key, kind, msg);
                None
            }
        }
    }

    /// The value at `key`, which must be there.
    pub(super) fn required(self, faults: &mut Faults, key: &'static str) -> Option<T> {
        faults.within(Step::Key(key), |faults| self.required_here(faults, MISSING))
    }

    /// The value at this very place.
    pub(super) fn required_here(self, faults: &mut Faults, absent: Bad) -> Option<T> {
        let bad = match self {
            Self::Good(value) => return Some(value),
            Self::Noted => return None,
            Self::Absent => absent,
            Self::Bad(bad) => bad,
        };
        faults.note(bad.0, bad.1);
        None
    }

    pub(super) const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl<T> From<Option<T>> for Given<T> {
    /// None has its faults noted.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Noted, Self::Good)
    }
}

impl<'de, S: Shape<'de>> DeserializeSeed<'de> for Read<S> {
    type Value = Given<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, S: Shape<'de>> Visitor<'de> for Read<S> {
    type Value = Given<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(S::WANTED.1)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Given::Absent)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Given::Bad(S::WANTED))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Self::Value, E> {
        Ok(self.0.integer(i128::from(integer)))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Self::Value, E> {
        Ok(self.0.integer(i128::from(integer)))
    }

    fn visit_f64<E: Error>(self, fraction: f64) -> Result<Self::Value, E> {
        Ok(self.0.fraction(fraction))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        self.0.list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        self.0.object(object)
    }
}

impl<'de> DeserializeSeed<'de> for OneOf {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for OneOf {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().copied().find(|known| *known == key))
    }
}
