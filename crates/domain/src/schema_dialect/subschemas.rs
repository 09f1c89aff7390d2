//! The schemas directly inside a schema. Values of `enum`, `const` and `default` are data.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::field_refusal::FieldPath;
use crate::schema_dialect::keyword_shape::{KeywordShape, shape_of};

#[derive(Debug, Clone, Copy)]
pub(super) struct Subschema<'a> {
    pub(super) keyword: &'a str,
    pub(super) step: SubschemaStep<'a>,
    pub(super) value: &'a Value,
}

/// Where a schema is below its keyword.
#[derive(Debug, Clone, Copy)]
pub(super) enum SubschemaStep<'a> {
    Whole,
    Key(&'a str),
    Index(usize),
}

impl<'a> SubschemaStep<'a> {
    pub(super) const fn below(self, keyword: &'a FieldPath<'a>) -> FieldPath<'a> {
        match self {
            Self::Whole => *keyword,
            Self::Key(key) => keyword.key(key),
            Self::Index(index) => keyword.index(index),
        }
    }
}

impl Subschema<'_> {
    /// Whether it is a property that may be absent.
    pub(super) fn is_optional(&self, required: &HashSet<&str>) -> bool {
        match self.step {
            SubschemaStep::Key(name) => self.keyword == "properties" && !required.contains(name),
            SubschemaStep::Whole | SubschemaStep::Index(_) => false,
        }
    }
}

pub(super) fn list_subschemas(node: &Map<String, Value>) -> Vec<Subschema<'_>> {
    let mut found = Vec::new();
    for (keyword, value) in node {
        let mut add = |step, value| {
            found.push(Subschema {
                keyword,
                step,
                value,
            });
        };
        match shape_of(keyword) {
            Some(KeywordShape::Schema) if value.is_object() || value.is_boolean() => {
                add(SubschemaStep::Whole, value);
            }
            Some(KeywordShape::SchemaMap) => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    add(SubschemaStep::Key(key), value);
                }
            }
            Some(KeywordShape::SchemaList) => {
                for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                    add(SubschemaStep::Index(index), value);
                }
            }
            Some(
                KeywordShape::Schema
                | KeywordShape::Text
                | KeywordShape::Number
                | KeywordShape::Count
                | KeywordShape::Types
                | KeywordShape::Values
                | KeywordShape::Names,
            )
            | None => {}
        }
    }
    found
}
