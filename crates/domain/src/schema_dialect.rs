//! JSON Schema as each kind of provider takes it: what a provider would refuse or ignore is found at
//! load, with its place in the schema.
//!
//! A provider refuses some keywords, and Gemini ignores others. A constraint that is ignored counts as
//! refused, because the answer could break it. Annotations may be ignored.

mod anthropic;
mod closed_objects;
mod gemini;
mod keyword_shape;
mod keywords;
mod node_rules;
mod openai;
mod references;
mod schema_size;
mod subschemas;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use crate::schema_dialect::closed_objects::close_objects;
pub(crate) use crate::schema_dialect::schema_size::SchemaSize;

use crate::features::SchemaDialect;
use crate::field_refusal::{FieldPath, LocationPart};
use crate::schema_dialect::references::ReferenceFault;

/// Levels of schemas inside each other. A deeper schema is not read.
const MAX_SCHEMA_DEPTH: usize = 32;
/// More faults do not help the caller.
const MAX_FAULTS: usize = 100;
/// A longer keyword is shortened in messages.
const MAX_SHOWN_CHARACTERS: usize = 64;
/// `OpenAI` and Anthropic refuse these at the root of a tool's schema, strict or not.
const COMBINING: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Checks one schema, without the schemas in it.
type NodeCheck = fn(&Map<String, Value>, FieldPath<'_>, &mut FaultList);

/// One thing in a schema that a provider does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// Its place in the schema, empty for the whole schema.
    pub pointer: Vec<LocationPart>,
    /// Empty if the fault is not of one keyword.
    pub keyword: String,
    pub message: String,
}

/// What the provider does with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaStrictness {
    /// The provider enforces it, by the rules of its dialect.
    Strict,
    /// The model reads it, as the schema of a tool. Its structure matters, and a few rules of the
    /// provider.
    Lenient,
}

/// Everything in a schema that the provider would refuse, or ignore although it is a constraint.
pub fn check(
    schema: &Map<String, Value>,
    dialect: SchemaDialect,
    strictness: SchemaStrictness,
) -> Vec<SchemaFault> {
    let mut faults = FaultList::default();
    match strictness {
        SchemaStrictness::Strict => check_strictly(schema, dialect, &mut faults),
        SchemaStrictness::Lenient => check_structure(schema, dialect, &mut faults),
    }
    faults.faults
}

fn check_strictly(schema: &Map<String, Value>, dialect: SchemaDialect, faults: &mut FaultList) {
    check_root(schema, dialect, faults);
    visit(schema, dialect, FieldPath::Root, 1, faults);
    check_references(schema, dialect, faults);
    match dialect {
        SchemaDialect::OpenAi => openai::check_size(SchemaSize::of(schema), faults),
        SchemaDialect::Anthropic => anthropic::check_size(SchemaSize::of(schema), faults),
        SchemaDialect::Gemini | SchemaDialect::Server => {}
    }
}

/// The rules for a schema that the provider does not enforce.
fn check_structure(schema: &Map<String, Value>, dialect: SchemaDialect, faults: &mut FaultList) {
    // A server has no rules beyond the structure.
    let structure = SchemaDialect::Server;
    check_root(schema, structure, faults);
    visit(schema, structure, FieldPath::Root, 1, faults);
    match dialect {
        SchemaDialect::OpenAi => {
            check_root_combination(schema, &COMBINING, faults);
            visit_leniently(
                schema,
                FieldPath::Root,
                1,
                node_rules::require_items,
                faults,
            );
            check_references(schema, structure, faults);
        }
        SchemaDialect::Anthropic => {
            check_root_combination(schema, &COMBINING, faults);
            check_references(schema, structure, faults);
        }
        SchemaDialect::Gemini => {
            visit_leniently(schema, FieldPath::Root, 1, gemini::check_siblings, faults);
            check_references(schema, dialect, faults);
        }
        SchemaDialect::Server => check_references(schema, structure, faults),
    }
}

/// Refuses a whole schema that is a union or a combination of schemas, by these keywords.
fn check_root_combination(schema: &Map<String, Value>, keywords: &[&str], faults: &mut FaultList) {
    for keyword in keywords.iter().copied() {
        if schema.contains_key(keyword) {
            let is_union = keyword != "allOf";
            let noun = if is_union { "union" } else { "combination" };
            let message =
                format!("The whole schema cannot be a {noun}: put {keyword} into a property");
            faults.add(FieldPath::Root.key(keyword), keyword, message);
        }
    }
}

