//! A JSON value that conforms to a schema.

use serde_json::{Map, Value, json};

/// Deeper levels of a recursive schema are left out.
const MAX_DEPTH: usize = 8;

/// The same schema always gives the same value.
pub fn sample(schema: &Value) -> Value {
    sample_at(schema, schema, 0)
}

fn sample_at(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        return match resolve(root, pointer) {
            Some(target) => sample_at(target, root, depth + 1),
            None => Value::Null,
        };
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(value) = schema.get("enum").and_then(|values| values.get(0)) {
        return value.clone();
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(union).and_then(Value::as_array) {
            return sample_choice(choices, root, depth);
        }
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        return sample_all(schema, parts, root, depth);
    }
    match type_of(schema) {
        "object" => Value::Object(sample_object(schema, root, depth)),
        "array" => sample_array(schema, root, depth),
        "string" => json!(sample_string(schema)),
        "integer" | "number" => sample_number(schema),
        "boolean" => json!(true),
        _ => Value::Null,
    }
}

/// The target of a reference inside the schema.
fn resolve<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    let path = pointer.strip_prefix('#')?;
    root.pointer(path)
}

/// The first type. Google writes types in capitals.
fn type_of(schema: &Value) -> &'static str {
    let named = match schema.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Array(names)) => names.iter().find_map(Value::as_str),
        _ => None,
    };
    let known = ["object", "array", "string", "integer", "number", "boolean"];
    let found = named.and_then(|name| {
        let matches = |it: &&'static str| it.eq_ignore_ascii_case(name);
        known.into_iter().find(matches)
    });
    match (found, named) {
        (Some(found), _) => found,
        (None, None) if schema.get("properties").is_some() => "object",
        (None, None) if schema.get("items").is_some() => "array",
        (None, _) => "null",
    }
}

/// The first choice. Deep in a schema it is null, if it may be, so that recursive unions end.
fn sample_choice(choices: &[Value], root: &Value, depth: usize) -> Value {
    let is_null = |it: &&Value| type_of(it) == "null" && it.get("$ref").is_none();
    let null = choices.iter().find(is_null);
    if depth + 2 > MAX_DEPTH && null.is_some() {
        return Value::Null;
    }
    match choices.first() {
        Some(first) => sample_at(first, root, depth + 1),
        None => Value::Null,
    }
}

/// The properties of every part together.
fn sample_all(schema: &Value, parts: &[Value], root: &Value, depth: usize) -> Value {
    let mut merged = sample_object(schema, root, depth);
    for part in parts {
        let sampled = sample_at(part, root, depth + 1);
        let Value::Object(fields) = sampled else {
            return sampled;
        };
        merged.extend(fields);
    }
    Value::Object(merged)
}

fn sample_object(schema: &Value, root: &Value, depth: usize) -> Map<String, Value> {
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut object = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let is_required = required.contains(&name.as_str());
        // Optional properties end a recursion.
        if is_required || depth + 2 <= MAX_DEPTH {
            let value = sample_at(property, root, depth + 1);
            if is_required || !value.is_null() {
                object.insert(name.clone(), value);
            }
        }
    }
    object
}

fn sample_array(schema: &Value, root: &Value, depth: usize) -> Value {
    let least = schema.get("minItems").and_then(Value::as_u64);
    let most = schema.get("maxItems").and_then(Value::as_u64);
    let wanted = u64::from(depth + 2 <= MAX_DEPTH);
    let count = least.unwrap_or(0).max(wanted).min(most.unwrap_or(u64::MAX));
    let item = schema.get("items").unwrap_or(&Value::Null);
    let items = (0..count).map(|_| {
        if item.is_object() {
            sample_at(item, root, depth + 1)
        } else {
            json!("sim")
        }
    });
    Value::Array(items.collect())
}

fn sample_string(schema: &Value) -> String {
    let text = match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("time") => "00:00:00Z",
        Some("duration") => "P1D",
        Some("email") => "sim@example.com",
        Some("hostname") => "example.com",
        Some("uri") => "https://example.com/",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "sim",
    };
    let limit = |name: &str| {
        let limit = schema.get(name).and_then(Value::as_u64)?;
        usize::try_from(limit).ok()
    };
    let least = limit("minLength").unwrap_or(0);
    let most = limit("maxLength").unwrap_or(usize::MAX);
    let padding = std::iter::repeat_n('.', least.saturating_sub(text.len()));
    text.chars().chain(padding).take(most).collect()
}

fn sample_number(schema: &Value) -> Value {
    let limit = |name: &str| schema.get(name).filter(|it| it.is_number()).cloned();
    if let Some(step) = limit("multipleOf") {
        return step;
    }
    let above = limit("exclusiveMinimum").and_then(|it| Some(json!(it.as_i64()? + 1)));
    let lowest = limit("minimum").or(above);
    let is_below_one = |it: &Value| it.as_f64().is_some_and(|it| it < 1.0);
    let highest = limit("maximum").filter(is_below_one);
    lowest.or(highest).unwrap_or_else(|| json!(1))
}
