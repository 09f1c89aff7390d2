//! Unknown fields beside `params`.
//!
//! Only `params` reaches the model. A field of the request that is written beside it would change
//! the answer, so the load is refused.

use domain::field_spelling::is_same_field;
use serde::de::MapAccess;

use super::params::PARAM_NAMES;
use super::params_vendor_fields::PARAMS_FIELDS;
use super::reader::UnknownKey;
use super::unknown_fields::{FieldVerdict, NO_SUCH_FIELD, has_value, report};
use super::vendor_fields::FieldEffect;
use crate::validation_errors::ValidationErrors;

/// Skips the value of an unknown field, and reports the field unless it is null.
pub(super) fn skip_beside_params<'de, A: MapAccess<'de>>(
    object: &mut A,
    key: UnknownKey,
    faults: &mut ValidationErrors,
) -> Result<(), A::Error> {
    if has_value(object)? {
        let verdict = judge(&key);
        report(key, verdict, faults);
    }
    Ok(())
}

fn judge(key: &UnknownKey) -> FieldVerdict {
    if let Some(ours) = key.ours {
        return FieldVerdict::Refuse(format!("{NO_SUCH_FIELD} Use {ours}."));
    }
    let name = key.name.as_str();
    if let Some(ours) = PARAM_NAMES.iter().find(|ours| is_same_field(ours, name)) {
        let msg =
            format!("Longshore has no field of this name beside params. Put {ours} in params.");
        return FieldVerdict::Refuse(msg);
    }
    match PARAMS_FIELDS.find(name) {
        None => FieldVerdict::Warn("Longshore has no field of this name and ignores it."),
        Some(field) => match field.effect {
            FieldEffect::Ignored => FieldVerdict::Warn(field.advice),
            FieldEffect::Refused => {
                let advice = field.advice;
                let place = if advice.starts_with("Use ") {
                    " Put it in params."
                } else {
                    ""
                };
                FieldVerdict::Refuse(format!("{NO_SUCH_FIELD} {advice}{place}"))
            }
        },
    }
}
