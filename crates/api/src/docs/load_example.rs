//! Checks a load that a document shows, as the route would. The tests of the documents call it.

use domain::admission;
use domain::load_warning::LoadWarning;
use domain::model::Catalogue;
use serde_json::Value;

use super::load::DOCUMENTED_RULES;
use crate::api_error::ApiError;
use crate::cargo::request_features::{check_conversation, check_features};
use crate::load_validation::parse_load;

/// The warnings of the load with these models, or the body of its refusal. Files, limits and
/// accounts are not looked at.
pub fn check_load_example(body: &[u8], catalogue: &Catalogue) -> Result<Vec<LoadWarning>, Value> {
    check(body, catalogue).map_err(|refusal| {
        let refusal = refusal.into_body();
        serde_json::to_value(refusal).unwrap_or_default()
    })
}

fn check(body: &[u8], catalogue: &Catalogue) -> Result<Vec<LoadWarning>, ApiError> {
    let load = parse_load(body, &DOCUMENTED_RULES)?;
    check_conversation(&load.params)?;
    let model = admission::admit(&load.params, catalogue)?;
    check_features(&load.params, model, load.warnings)
}
