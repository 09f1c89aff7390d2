//! Gemini's `responseJsonSchema` and `parametersJsonSchema`. Unknown keywords are ignored.

use serde_json::Value;

use super::{required_names, resolve, subschemas};

/// An error says what is wrong.
pub fn check_gemini_schema(root: &Value) -> Result<(), String> {
    for found in subschemas(root) {
        let schema = found.schema;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let fields = schema.as_object().into_iter().flatten();
            let mut others = fields.filter(|(name, _)| !name.starts_with('$'));
            if let Some((name, _)) = others.next() {
                return Err(format!(
                    "A schema with '$ref' may only have other fields that start with '$', but has '{name}'."
                ));
            }
            if resolve(root, reference).is_none() {
                return Err(format!("Reference to undefined schema at '{reference}'."));
            }
        }
    }
    if requires_itself(root, root, &mut Vec::new()) {
        return Err(
            "The schema is recursive in a required property. Only optional properties may be recursive."
                .to_owned(),
        );
    }
    Ok(())
}

/// Follows the required properties, and every other schema that a value must have.
fn requires_itself<'a>(schema: &'a Value, root: &'a Value, open: &mut Vec<&'a str>) -> bool {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        if reference == "#" || open.contains(&reference) {
            return true;
        }
        let Some(target) = resolve(root, reference) else {
            return false;
        };
        open.push(reference);
        let found = requires_itself(target, root, open);
        open.pop();
        return found;
    }
    let properties = schema.get("properties");
    let required = required_names(schema);
    required.into_iter().any(|name| {
        let property = properties.and_then(|it| it.get(name));
        property.is_some_and(|property| requires_itself(property, root, open))
    })
}