fn check_root(schema: &Map<String, Value>, dialect: SchemaDialect, faults: &mut FaultList) {
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    match dialect {
        SchemaDialect::Gemini => {}
        SchemaDialect::OpenAi | SchemaDialect::Anthropic | SchemaDialect::Server => {
            if !is_object {
                let message = "The type of the whole schema must be object";
                faults.add_at_key(FieldPath::Root, schema, "type", message);
            }
        }
    }
    if dialect == SchemaDialect::OpenAi {
        check_root_combination(schema, &["anyOf"], faults);
    }
}

/// Checks a schema and all schemas in it, whatever their keywords.
fn visit_leniently(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    depth: usize,
    check_node: NodeCheck,
    faults: &mut FaultList,
) {
    // A deeper schema is refused for its depth.
    if depth > MAX_SCHEMA_DEPTH {
        return;
    }
    check_node(node, place, faults);
    for subschema in subschemas::list_subschemas(node) {
        let keyword_place = place.key(subschema.keyword);
        if let Value::Object(inner) = subschema.value {
            let below = subschema.step.below(&keyword_place);
            visit_leniently(inner, below, depth + 1, check_node, faults);
        }
    }
}

/// Checks a schema and all schemas in it.
fn visit(
    node: &Map<String, Value>,
    dialect: SchemaDialect,
    place: FieldPath<'_>,
    depth: usize,
    faults: &mut FaultList,
) {
    if depth > MAX_SCHEMA_DEPTH {
        let message = format!("A schema may have at most {MAX_SCHEMA_DEPTH} levels");
        faults.add(place, "", message);
        return;
    }
    keyword_shape::check(node, place, faults);
    for keyword in node.keys() {
        if !keywords::is_supported(dialect, keyword) {
            let message = keywords::unsupported_message(keyword);
            faults.add_at_key(place, node, keyword, message);
        }
    }
    match dialect {
        SchemaDialect::OpenAi => openai::check_node(node, place, faults),
        SchemaDialect::Anthropic => anthropic::check_node(node, place, faults),
        SchemaDialect::Gemini => gemini::check_node(node, place, faults),
        SchemaDialect::Server => {}
    }
    for subschema in subschemas::list_subschemas(node) {
        let keyword = subschema.keyword;
        if !keywords::is_supported(dialect, keyword) {
            continue;
        }
        let keyword_place = place.key(keyword);
        let below = subschema.step.below(&keyword_place);
        match subschema.value {
            Value::Object(inner) => visit(inner, dialect, below, depth + 1, faults),
            Value::Bool(_) if is_boolean_allowed(dialect, keyword) => {}
            Value::Bool(_)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => faults.add(below, keyword, "A schema must be a JSON object"),
        }
    }
}

fn is_boolean_allowed(dialect: SchemaDialect, keyword: &str) -> bool {
    dialect == SchemaDialect::Server || keyword == "additionalProperties"
}

fn check_references(schema: &Map<String, Value>, dialect: SchemaDialect, faults: &mut FaultList) {
    for (pointer, fault) in references::find_faults(schema, dialect) {
        faults.push(pointer, "$ref", fault.message());
    }
}

impl ReferenceFault {
    fn message(self) -> &'static str {
        match self {
            Self::External => "$ref must point into the same schema, as in #/$defs/name",
            Self::Unresolved => "$ref points to nothing in this schema",
            Self::Recursive => "The model does not support recursion here",
        }
    }
}

/// The faults of a schema, as many as are worth reporting.
#[derive(Debug, Default)]
struct FaultList {
    faults: Vec<SchemaFault>,
}

impl FaultList {
    fn add(&mut self, place: FieldPath<'_>, keyword: &str, message: impl Into<String>) {
        self.push(place.location(), keyword, message);
    }

    /// Adds a fault at a keyword of a schema, or at the schema if it lacks the keyword.
    fn add_at_key(
        &mut self,
        place: FieldPath<'_>,
        node: &Map<String, Value>,
        keyword: &str,
        message: impl Into<String>,
    ) {
        if node.contains_key(keyword) {
            self.add(place.key(keyword), keyword, message);
        } else {
            self.add(place, keyword, message);
        }
    }

    fn push(&mut self, pointer: Vec<LocationPart>, keyword: &str, message: impl Into<String>) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(SchemaFault {
                pointer,
                keyword: shorten(keyword),
                message: message.into(),
            });
        }
    }
}

fn shorten(keyword: &str) -> String {
    keyword.chars().take(MAX_SHOWN_CHARACTERS).collect()
}
