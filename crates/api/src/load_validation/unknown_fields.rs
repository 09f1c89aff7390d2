//! Fields that Longshore does not know: none is skipped in silence.
//!
//! A field that changes the answer in a vendor's API is an error, with our spelling of the same
//! thing. Any other field is ignored with a warning.

use domain::load_warning::WarningCode;
use serde::de::{IgnoredAny, MapAccess};
use wire::error_body::LocationStep;

use super::vendor_fields::VendorFields;
use crate::validation_errors::ValidationErrors;

/// Skips the value of an unknown field, and reports the field unless it is null.
pub(super) fn skip_unknown<'de, A: MapAccess<'de>>(
    object: &mut A,
    name: String,
    faults: &mut ValidationErrors,
    vendors: &VendorFields,
) -> Result<(), A::Error> {
    let value = object.next_value::<Option<IgnoredAny>>()?;
    if value.is_some() {
        report_unknown(name, faults, vendors);
    }
    Ok(())
}

/// Reports an unknown field of the current location.
pub(super) fn report_unknown(name: String, faults: &mut ValidationErrors, vendors: &VendorFields) {
    let (refused, ignored) = (vendors.refusal_of(&name), vendors.explanation_of(&name));
    faults.within(LocationStep::name(name), |faults| {
        match (refused, ignored) {
            (Some(advice), _) => {
                let msg = format!("Longshore has no field of this name. {advice}");
                faults.add("value_error", msg);
            }
            (None, Some(why)) => faults.warn(WarningCode::UnknownField, why),
            (None, None) => {
                let message = "Longshore has no field of this name and ignores it.";
                faults.warn(WarningCode::UnknownField, message);
            }
        }
    });
}

/// Warns about a known field that the object around it cannot have.
pub(super) fn warn_unused(name: &'static str, faults: &mut ValidationErrors, message: &str) {
    faults.within(LocationStep::key(name), |faults| {
        faults.warn(WarningCode::UnknownField, message);
    });
}
