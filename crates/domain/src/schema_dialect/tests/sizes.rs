//! Limits of depth and size.

use serde_json::{Value, json};

use super::{ALL, faults, text_of, with_property};
use crate::features::SchemaDialect;

/// Objects inside each other: this many levels.
fn nested(levels: usize) -> Value {
    (1..levels).fold(with_property(&json!({"type": "string"})), |inner, _| {
        with_property(&inner)
    })
}

/// An object with this many properties, of which all or none are required.
fn wide(count: usize, are_required: bool, property: &Value) -> Value {
    let names: Vec<String> = (0..count).map(|at| format!("p{at}")).collect();
    let properties: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| (name.clone(), property.clone()))
        .collect();
    let required = if are_required { names } else { Vec::new() };
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

#[test]
fn openai_takes_ten_levels() {
    assert_eq!(faults(&nested(10), SchemaDialect::OpenAi), []);
    insta::assert_snapshot!(text_of(&faults(&nested(11), SchemaDialect::OpenAi)), @"/ properties: A schema may have at most 10 levels of objects and arrays");
    assert_eq!(faults(&nested(11), SchemaDialect::Anthropic), []);
}

#[test]
fn no_dialect_takes_more_than_32_levels() {
    // The string at the end is a level, too.
    assert_eq!(faults(&nested(31), SchemaDialect::Server), []);
    for dialect in ALL {
        let text = text_of(&faults(&nested(32), dialect));
        assert!(text.contains("at most 32 levels"), "{text}");
    }
    assert!(!faults(&nested(100), SchemaDialect::Server).is_empty());
}

#[test]
fn openai_limits_properties_enums_and_characters() {
    let text = json!({"type": "string"});
    assert_eq!(faults(&wide(5000, true, &text), SchemaDialect::OpenAi), []);
    insta::assert_snapshot!(text_of(&faults(&wide(5001, true, &text), SchemaDialect::OpenAi)), @"/ properties: A schema may have at most 5000 properties");

    let values = |count: usize, length: usize| -> Value {
        let values: Vec<String> = (0..count).map(|at| format!("{at:0length$}")).collect();
        with_property(&json!({"enum": values}))
    };
    assert_eq!(faults(&values(1000, 15), SchemaDialect::OpenAi), []);
    insta::assert_snapshot!(text_of(&faults(&values(1001, 4), SchemaDialect::OpenAi)), @"/ enum: A schema may have at most 1000 values of enums");
    assert_eq!(faults(&values(250, 100), SchemaDialect::OpenAi), []);
    insta::assert_snapshot!(text_of(&faults(&values(251, 60), SchemaDialect::OpenAi)), @"/properties/p/enum enum: An enum with more than 250 values may have at most 15000 characters");
    insta::assert_snapshot!(text_of(&faults(&values(100, 1200), SchemaDialect::OpenAi)), @"/ properties: A schema may have at most 120000 characters in names and values of enums");
}

#[test]
fn anthropic_limits_optional_properties_and_unions() {
    let text = json!({"type": "string"});
    assert_eq!(
        faults(&wide(24, false, &text), SchemaDialect::Anthropic),
        []
    );
    insta::assert_snapshot!(text_of(&faults(&wide(25, false, &text), SchemaDialect::Anthropic)), @"/ properties: The strict schemas of a request may have at most 24 optional properties together");
    let union = json!({"type": ["string", "null"]});
    assert_eq!(
        faults(&wide(16, true, &union), SchemaDialect::Anthropic),
        []
    );
    insta::assert_snapshot!(text_of(&faults(&wide(17, true, &union), SchemaDialect::Anthropic)), @"/ properties: The strict schemas of a request may have at most 16 unions (anyOf, or a list of types) together");
    assert_eq!(faults(&wide(17, true, &union), SchemaDialect::Gemini), []);
}

#[test]
fn the_list_of_faults_is_bounded() {
    let bad = json!({"type": "string", "minLength": 1});
    let found = faults(&wide(1000, true, &bad), SchemaDialect::Gemini);
    assert_eq!(found.len(), super::super::MAX_FAULTS);
}
