//! Reads the body: `params`, `callback_url`, `metadata`.

use domain::callback_url::CallbackUrl;
use serde::de::{IgnoredAny, MapAccess};
use serde_json::value::RawValue;
use wire::error_body::LocationStep;

use super::params::ParamsReader;
use super::reader::{FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader};
use super::values::TextReader;
use super::{LoadRules, ValidLoad};
use crate::validation_errors::ValidationErrors;

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
        while let Some(key) =
            object.next_key_seed(KeySeed(&["params", "callback_url", "metadata"]))?
        {
            match key {
                Some("params") => {
                    params = faults.within(LocationStep::Key("params"), |faults| {
                        object.next_value_seed(ReaderSeed(ParamsReader { faults, rules }))
                    })?;
                }
                Some("callback_url") => {
                    callback_url = object.next_value_seed(ReaderSeed(TextReader))?;
                }
                Some("metadata") => metadata = Some(object.next_value::<&'de RawValue>()?),
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        let params = params.required(faults, "params");
        let callback_url = callback_url.optional(faults, "callback_url");
        let callback = callback_url.and_then(|url| match CallbackUrl::parse(&url, rules.schemes) {
            Ok(callback) => Some(callback),
            Err(refusal) => {
                faults.add_at("callback_url", "value_error", refusal.to_string());
                None
            }
        });
        let metadata = metadata
            .map_or(FieldValue::Absent, read_metadata)
            .optional(faults, "metadata");
        Ok(params
            .map(|params| ValidLoad {
                params,
                callback,
                metadata,
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
