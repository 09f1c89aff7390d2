//! Lenient reading: a value of the wrong type is not an error but [`FieldValue::Invalid`].
//!
//! serde stops at the first mismatch, but a caller should see all of them. Values
//! that are not needed are skipped without recursion, however deeply they are nested.

use std::fmt;

use domain::field_spelling::is_same_field;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use wire::error_body::LocationStep;

use crate::validation_errors::ValidationErrors;

/// Why a value is invalid: the type and the text of the validation error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueMismatch(pub &'static str, pub &'static str);

pub(super) const FIELD_REQUIRED: ValueMismatch = ValueMismatch("missing", "Field required");
pub(super) const NOT_AN_OBJECT: ValueMismatch =
    ValueMismatch("object_type", "Input should be an object");
pub(super) const NOT_AN_ARRAY: ValueMismatch =
    ValueMismatch("list_type", "Input should be an array");
pub(super) const NOT_A_STRING: ValueMismatch =
    ValueMismatch("string_type", "Input should be a string");

/// What was read for a field.
#[derive(Debug)]
pub(super) enum FieldValue<T> {
    /// The field is missing or null.
    Absent,
    Valid(T),
    /// The value is invalid, and the error is not reported yet.
    Invalid(ValueMismatch),
    /// There are errors inside the value, and they are reported.
    Reported,
}

/// Reads one kind of value. Each JSON type that has no method here is a mismatch.
pub(super) trait ValueReader<'de>: Sized {
    type Value;
    /// The error for a value of another type.
    const MISMATCH: ValueMismatch;

    fn read_bool(self, _value: bool) -> FieldValue<Self::Value> {
        FieldValue::Invalid(Self::MISMATCH)
    }

    fn read_text(self, _text: &str) -> FieldValue<Self::Value> {
        FieldValue::Invalid(Self::MISMATCH)
    }

    fn read_integer(self, _integer: i128) -> FieldValue<Self::Value> {
        FieldValue::Invalid(Self::MISMATCH)
    }

    fn read_fraction(self, _fraction: f64) -> FieldValue<Self::Value> {
        FieldValue::Invalid(Self::MISMATCH)
    }

    fn read_list<A: SeqAccess<'de>>(self, list: A) -> Result<FieldValue<Self::Value>, A::Error> {
        skip_rest(list).map(|_| FieldValue::Invalid(Self::MISMATCH))
    }

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<Self::Value>, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(FieldValue::Invalid(Self::MISMATCH))
    }
}

/// Connects a reader to serde.
#[derive(Debug)]
pub(super) struct ReaderSeed<S>(pub S);

/// Reads an object's key. These are known.
#[derive(Debug)]
pub(super) struct KeySeed(pub &'static [&'static str]);

/// The longest name of an unknown field that is reported. A longer one is cut.
const MAX_FIELD_NAME_CHARS: usize = 100;

/// A key of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldKey {
    Known(&'static str),
    Unknown(UnknownKey),
}

/// A key that the object does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnknownKey {
    /// Cut to a length that can be reported.
    pub(super) name: String,
    /// The field of the object that has this name in another spelling.
    pub(super) ours: Option<&'static str>,
}

impl FieldKey {
    /// A name of the caller, cut to a length that can be reported.
    pub(super) fn cut(name: &str) -> String {
        name.chars().take(MAX_FIELD_NAME_CHARS).collect()
    }
}

/// Skips the rest of an array and returns the number of skipped elements.
pub(super) fn skip_rest<'de, A: SeqAccess<'de>>(mut list: A) -> Result<usize, A::Error> {
    let mut skipped = 0;
    while list.next_element::<IgnoredAny>()?.is_some() {
        skipped += 1;
    }
    Ok(skipped)
}

/// The next element of an array, if there is one. A null is never a valid element.
pub(super) fn next_element<'de, A: SeqAccess<'de>, S: ValueReader<'de>>(
    list: &mut A,
    reader: S,
) -> Result<Option<FieldValue<S::Value>>, A::Error> {
    let next = list.next_element_seed(ReaderSeed(reader))?;
    Ok(next.map(|value| match value {
        FieldValue::Absent => FieldValue::Invalid(S::MISMATCH),
        FieldValue::Valid(_) | FieldValue::Invalid(_) | FieldValue::Reported => value,
    }))
}

impl<T> FieldValue<T> {
    /// The value at `key`, which may be absent.
    pub(super) fn optional(self, faults: &mut ValidationErrors, key: &'static str) -> Option<T> {
        match self {
            Self::Valid(value) => Some(value),
            Self::Absent | Self::Reported => None,
            Self::Invalid(ValueMismatch(kind, msg)) => {
                faults.add_at(key, kind, msg);
                None
            }
        }
    }

    /// The value at `key`, which must be there.
    pub(super) fn required(self, faults: &mut ValidationErrors, key: &'static str) -> Option<T> {
        faults.within(LocationStep::key(key), |faults| {
            self.required_here(faults, FIELD_REQUIRED)
        })
    }

    /// The value at the current location.
    pub(super) fn required_here(
        self,
        faults: &mut ValidationErrors,
        absent: ValueMismatch,
    ) -> Option<T> {
        let mismatch = match self {
            Self::Valid(value) => return Some(value),
            Self::Reported => return None,
            Self::Absent => absent,
            Self::Invalid(mismatch) => mismatch,
        };
        faults.add(mismatch.0, mismatch.1);
        None
    }

    pub(super) const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> FieldValue<U> {
        match self {
            Self::Absent => FieldValue::Absent,
            Self::Valid(value) => FieldValue::Valid(change(value)),
            Self::Invalid(mismatch) => FieldValue::Invalid(mismatch),
            Self::Reported => FieldValue::Reported,
        }
    }
}

impl<T> From<Option<T>> for FieldValue<T> {
    /// `None` means that the errors are reported already.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Reported, Self::Valid)
    }
}

impl<'de, S: ValueReader<'de>> DeserializeSeed<'de> for ReaderSeed<S> {
    type Value = FieldValue<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, S: ValueReader<'de>> Visitor<'de> for ReaderSeed<S> {
    type Value = FieldValue<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(S::MISMATCH.1)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(FieldValue::Absent)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(self.0.read_bool(value))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Self::Value, E> {
        Ok(self.0.read_integer(i128::from(integer)))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Self::Value, E> {
        Ok(self.0.read_integer(i128::from(integer)))
    }

    fn visit_f64<E: Error>(self, fraction: f64) -> Result<Self::Value, E> {
        Ok(self.0.read_fraction(fraction))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.read_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        self.0.read_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        self.0.read_object(object)
    }
}

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = FieldKey;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = FieldKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let known = |is_it: fn(&str, &str) -> bool| {
            let mut names = self.0.iter().copied();
            names.find(|known| is_it(known, key))
        };
        Ok(match known(|known, key| known == key) {
            Some(known) => FieldKey::Known(known),
            None => FieldKey::Unknown(UnknownKey {
                name: FieldKey::cut(key),
                // A hostile key has megabytes, and is compared with every name.
                ours: known(|known, key| {
                    key.len() <= MAX_FIELD_NAME_CHARS && is_same_field(known, key)
                }),
            }),
        })
    }
}
