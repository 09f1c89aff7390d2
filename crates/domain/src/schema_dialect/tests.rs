//! What each dialect takes, keyword by keyword.

mod close;
mod recursion;
mod sizes;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const VENDORS: [SchemaDialect; 3] = [
    SchemaDialect::OpenAi,
    SchemaDialect::Anthropic,
    SchemaDialect::Gemini,
];
const ALL: [SchemaDialect; 4] = [
    SchemaDialect::OpenAi,
    SchemaDialect::Anthropic,
    SchemaDialect::Gemini,
    SchemaDialect::Server,
];

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// A closed object with one required property `p`.
fn with_property(schema: &Value) -> Value {
    json!({
        "type": "object", "properties": {"p": schema}, "required": ["p"],
        "additionalProperties": false,
    })
}

fn faults(schema: &Value, dialect: SchemaDialect) -> Vec<SchemaFault> {
    check(&object(schema), dialect, SchemaStrictness::Strict)
}

/// One fault per line: place, keyword and message.
fn text_of(faults: &[SchemaFault]) -> String {
    let lines = faults.iter().map(|fault| {
        let place: Vec<String> = fault.pointer.iter().map(ToString::to_string).collect();
        format!("/{} {}: {}", place.join("/"), fault.keyword, fault.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The dialects that take a property of this schema.
fn accepting(property: &Value) -> String {
    let schema = with_property(property);
    let accepting = ALL.iter().filter(|it| faults(&schema, **it).is_empty());
    let names: Vec<&str> = accepting
        .map(|dialect| match dialect {
            SchemaDialect::OpenAi => "openai",
            SchemaDialect::Anthropic => "anthropic",
            SchemaDialect::Gemini => "gemini",
            SchemaDialect::Server => "server",
        })
        .collect();
    names.join(" ")
}

#[test]
fn the_portable_profile_passes_in_all_dialects() {
    let portable = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Invoice",
        "properties": {
            "number": {"type": "string", "description": "As printed"},
            "currency": {"type": "string", "enum": ["EUR", "USD"]},
            "due": {"type": ["string", "null"], "format": "date"},
            "paid": {"type": "boolean"},
            "discount": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        },
        "required": ["number", "currency", "due", "paid", "discount", "lines"],
        "additionalProperties": false,
        "$defs": {
            "line": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "amount": {"type": "integer"}},
                "required": ["text", "amount"],
                "additionalProperties": false,
            },
        },
    });
    for dialect in ALL {
        for strictness in [SchemaStrictness::Strict, SchemaStrictness::Lenient] {
            assert_eq!(check(&object(&portable), dialect, strictness), []);
        }
    }
}

