//! Warnings of a load: fields that were accepted and have no effect, or not the usual one.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadWarning {
    /// The field, as a path such as `params.temperature`.
    pub field: String,
    pub code: WarningCode,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// Longshore does not know the field.
    UnknownField,
    /// The model does not take the field, so it is left out.
    IgnoredByModel,
    /// The model does not take the field, so Longshore applies it to the answer.
    Emulated,
}
