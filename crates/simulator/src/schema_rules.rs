//! The JSON Schema dialects of the providers. Each refuses keywords that the others take.

use serde_json::Value;

mod anthropic;
mod gemini;
mod openai;

pub use anthropic::{check_anthropic_schema, check_anthropic_tool};
pub use gemini::check_gemini_schema;
pub use openai::{check_openai_schema, check_openai_tool};

/// A schema below another one, with the path to it.
struct Subschema<'a> {
    schema: &'a Value,
    path: Vec<String>,
    depth: usize,
}

/// The schema and every schema below it, without following references.
fn subschemas(root: &Value) -> Vec<Subschema<'_>> {
    let mut all = Vec::new();
    let mut rest = vec![Subschema {
        schema: root,
        path: Vec::new(),
        depth: 1,
    }];
    while let Some(next) = rest.pop() {
        let below = |names: &[&str], schema, is_deeper: bool| Subschema {
            schema,
            path: next
                .path
                .iter()
                .cloned()
                .chain(names.iter().map(|it| (*it).to_owned()))
                .collect(),
            depth: next.depth + usize::from(is_deeper),
        };
        for group in ["properties", "$defs", "definitions"] {
            let named = next.schema.get(group).and_then(Value::as_object);
            for (name, schema) in named.into_iter().flatten() {
                rest.push(below(&[group, name], schema, group == "properties"));
            }
        }
        for single in ["items", "additionalProperties", "not", "if", "then", "else"] {
            if let Some(schema) = next.schema.get(single).filter(|it| it.is_object()) {
                rest.push(below(&[single], schema, true));
            }
        }
        for list in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            let schemas = next.schema.get(list).and_then(Value::as_array);
            for (index, schema) in schemas.into_iter().flatten().enumerate() {
                rest.push(below(&[list, &index.to_string()], schema, false));
            }
        }
        all.push(next);
    }
    all
}

/// Whether the whole schema is a union or a combination of schemas.
fn is_root_combined(root: &Value) -> bool {
    let keywords = ["oneOf", "allOf", "anyOf"];
    keywords.iter().any(|it| root.get(*it).is_some())
}

fn has_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(many)) => many.iter().any(|it| it == name),
        _ => name == "object" && schema.get("properties").is_some(),
    }
}

fn property_names(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flatten();
    names.map(|(name, _)| name.as_str()).collect()
}

fn required_names(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// The target of a reference. None: it points out of the schema.
fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// Whether a schema refers to itself, directly or through others.
fn is_recursive(root: &Value) -> bool {
    let mut open = Vec::new();
    refers_back(root, root, &mut open)
}

fn refers_back<'a>(schema: &'a Value, root: &'a Value, open: &mut Vec<&'a str>) -> bool {
    subschemas_used(schema).into_iter().any(|used| {
        let Some(reference) = used.get("$ref").and_then(Value::as_str) else {
            return false;
        };
        if reference == "#" || open.contains(&reference) {
            return true;
        }
        let Some(target) = resolve(root, reference) else {
            return false;
        };
        open.push(reference);
        let found = refers_back(target, root, open);
        open.pop();
        found
    })
}

/// The schemas below one, without the definitions, which count only where they are referred to.
fn subschemas_used(schema: &Value) -> Vec<&Value> {
    let all = subschemas(schema).into_iter();
    let is_used = |it: &Subschema<'_>| {
        let mut names = it.path.iter();
        !names.any(|name| name == "$defs" || name == "definitions")
    };
    all.filter(is_used).map(|it| it.schema).collect()
}