/// A schema of a property, and the dialects that take it.
const KEYWORDS: &str = r#"
{"type": "string", "minLength": 1}                                => openai server
{"type": "string", "maxLength": 9}                                => openai server
{"type": "string", "pattern": "^a+$"}                             => openai anthropic server
{"type": "string", "pattern": "^(?=a)"}                           => server
{"type": "string", "pattern": "(a)\\1"}                           => server
{"type": "string", "pattern": "\\ba"}                             => openai server
{"type": "string", "pattern": "\\\\b"}                            => openai anthropic server
{"type": "string", "format": "date-time"}                         => openai anthropic gemini server
{"type": "string", "format": "uri"}                               => anthropic gemini server
{"type": "string", "format": "iban"}                              => gemini server
{"type": "number", "minimum": 0}                                  => openai gemini server
{"type": "number", "maximum": 9.5}                                => openai gemini server
{"type": "number", "exclusiveMinimum": 0}                         => openai server
{"type": "number", "exclusiveMaximum": 9}                         => openai server
{"type": "number", "multipleOf": 2}                               => openai server
{"type": "array", "items": {"type": "null"}, "minItems": 1}       => openai anthropic gemini server
{"type": "array", "items": {"type": "null"}, "minItems": 2}       => openai gemini server
{"type": "array", "items": {"type": "null"}, "maxItems": 2}       => openai gemini server
{"type": "array", "items": {"type": "null"}, "uniqueItems": true} => server
{"type": "array", "items": {"type": "null"}, "contains": {}}      => server
{"type": "array", "prefixItems": [{"type": "null"}]}              => gemini server
{"type": "array"}                                                 => gemini server
{"anyOf": [{"type": "string"}, {"type": "null"}]}                 => openai anthropic gemini server
{"oneOf": [{"type": "string"}, {"type": "null"}]}                 => gemini server
{"allOf": [{"type": "string"}]}                                   => anthropic server
{"type": "string", "not": {"enum": ["a"]}}                        => server
{"type": "string", "if": {"type": "string"}, "then": {}}          => server
{"const": "a"}                                                    => openai anthropic server
{"enum": ["a", 1]}                                                => openai anthropic gemini server
{"enum": ["a", null, true]}                                       => openai anthropic server
{"enum": [["a"]]}                                                 => server
{"type": "string", "default": "a"}                                => anthropic gemini server
{"type": "string", "examples": ["a"]}                             => gemini server
{"type": "string", "readOnly": true}                              => gemini server
{"type": "object", "patternProperties": {"^a": {}}}               => server
{"type": "object", "additionalProperties": {"type": "null"}}      => gemini server
{"type": "object", "dependentRequired": {"a": ["b"]}}             => server
{"type": "object"}                                                => gemini server
{"type": "string", "made_up": 1}                                  => server
{}                                                                => gemini server
true                                                              => server
"#;

#[test]
fn each_keyword_is_taken_by_the_dialects_of_the_table() {
    let rows: Vec<_> = KEYWORDS.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 41);
    for row in rows {
        let (schema, expected) = row.split_once(" => ").unwrap();
        let property = serde_json::from_str(schema).unwrap();
        assert_eq!(accepting(&property), expected, "{schema}");
    }
}

