//! `$ref`: where references point, and which of them close a circle.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::features::SchemaDialect;
use crate::field_refusal::{FieldPath, LocationPart};
use crate::schema_dialect::MAX_SCHEMA_DEPTH;
use crate::schema_dialect::node_rules::required_names;
use crate::schema_dialect::subschemas::list_subschemas;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceFault {
    External,
    Unresolved,
    Recursive,
}

/// A schema, compared by its place and not by its content.
type SchemaAddress = *const Map<String, Value>;

/// A schema with `$ref`.
#[derive(Debug, Clone, Copy)]
struct Reference<'a> {
    holder: &'a Map<String, Value>,
    target: &'a str,
    /// An optional property is around it.
    is_optional: bool,
}

pub(super) fn find_faults(
    root: &Map<String, Value>,
    dialect: SchemaDialect,
) -> Vec<(Vec<LocationPart>, ReferenceFault)> {
    let mut references = Vec::new();
    collect(root, 1, false, &mut references);
    if references.is_empty() {
        return Vec::new();
    }
    let recursive = match dialect {
        SchemaDialect::Anthropic => find_recursive(root, &references, |_| true),
        // The provider unrolls a circle only in properties that may be absent.
        SchemaDialect::Gemini => find_recursive(root, &references, |it| !it.is_optional),
        SchemaDialect::OpenAi | SchemaDialect::Server => HashSet::new(),
    };
    let fault_of = |reference: Reference<'_>| {
        let is_resolved = resolve(root, reference.target).is_some();
        if !reference.target.starts_with('#') {
            Some(ReferenceFault::External)
        } else if dialect != SchemaDialect::Server && !is_resolved {
            Some(ReferenceFault::Unresolved)
        } else {
            let holder: SchemaAddress = reference.holder;
            recursive
                .contains(&holder)
                .then_some(ReferenceFault::Recursive)
        }
    };
    let faulty: HashMap<SchemaAddress, ReferenceFault> = references
        .iter()
        .filter_map(|it| Some((std::ptr::from_ref(it.holder), fault_of(*it)?)))
        .collect();
    let mut located = Vec::new();
    if !faulty.is_empty() {
        locate(root, FieldPath::Root, 1, &faulty, &mut located);
    }
    located
}

/// The references below a schema.
fn collect<'a>(
    node: &'a Map<String, Value>,
    depth: usize,
    is_optional: bool,
    references: &mut Vec<Reference<'a>>,
) {
    if depth > MAX_SCHEMA_DEPTH {
        return;
    }
    if let Some(target) = node.get("$ref").and_then(Value::as_str) {
        references.push(Reference {
            holder: node,
            target,
            is_optional,
        });
    }
    let required = required_names(node);
    for subschema in list_subschemas(node) {
        let is_optional = is_optional || subschema.is_optional(&required);
        if let Value::Object(inner) = subschema.value {
            collect(inner, depth + 1, is_optional, references);
        }
    }
}

/// The schemas whose `$ref` closes a circle of references that count.
fn find_recursive<'a>(
    root: &'a Map<String, Value>,
    references: &[Reference<'a>],
    counts: impl Fn(&Reference<'_>) -> bool,
) -> HashSet<SchemaAddress> {
    let mut numbers: HashMap<SchemaAddress, usize> = HashMap::new();
    let mut targets = Vec::new();
    for reference in references {
        if let Some(target) = resolve(root, reference.target) {
            numbers
                .entry(std::ptr::from_ref(target))
                .or_insert_with(|| {
                    targets.push(target);
                    targets.len() - 1
                });
        }
    }
    let edges: Vec<Vec<(SchemaAddress, usize)>> = targets
        .iter()
        .map(|target| {
            let mut inside = Vec::new();
            collect(target, 1, false, &mut inside);
            let counted = inside.iter().filter(|it| counts(it));
            let numbered = counted.filter_map(|it| {
                let target: SchemaAddress = resolve(root, it.target)?;
                Some((std::ptr::from_ref(it.holder), *numbers.get(&target)?))
            });
            numbered.collect()
        })
        .collect();
    close_circles(&edges)
}

/// Walks the graph in depth. An edge back to a schema on the way closes a circle.
fn close_circles(edges: &[Vec<(SchemaAddress, usize)>]) -> HashSet<SchemaAddress> {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Visit {
        Open,
        OnTheWay,
        Done,
    }
    let mut visits = vec![Visit::Open; edges.len()];
    let mut closing = HashSet::new();
    for start in 0..edges.len() {
        if visits.get(start) != Some(&Visit::Open) {
            continue;
        }
        // A list in place of recursion: a chain of references may be long.
        let mut way = vec![(start, 0)];
        while let Some((node, next)) = way.pop() {
            if let Some(visit) = visits.get_mut(node) {
                *visit = Visit::OnTheWay;
            }
            let edge = edges.get(node).and_then(|all| all.get(next));
            let Some((holder, target)) = edge else {
                if let Some(visit) = visits.get_mut(node) {
                    *visit = Visit::Done;
                }
                continue;
            };
            way.push((node, next + 1));
            match visits.get(*target) {
                Some(Visit::Open) => way.push((*target, 0)),
                Some(Visit::OnTheWay) => {
                    closing.insert(*holder);
                }
                Some(Visit::Done) | None => {}
            }
        }
    }
    closing
}

/// The schema that a reference points to.
fn resolve<'a>(root: &'a Map<String, Value>, reference: &str) -> Option<&'a Map<String, Value>> {
    let pointer = reference.strip_prefix('#')?;
    if pointer.is_empty() {
        return Some(root);
    }
    let mut parts = pointer.strip_prefix('/')?.split('/').map(unescape);
    let mut value = root.get(&parts.next()?)?;
    for part in parts {
        value = match value {
            Value::Object(object) => object.get(&part)?,
            Value::Array(list) => list.get(part.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    value.as_object()
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Finds the places of the faulty references.
fn locate(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    depth: usize,
    faulty: &HashMap<SchemaAddress, ReferenceFault>,
    located: &mut Vec<(Vec<LocationPart>, ReferenceFault)>,
) {
    if depth > MAX_SCHEMA_DEPTH {
        return;
    }
    if let Some(fault) = faulty.get(&std::ptr::from_ref(node)) {
        located.push((place.key("$ref").location(), *fault));
    }
    for subschema in list_subschemas(node) {
        let keyword_place = place.key(subschema.keyword);
        if let Value::Object(inner) = subschema.value {
            let below = subschema.step.below(&keyword_place);
            locate(inner, below, depth + 1, faulty, located);
        }
    }
}
