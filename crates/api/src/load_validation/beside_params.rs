//! Unknown fields beside `params`.
//!
//! Only `params` reaches the model. A field of the request that is written beside it would change
//! the answer, so the load is refused.

use domain::field_spelling::is_same_field;
use serde::de::MapAccess;

use super::params::PARAM_NAMES;
use super::params_vendor_fields::PARAMS_FIELDS;
use super::reader::UnknownKey;
use super::unknown_fields::{FieldVerdict, has_value, judge, report};
use crate::validation_errors::ValidationErrors;

/// Skips the value of an unknown field, and reports the field unless it is null.
pub(super) fn skip_beside_params<'de, A: MapAccess<'de>>(
    object: &mut A,
    key: UnknownKey,
    faults: &mut ValidationErrors,
) -> Result<(), A::Error> {
    if has_value(object)? {
        let verdict = judge_beside_params(&key);
        report(key, verdict, faults);
    }
    Ok(())
}

fn judge_beside_params(key: &UnknownKey) -> FieldVerdict {
    let ours = PARAM_NAMES
        .iter()
        .find(|ours| is_same_field(ours, &key.name));
    match ours {
        Some(ours) => FieldVerdict::Refuse(format!(
            "Longshore has no field of this name beside params. Put {ours} in params."
        )),
        None => judge(key, &PARAMS_FIELDS, " Put it in params."),
    }
}
