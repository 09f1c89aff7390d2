//! The keywords that each dialect takes. A keyword outside of its list is refused.

use crate::features::SchemaDialect;
use crate::schema_dialect::shorten;

const COMMON: &[&str] = &[
    "type",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "$ref",
    "$defs",
    "$schema",
    "title",
    "description",
    "format",
];

const OPENAI: &[&str] = &[
    "const",
    "definitions",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
];

const ANTHROPIC: &[&str] = &[
    "const",
    "definitions",
    "allOf",
    "default",
    "minItems",
    "pattern",
];

const GEMINI: &[&str] = &[
    "$id",
    "$anchor",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    // The provider reads it as `anyOf`.
    "oneOf",
    "propertyOrdering",
    // The provider ignores these. They are annotations, so no answer can break them.
    "$comment",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

pub(super) fn is_supported(dialect: SchemaDialect, keyword: &str) -> bool {
    let own = match dialect {
        SchemaDialect::OpenAi => OPENAI,
        SchemaDialect::Anthropic => ANTHROPIC,
        SchemaDialect::Gemini => GEMINI,
        SchemaDialect::Server => return true,
    };
    COMMON.contains(&keyword) || own.contains(&keyword)
}

/// What is wrong, and what to write instead.
pub(super) fn unsupported_message(keyword: &str) -> String {
    let instead = match keyword {
        "const" => ": use enum with one value",
        "oneOf" => ": use anyOf",
        "definitions" => ": use $defs",
        "default" | "examples" | "$comment" => ": write it into the description",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
        | "minLength" | "maxLength" | "minItems" | "maxItems" | "uniqueItems" | "minProperties"
        | "maxProperties" | "pattern" | "contains" => {
            ": write the limit into the description, and check the answer"
        }
        _ => "",
    };
    let shown = shorten(keyword);
    format!("The model does not support {shown} in a schema{instead}")
}