#[test]
fn a_fault_has_its_place_and_says_what_to_write() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "tags": {"type": "array", "items": {"oneOf": [{"const": "a"}]}},
        },
        "required": ["name", "tags", "age"],
        "additionalProperties": false,
    });
    insta::assert_snapshot!(text_of(&faults(&schema, SchemaDialect::Anthropic)), @r"
    /required/2 required: required names a property that is not in properties
    /properties/name/minLength minLength: The model does not support minLength in a schema: write the limit into the description, and check the answer
    /properties/tags/items/oneOf oneOf: The model does not support oneOf in a schema: use anyOf
    /properties/tags/items type: A schema must have a type
    ");
    insta::assert_snapshot!(text_of(&faults(&schema, SchemaDialect::Gemini)), @r"
    /properties/name/minLength minLength: The model does not support minLength in a schema: write the limit into the description, and check the answer
    /properties/tags/items/oneOf/0/const const: The model does not support const in a schema: use enum with one value
    ");
    assert_eq!(faults(&schema, SchemaDialect::Server), []);
}

#[test]
fn openai_and_anthropic_want_closed_objects_and_openai_all_properties() {
    let schema = json!({
        "type": "object",
        "properties": {
            "open": {"type": "object", "properties": {}, "additionalProperties": true},
            "unsaid": {"type": ["object", "null"], "properties": {}},
        },
        "additionalProperties": false,
    });
    insta::assert_snapshot!(text_of(&faults(&schema, SchemaDialect::OpenAi)), @r"
    /properties/open required: Every property must be in required: for an optional value, add null to its type
    /properties/unsaid required: Every property must be in required: for an optional value, add null to its type
    /properties/open/additionalProperties additionalProperties: An object must list its properties and have additionalProperties: false
    /properties/unsaid additionalProperties: An object must list its properties and have additionalProperties: false
    ");
    insta::assert_snapshot!(text_of(&faults(&schema, SchemaDialect::Anthropic)), @r"
    /properties/open/additionalProperties additionalProperties: An object must list its properties and have additionalProperties: false
    /properties/unsaid additionalProperties: An object must list its properties and have additionalProperties: false
    ");
    assert_eq!(faults(&schema, SchemaDialect::Gemini), []);
}

#[test]
fn the_whole_schema_is_an_object_except_for_gemini() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let union = json!({"anyOf": [{"type": "string"}]});
    for (schema, place) in [(&list, "/type type"), (&union, "/ type")] {
        for dialect in [
            SchemaDialect::OpenAi,
            SchemaDialect::Anthropic,
            SchemaDialect::Server,
        ] {
            let text = text_of(&faults(schema, dialect));
            let expected = format!("{place}: The type of the whole schema must be object");
            assert!(text.contains(&expected), "{text}");
        }
        assert_eq!(faults(schema, SchemaDialect::Gemini), []);
    }
    let mut object_union = with_property(&json!({"type": "string"}));
    object_union["anyOf"] = json!([{"type": "null"}]);
    insta::assert_snapshot!(text_of(&faults(&object_union, SchemaDialect::OpenAi)), @"/anyOf anyOf: The whole schema cannot be a union: put anyOf into a property");
}

#[test]
fn malformed_keywords_are_refused_in_all_dialects() {
    let malformed = [
        json!({"type": "text"}),
        json!({"type": []}),
        json!({"type": ["string", 5]}),
        json!({"type": "string", "enum": []}),
        json!({"type": "string", "description": 5}),
        json!({"anyOf": []}),
        json!({"anyOf": [5]}),
        json!({"type": "array", "items": [{"type": "string"}]}),
        json!({"type": "object", "properties": [], "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": 5}, "additionalProperties": false}),
        json!({"type": "object", "required": "a", "additionalProperties": false}),
        json!({"$ref": 5}),
    ];
    for property in malformed {
        assert_eq!(accepting(&property), "", "{property}");
    }
}

#[test]
fn a_lenient_check_looks_at_the_structure_and_ignores_keywords() {
    let loose = json!({
        "type": "object", "properties": {"a": {"minLength": 1, "not": true}}, "required": ["b"],
    });
    for dialect in VENDORS {
        assert_eq!(
            check(&object(&loose), dialect, SchemaStrictness::Lenient),
            []
        );
        let list = object(&json!({"type": "array"}));
        let found = check(&list, dialect, SchemaStrictness::Lenient);
        // OpenAI also wants the items of the list.
        let is_openai = dialect == SchemaDialect::OpenAi;
        assert_eq!(found.len(), 1 + usize::from(is_openai));
        let elsewhere =
            json!({"type": "object", "properties": {"a": {"$ref": "https://a.example/b"}}});
        let found = check(&object(&elsewhere), dialect, SchemaStrictness::Lenient);
        assert_eq!(
            text_of(&found),
            "/properties/a/$ref $ref: $ref must point into the same schema, as in #/$defs/name"
        );
    }
}

/// JSON with many keywords of schemas in it.
fn any_schema() -> impl Strategy<Value = Value> {
    let key = "(type|properties|items|anyOf|allOf|oneOf|not|required|enum|const|\\$ref|\\$defs|additionalProperties|pattern|format|minItems|a|b|.{0,2})";
    let text = "(object|array|string|null|#|#/\\$defs/a|#/properties/a|#/a/0|x|date|\\\\b|.{0,3})";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// A check of anything ends, and each fault is at a place that exists.
    #[test]
    fn a_fault_is_at_a_place_of_the_schema(schema in any_schema()) {
        let schema = json!({"type": "object", "properties": {"a": schema}, "$defs": {"a": schema}});
        for dialect in ALL {
            for strictness in [SchemaStrictness::Strict, SchemaStrictness::Lenient] {
                for fault in check(&object(&schema), dialect, strictness) {
                    let mut place = &schema;
                    for part in &fault.pointer {
                        let below = match part {
                            LocationPart::Key(key) => place.get(key),
                            LocationPart::Index(index) => place.get(index),
                        };
                        prop_assert!(below.is_some(), "{:?}", fault);
                        place = below.unwrap();
                    }
                }
            }
        }
    }
}
