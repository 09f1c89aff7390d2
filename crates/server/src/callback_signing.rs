//! The roots that the secrets of signed callbacks are derived from.

use domain::callback_signature::SigningRoots;

use crate::settings::table::SettingValues;

/// None if this installation does not sign callbacks.
pub fn roots(values: &SettingValues) -> Option<SigningRoots> {
    Some(SigningRoots {
        current: values.signing_root.clone()?,
        previous: values.signing_root_previous.clone(),
    })
}
