//! Fields that Longshore does not know: none is skipped in silence.
//!
//! A field that changes the answer in a vendor's API is an error, with our spelling of the same
//! thing, and so is a field of ours in another spelling. Any other field is ignored with a warning.

use domain::load_warning::WarningCode;
use serde::de::{IgnoredAny, MapAccess};
use wire::error_body::LocationStep;

use super::reader::UnknownKey;
use super::vendor_fields::{FieldEffect, VendorField, VendorFields};
use crate::validation_errors::ValidationErrors;

const NO_SUCH_FIELD: &str = "Longshore has no field of this name.";

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
    let verdict = judge(&key, vendors, "");
    report(key, verdict, faults);
}

pub(super) fn report(key: UnknownKey, verdict: FieldVerdict, faults: &mut ValidationErrors) {
    faults.within(LocationStep::name(key.name), |faults| match verdict {
        FieldVerdict::Refuse(msg) => faults.add("value_error", msg),
        FieldVerdict::Warn(message) => faults.warn(WarningCode::UnknownField, message),
    });
}

/// `place` follows the advice to use a field of ours.
pub(super) fn judge(key: &UnknownKey, vendors: &VendorFields, place: &str) -> FieldVerdict {
    if let Some(ours) = key.ours {
        return FieldVerdict::Refuse(format!("{NO_SUCH_FIELD} Use {ours}."));
    }
    let Some(VendorField { effect, advice }) = vendors.find(&key.name) else {
        return FieldVerdict::Warn("Longshore has no field of this name and ignores it.");
    };
    match effect {
        FieldEffect::Ignored => FieldVerdict::Warn(advice),
        FieldEffect::Refused => {
            let place = if advice.starts_with("Use ") {
                place
            } else {
                ""
            };
            FieldVerdict::Refuse(format!("{NO_SUCH_FIELD} {advice}{place}"))
        }
    }
}

/// Warns about a known field that the object around it cannot have.
pub(super) fn warn_unused(name: &'static str, faults: &mut ValidationErrors, message: &str) {
    faults.within(LocationStep::key(name), |faults| {
        faults.warn(WarningCode::UnknownField, message);
    });
}
