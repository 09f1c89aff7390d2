//! References and circles of them.

use serde_json::{Value, json};

use super::{ALL, faults, text_of, with_property};
use crate::features::SchemaDialect;
use crate::schema_dialect::{SchemaStrictness, check};

/// A tree whose nodes have these properties and required ones.
fn tree(required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "required": ["root"],
        "additionalProperties": false,
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "label": {"type": "string"},
                    "next": {"$ref": "#/$defs/node"},
                },
                "required": required,
                "additionalProperties": false,
            },
        },
    })
}

fn circles(schema: &Value, dialect: SchemaDialect) -> Vec<String> {
    let text = text_of(&faults(schema, dialect));
    let lines = text.lines().filter(|line| line.contains("recursion"));
    lines.map(str::to_owned).collect()
}

#[test]
fn recursion_is_refused_by_anthropic_and_only_if_required_by_gemini() {
    let place = "/$defs/node/properties/next/$ref $ref: The model does not support recursion here";
    let required = tree(&["label", "next"]);
    assert_eq!(circles(&required, SchemaDialect::OpenAi), [""; 0]);
    assert_eq!(circles(&required, SchemaDialect::Anthropic), [place]);
    assert_eq!(circles(&required, SchemaDialect::Gemini), [place]);
    let optional = tree(&["label"]);
    assert_eq!(circles(&optional, SchemaDialect::Anthropic), [place]);
    assert_eq!(circles(&optional, SchemaDialect::Gemini), [""; 0]);
}

#[test]
fn gemini_resolves_references_in_schemas_that_it_does_not_enforce() {
    let lenient = |schema: &Value, dialect: SchemaDialect| {
        let schema = schema.as_object().unwrap();
        text_of(&check(schema, dialect, SchemaStrictness::Lenient))
    };
    let beside = json!({"anyOf": [{"$ref": "#/$defs/none", "title": "t", "$comment": "c"}]});
    let faulty = with_property(&beside);
    insta::assert_snapshot!(lenient(&faulty, SchemaDialect::Gemini), @r"
    /properties/p/anyOf/0/title title: A schema with $ref cannot have this keyword: put it where $ref points
    /properties/p/anyOf/0/$ref $ref: $ref points to nothing in this schema
    ");
    let required = tree(&["next"]);
    insta::assert_snapshot!(lenient(&required, SchemaDialect::Gemini), @"/$defs/node/properties/next/$ref $ref: The model does not support recursion here");
    for dialect in [
        SchemaDialect::OpenAi,
        SchemaDialect::Anthropic,
        SchemaDialect::Server,
    ] {
        assert_eq!(lenient(&faulty, dialect), "");
        assert_eq!(lenient(&required, dialect), "");
    }
}

#[test]
fn circles_over_several_references_and_the_root_are_found() {
    let pair = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "required": ["a"],
        "$defs": {
            "a": {"type": "array", "items": {"$ref": "#/$defs/b"}},
            "b": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]},
        },
    });
    let root = json!({"type": "object", "properties": {"me": {"$ref": "#"}}, "required": ["me"]});
    let itself = json!({"type": "object", "$defs": {"a": {"$ref": "#/$defs/a"}}});
    for dialect in [SchemaDialect::Anthropic, SchemaDialect::Gemini] {
        for schema in [&pair, &root, &itself] {
            assert_eq!(circles(schema, dialect).len(), 1, "{schema}");
        }
    }
}

#[test]
fn a_definition_that_is_used_twice_is_no_circle() {
    let mut schema = with_property(&json!({"$ref": "#/$defs/a"}));
    schema["properties"]["q"] = json!({"$ref": "#/$defs/a"});
    schema["required"] = json!(["p", "q"]);
    schema["$defs"] = json!({"a": {"type": "string"}});
    for dialect in ALL {
        assert_eq!(faults(&schema, dialect), []);
    }
}

#[test]
fn a_long_chain_of_references_is_walked_without_recursion() {
    let names: Vec<String> = (0..20_000).map(|at| format!("d{at}")).collect();
    let mut definitions = serde_json::Map::new();
    for pair in names.windows(2) {
        let target = format!("#/$defs/{}", pair[1]);
        definitions.insert(pair[0].clone(), json!({"$ref": target}));
    }
    definitions.insert("d19999".to_owned(), json!({"$ref": "#/$defs/d0"}));
    let schema = json!({"type": "object", "$defs": definitions});
    assert_eq!(circles(&schema, SchemaDialect::Gemini).len(), 1);
}

#[test]
fn a_reference_points_into_its_schema() {
    let elsewhere = with_property(&json!({"$ref": "other.json#/a"}));
    let nowhere = with_property(&json!({"$ref": "#/$defs/none"}));
    for dialect in ALL {
        assert_eq!(
            text_of(&faults(&elsewhere, dialect)),
            "/properties/p/$ref $ref: $ref must point into the same schema, as in #/$defs/name"
        );
        let unresolved = match dialect {
            SchemaDialect::OpenAi | SchemaDialect::Anthropic | SchemaDialect::Gemini => {
                "/properties/p/$ref $ref: $ref points to nothing in this schema"
            }
            SchemaDialect::Server => "",
        };
        assert_eq!(text_of(&faults(&nowhere, dialect)), unresolved);
    }
}

#[test]
fn keywords_beside_a_reference_are_refused_by_openai_and_gemini() {
    let mut schema = with_property(&json!({"$ref": "#/$defs/a", "description": "b"}));
    schema["$defs"] = json!({"a": {"type": "string"}});
    for dialect in [SchemaDialect::OpenAi, SchemaDialect::Gemini] {
        assert_eq!(
            text_of(&faults(&schema, dialect)),
            "/properties/p/description description: A schema with $ref cannot have this keyword: \
             put it where $ref points"
        );
    }
    assert_eq!(faults(&schema, SchemaDialect::Anthropic), []);
}

#[test]
fn anthropic_takes_no_reference_in_all_of() {
    let mut schema = with_property(&json!({"allOf": [{"$ref": "#/$defs/a"}]}));
    schema["$defs"] = json!({"a": {"type": "string"}});
    insta::assert_snapshot!(text_of(&faults(&schema, SchemaDialect::Anthropic)), @"/properties/p/allOf/0/$ref $ref: The model does not support $ref in allOf");
}
