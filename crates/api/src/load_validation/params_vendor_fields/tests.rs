//! The lists of fields against what else knows them.

use domain::field_spelling::plain_spelling;
use domain::provider_options::{DENIED, is_denied};
use serde_json::json;

use super::*;
use crate::load_validation::params::PARAM_NAMES;

/// The lists for the tests of the providers' own clients, which are in Python.
const LISTS: &str = include_str!("../../../../outbound/sdk/load_fields.json");

fn names(list: &[FieldAdvice]) -> Vec<&'static str> {
    let names = list.iter().flat_map(|entry| entry.names);
    let mut names: Vec<&str> = names.copied().collect();
    names.sort_by_cached_key(|name| plain_spelling(name));
    names
}

#[test]
fn the_tests_of_the_clients_have_these_lists() {
    let lists = json!({
        "ours": PARAM_NAMES,
        "refused": names(REFUSED),
        "ignored": names(IGNORED),
    });
    let wanted = format!("{}\n", serde_json::to_string_pretty(&lists).unwrap());
    assert_eq!(LISTS, wanted, "load_fields.json should be:\n{wanted}");
}

#[test]
fn no_field_of_ours_is_one_of_the_vendors() {
    for name in PARAM_NAMES {
        assert!(PARAMS_FIELDS.find(name).is_none(), "{name}");
    }
}

#[test]
fn a_field_that_no_operator_can_allow_is_explained() {
    for name in DENIED {
        let is_ours = PARAM_NAMES.contains(name);
        assert!(is_ours || PARAMS_FIELDS.find(name).is_some(), "{name}");
    }
    let promised = REFUSED.iter().filter(|it| it.advice == OPTION_ADVICE);
    for name in promised.flat_map(|entry| entry.names) {
        assert!(!is_denied(name), "{name} can never be allowed");
    }
}
