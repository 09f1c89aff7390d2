//! Fields that Longshore does not know: none is skipped in silence.
//!
//! A field that changes the answer in a vendor's API is an error, with our spelling of the same
//! thing, and so is a field of ours in another spelling. Any other field is ignored with a warning.

use domain::load_warning::WarningCode;
use serde::de::{IgnoredAny, MapAccess};
use wire::error_body::LocationStep;

use super::reader::UnknownKey;
use super::vendor_fields::{FieldEffect, VendorFields};
use crate::validation_errors::ValidationErrors;

pub(super) const NO_SUCH_FIELD: &str = "Longshore has no field of this name.";

/// What Longshore does with a field that it does not know, and what it tells the caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FieldVerdict {
    Refuse(String),
    Warn(&'static str),
}

/// Skips the value of an unknown field, and reports the field unless it is null.
pub(super) fn skip_unknown<'de, A: MapAccess<'de>>(
    object: &mut A,
    key: UnknownKey,
    faults: &mut ValidationErrors,
    vendors: &VendorFields,
) -> Result<(), A::Error> {
    if has_value(object)? {
        report_unknown(key, faults, vendors);
    }
    Ok(())
}

/// Skips a value, and returns whether it is another than null.
pub(super) fn has_value<'de, A: MapAccess<'de>>(object: &mut A) -> Result<bool, A::Error> {
    let value = object.next_value::<Option<IgnoredAny>>()?;
    Ok(value.is_some())
}

/// Reports an unknown field of the current location.
pub(super) fn report_unknown(
    key: UnknownKey,
    faults: &mut ValidationErrors,
    vendors: &VendorFields,
) {
    let verdict = judge(&key, vendors);
    report(key, verdict, faults);
}

pub(super) fn report(key: UnknownKey, verdict: FieldVerdict, faults: &mut ValidationErrors) {
    faults.within(LocationStep::name(key.name), |faults| match verdict {
        FieldVerdict::Refuse(msg) => faults.add("value_error", msg),
        FieldVerdict::Warn(message) => faults.warn(WarningCode::UnknownField, message),
    });
}

fn judge(key: &UnknownKey, vendors: &VendorFields) -> FieldVerdict {
    if let Some(ours) = key.ours {
        return FieldVerdict::Refuse(format!("{NO_SUCH_FIELD} Use {ours}."));
    }
    match vendors.find(&key.name) {
        None => FieldVerdict::Warn("Longshore has no field of this name and ignores it."),
        Some(field) => match field.effect {
            FieldEffect::Refused => {
                FieldVerdict::Refuse(format!("{NO_SUCH_FIELD} {}", field.advice))
            }
            FieldEffect::Ignored => FieldVerdict::Warn(field.advice),
        },
    }
}

/// Warns about a known field that the object around it cannot have.
pub(super) fn warn_unused(name: &'static str, faults: &mut ValidationErrors, message: &str) {
    faults.within(LocationStep::key(name), |faults| {
        faults.warn(WarningCode::UnknownField, message);
    });
}
