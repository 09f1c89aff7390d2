//! Reads the body: `params`, `callback_url`, `metadata`, the deadline and the group.

use serde::de::MapAccess;
use serde_json::value::RawValue;
use wire::error_body::LocationStep;

use super::beside_params::skip_beside_params;
use super::deadline::{DeadlineAtReader, DeadlineSecondsReader, choose_deadline};
use super::membership::{CUSTOM_ID, GROUP_ID, MembershipFields, POSITION};
use super::params::ParamsReader;
use super::reader::{
    FieldKey, FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader,
};
use super::values::TextReader;
use super::{LoadRules, ValidLoad};
use crate::validation_errors::ValidationErrors;

const KEYS: &[&str] = &[
    "params",
    "callback_url",
    "metadata",
    "deadline_seconds",
    "deadline_at",
    GROUP_ID,
    CUSTOM_ID,
    POSITION,
];
const MAX_METADATA_BYTES: usize = 4096;
const METADATA_TOO_LONG: ValueMismatch =
    ValueMismatch("too_long", "Input should be at most 4096 bytes of JSON");

#[derive(Debug)]
pub(super) struct LoadBodyReader<'f> {
    pub faults: &'f mut ValidationErrors,
    pub rules: &'f LoadRules,
}

impl<'de> ValueReader<'de> for LoadBodyReader<'_> {
    type Value = ValidLoad;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<ValidLoad>, A::Error> {
        let Self { faults, rules } = self;
        let mut params = FieldValue::Absent;
        let mut callback_url = FieldValue::Absent;
        let mut metadata = None;
        let mut deadline_seconds = FieldValue::Absent;
        let mut deadline_at = FieldValue::Absent;
        let mut membership = MembershipFields::new();
        while let Some(key) = object.next_key_seed(KeySeed(KEYS))? {
            match key {
                FieldKey::Known("params") => {
                    params = faults.within(LocationStep::key("params"), |faults| {
                        object.next_value_seed(ReaderSeed(ParamsReader { faults, rules }))
                    })?;
                }
                FieldKey::Known("callback_url") => {
                    callback_url = object.next_value_seed(ReaderSeed(TextReader))?;
                }
                FieldKey::Known("metadata") => {
                    metadata = Some(object.next_value::<&'de RawValue>()?);
                }
                FieldKey::Known("deadline_seconds") => {
                    deadline_seconds = object.next_value_seed(ReaderSeed(DeadlineSecondsReader))?;
                }
                FieldKey::Known(field @ (GROUP_ID | CUSTOM_ID | POSITION)) => {
                    membership.read(field, &mut object)?;
                }
                FieldKey::Known(_) => {
                    deadline_at = object.next_value_seed(ReaderSeed(DeadlineAtReader))?;
                }
                FieldKey::Unknown(key) => skip_beside_params(&mut object, key, faults)?,
            }
        }
        let params = params.required(faults, "params");
        let callback_url = callback_url.optional(faults, "callback_url");
        let callback = callback_url.and_then(|url| match rules.parse_callback_url(&url) {
            Ok(callback) => Some(callback),
            Err(refusal) => {
                faults.add_at("callback_url", "value_error", refusal.to_string());
                None
            }
        });
        let metadata = metadata
            .map_or(FieldValue::Absent, read_metadata)
            .optional(faults, "metadata");
        let deadline = choose_deadline(deadline_seconds, deadline_at, faults);
        let membership = membership.check(faults);
        Ok(params
            .map(|params| ValidLoad {
                params,
                callback,
                metadata,
                deadline,
                membership,
                warnings: Vec::new(),
            })
            .into())
    }
}

/// The JSON text is stored unchanged, because the order of keys or a long number may matter to
/// the caller.
fn read_metadata(metadata: &RawValue) -> FieldValue<String> {
    let json = metadata.get();
    match json.as_bytes().first() {
        Some(b'{') if json.len() <= MAX_METADATA_BYTES => FieldValue::Valid(json.to_owned()),
        Some(b'{') => FieldValue::Invalid(METADATA_TOO_LONG),
        Some(b'n') => FieldValue::Absent,
        _ => FieldValue::Invalid(NOT_AN_OBJECT),
    }
}
