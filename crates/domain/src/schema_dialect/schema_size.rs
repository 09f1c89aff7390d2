//! The numbers of a schema that providers limit.

use serde_json::{Map, Value};

use crate::schema_dialect::MAX_SCHEMA_DEPTH;
use crate::schema_dialect::node_rules::{is_object, properties, required_names};
use crate::schema_dialect::subschemas::list_subschemas;

/// Anthropic counts these over all strict schemas of a request.
const MAX_OPTIONAL_PROPERTIES: usize = 24;
const MAX_UNIONS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SchemaSize {
    pub(crate) properties: usize,
    pub(crate) optional_properties: usize,
    pub(crate) unions: usize,
    pub(crate) enum_values: usize,
    /// Characters of property names, definition names and texts of `enum` and `const`.
    pub(crate) name_characters: usize,
    /// Objects and arrays inside each other.
    pub(crate) nesting: usize,
}

impl SchemaSize {
    pub(crate) fn of(schema: &Map<String, Value>) -> Self {
        let mut size = Self::default();
        size.add_node(schema, 1, 0);
        size
    }

    /// The size of several schemas together.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            properties: self.properties + other.properties,
            optional_properties: self.optional_properties + other.optional_properties,
            unions: self.unions + other.unions,
            enum_values: self.enum_values + other.enum_values,
            name_characters: self.name_characters + other.name_characters,
            nesting: self.nesting.max(other.nesting),
        }
    }

    pub(crate) fn excess_for_anthropic(self) -> Option<String> {
        let (limit, noun) = if self.optional_properties > MAX_OPTIONAL_PROPERTIES {
            (MAX_OPTIONAL_PROPERTIES, "optional properties")
        } else if self.unions > MAX_UNIONS {
            (MAX_UNIONS, "unions (anyOf, or a list of types)")
        } else {
            return None;
        };
        Some(format!(
            "The strict schemas of a request may have at most {limit} {noun} together"
        ))
    }

    fn add_node(&mut self, node: &Map<String, Value>, depth: usize, around: usize) {
        if depth > MAX_SCHEMA_DEPTH {
            return;
        }
        let is_container = is_object(node) || node.contains_key("items");
        let nesting = around + usize::from(is_container);
        self.nesting = self.nesting.max(nesting);
        self.add_properties(node);
        self.add_values(node);
        let has_several_types = node
            .get("type")
            .and_then(Value::as_array)
            .is_some_and(|types| types.len() > 1);
        let is_union = node.contains_key("anyOf") || node.contains_key("oneOf");
        self.unions += usize::from(has_several_types || is_union);
        for subschema in list_subschemas(node) {
            let is_definition = matches!(subschema.keyword, "$defs" | "definitions");
            if let Value::Object(inner) = subschema.value {
                let around = if is_definition { 0 } else { nesting };
                self.add_node(inner, depth + 1, around);
            }
        }
    }

    fn add_properties(&mut self, node: &Map<String, Value>) {
        if let Some(properties) = properties(node) {
            let required = required_names(node);
            let names = properties.keys();
            let optional = names.filter(|name| !required.contains(name.as_str()));
            self.properties += properties.len();
            self.optional_properties += optional.count();
            self.add_names(properties);
        }
        for keyword in ["$defs", "definitions"] {
            if let Some(definitions) = node.get(keyword).and_then(Value::as_object) {
                self.add_names(definitions);
            }
        }
    }

    fn add_names(&mut self, named: &Map<String, Value>) {
        let characters: usize = named.keys().map(|name| name.chars().count()).sum();
        self.name_characters += characters;
    }

    fn add_values(&mut self, node: &Map<String, Value>) {
        let values = node.get("enum").and_then(Value::as_array);
        self.enum_values += values.map_or(0, Vec::len);
        let constant = node.get("const").into_iter();
        let texts = values.into_iter().flatten().chain(constant);
        let characters = texts.filter_map(Value::as_str).map(|it| it.chars().count());
        self.name_characters += characters.sum::<usize>();
    }
}
