//! Reads `cache_control`.

use domain::params::cache_control::{CacheControl, CacheTtl};
use serde::de::MapAccess;

use super::nested_vendor_fields::NO_VENDOR_FIELDS;
use super::reader::{
    FieldKey, FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader,
};
use super::unknown_fields::skip_unknown;
use super::values::ChoiceReader;
use crate::validation_errors::ValidationErrors;

const TYPES: &[(&str, ())] = &[("ephemeral", ())];
const INVALID_TYPE: ValueMismatch = ValueMismatch("value_error", "Input should be ephemeral");
const TTLS: &[(&str, CacheTtl)] = &[("5m", CacheTtl::FiveMinutes), ("1h", CacheTtl::OneHour)];
const INVALID_TTL: ValueMismatch = ValueMismatch("value_error", "Input should be 5m or 1h");

#[derive(Debug)]
pub(super) struct CacheControlReader<'f> {
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for CacheControlReader<'_> {
    type Value = CacheControl;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<CacheControl>, A::Error> {
        let Self { faults } = self;
        let mut kind = FieldValue::Absent;
        let mut ttl = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(&["type", "ttl"]))? {
            match key {
                FieldKey::Known("type") => {
                    let (choices, mismatch) = (TYPES, INVALID_TYPE);
                    let reader = ChoiceReader { choices, mismatch };
                    kind = object.next_value_seed(ReaderSeed(reader))?;
                }
                FieldKey::Known(_) => {
                    let (choices, mismatch) = (TTLS, INVALID_TTL);
                    let reader = ChoiceReader { choices, mismatch };
                    ttl = object.next_value_seed(ReaderSeed(reader))?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &NO_VENDOR_FIELDS)?;
                }
            }
        }
        let kind = kind.required(faults, "type");
        let is_valid_ttl = !matches!(ttl, FieldValue::Invalid(_));
        let ttl = ttl.optional(faults, "ttl");
        let mark = kind.filter(|()| is_valid_ttl);
        Ok(mark.map(|()| CacheControl::Ephemeral { ttl }).into())
    }
}
