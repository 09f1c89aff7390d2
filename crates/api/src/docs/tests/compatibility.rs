//! The committed description is the current one, and takes nothing away from the released one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::docs::openapi_document;

const COMMITTED: &str = include_str!("../../../../../openapi.json");
/// What the last release described. A release copies `openapi.json` over it.
const RELEASED: &str = include_str!("../../../../../openapi.released.json");

/// Limits that a request meets: a smaller value, or a larger one, refuses what was accepted.
const UPPER_LIMITS: [&str; 5] = [
    "maximum",
    "maxLength",
    "maxItems",
    "maxProperties",
    "exclusiveMaximum",
];
const LOWER_LIMITS: [&str; 5] = [
    "minimum",
    "minLength",
    "minItems",
    "minProperties",
    "exclusiveMinimum",
];

#[test]
fn the_committed_description_is_the_current_one() {
    let committed: Value = serde_json::from_str(COMMITTED).unwrap();
    let current = serde_json::to_value(openapi_document()).unwrap();
    assert!(
        committed == current,
        "openapi.json is stale: run ./dev openapi"
    );
}

#[test]
fn nothing_that_was_released_is_taken_away() {
    let released: Value = serde_json::from_str(RELEASED).unwrap();
    let current = serde_json::to_value(openapi_document()).unwrap();
    assert_eq!(narrowings(&released, &current), BTreeSet::new());
}

#[test]
fn each_way_to_narrow_is_found() {
    let described = |request: Value, response: Value| {
        json!({"paths": {"/a": {"post": {
            "requestBody": {"content": {"application/json": {"schema": request}}},
            "responses": {"200": {"content": {"application/json": {"schema": response}}}},
        }}}})
    };
    let text = json!({"type": "string", "maxLength": 9, "enum": ["x", "y"]});
    let before = described(
        json!({"type": "object", "properties": {"a": text, "b": {"type": "string"}}}),
        json!({"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}),
    );
    assert_eq!(narrowings(&before, &before), BTreeSet::new());
    let shorter = json!({"type": "string", "maxLength": 8, "enum": ["x"]});
    let after = described(
        json!({"type": "object", "properties": {"a": shorter, "b": {"type": "integer"}},
            "required": ["a"]}),
        json!({"type": "object", "properties": {}}),
    );
    let found: Vec<String> = narrowings(&before, &after).into_iter().collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    post /a request.a: "y" is no longer accepted
    post /a request.a: maxLength went from 9 to 8
    post /a request.b: the type went from "string" to "integer"
    post /a request: a is required now
    post /a response 200: c is gone
    post /a response 200: c is no longer promised
    "#);
    let gone = json!({"paths": {}});
    assert_eq!(narrowings(&before, &gone).len(), 1);
}

#[test]
fn a_new_alternative_is_no_narrowing_unless_it_replaces_the_old_one() {
    let described = |schema: Value| {
        json!({"paths": {"/a": {"post": {
            "requestBody": {"content": {"application/json": {"schema": schema}}}, "responses": {},
        }}}})
    };
    let before = described(json!({"type": ["string", "null"], "maxLength": 9}));
    let with = |text: Value| {
        let inner = json!({"oneOf": [text, {"type": "array", "items": {}}]});
        described(json!({"oneOf": [{"type": "null"}, inner]}))
    };
    let same = with(json!({"type": "string", "maxLength": 9}));
    assert_eq!(narrowings(&before, &same), BTreeSet::new());
    let shorter = with(json!({"type": "string", "maxLength": 8}));
    assert_eq!(narrowings(&before, &shorter).len(), 1);
    let other = with(json!({"type": "integer"}));
    assert_eq!(narrowings(&before, &other).len(), 1);
}

/// What the released description allows or promises and the current one does not.
fn narrowings(released: &Value, current: &Value) -> BTreeSet<String> {
    let mut found = Narrowings {
        released,
        current,
        found: BTreeSet::new(),
        seen: BTreeSet::new(),
    };
    for (path, item) in members(released, "paths") {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let place = format!("{method} {path}");
            match current["paths"][path].get(method) {
                Some(now) => found.operation(&place, operation, now),
                None => found.add(&place, "is gone"),
            }
        }
    }
    found.found
}

fn members<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value[key].as_object().into_iter().flatten()
}

fn words<'a>(value: &'a Value, key: &str) -> BTreeSet<&'a str> {
    let words = value[key].as_array().into_iter().flatten();
    words.filter_map(Value::as_str).collect()
}

/// Which way values go: what we accept must not shrink, nor what we promise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Request,
    Response,
}

struct Narrowings<'a> {
    released: &'a Value,
    current: &'a Value,
    found: BTreeSet<String>,
    /// Pairs of references that were compared: schemas may contain themselves.
    seen: BTreeSet<(Direction, String, String)>,
}

impl Narrowings<'_> {
    fn add(&mut self, place: &str, what: &str) {
        self.found.insert(format!("{place}: {what}"));
    }

    fn operation(&mut self, place: &str, before: &Value, now: &Value) {
        let schema = |value: &Value| value["content"]["application/json"]["schema"].clone();
        let (old, new) = (schema(&before["requestBody"]), schema(&now["requestBody"]));
        self.schema(&format!("{place} request"), Direction::Request, &old, &new);
        let known = before["parameters"].as_array().into_iter().flatten();
        let known: BTreeSet<&str> = known.filter_map(|it| it["name"].as_str()).collect();
        for parameter in now["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default();
            if parameter["required"] == json!(true) && !known.contains(name) {
                self.add(place, &format!("needs the parameter {name}"));
            }
        }
        for (code, response) in members(before, "responses") {
            let place = format!("{place} response {code}");
            match now["responses"].get(code) {
                Some(now) => {
                    self.schema(&place, Direction::Response, &schema(response), &schema(now));
                }
                None => self.add(&place, "is gone"),
            }
        }
    }

    fn schema(&mut self, place: &str, direction: Direction, before: &Value, now: &Value) {
        let pair = (
            direction,
            before["$ref"].to_string(),
            now["$ref"].to_string(),
        );
        if before["$ref"].is_string() && !self.seen.insert(pair) {
            return;
        }
        let before = resolved(self.released, before);
        let now = with_alternatives(self.current, &before, resolved(self.current, now));
        if before["type"] != now["type"] && !before["type"].is_null() {
            let what = format!("the type went from {} to {}", before["type"], now["type"]);
            self.add(place, &what);
            return;
        }
        if direction == Direction::Request {
            self.limits(place, &before, &now);
        }
        self.required(place, direction, &before, &now);
        for (name, property) in members(&before, "properties") {
            match now["properties"].get(name) {
                Some(now) => self.schema(&format!("{place}.{name}"), direction, property, now),
                None => self.add(place, &format!("{name} is gone")),
            }
        }
        if !before["items"].is_null() {
            self.schema(
                &format!("{place}[]"),
                direction,
                &before["items"],
                &now["items"],
            );
        }
        let alternatives = |value: &Value| value["oneOf"].as_array().cloned().unwrap_or_default();
        for (old, new) in alternatives(&before).iter().zip(alternatives(&now)) {
            self.schema(&format!("{place}|"), direction, old, &new);
        }
    }

    fn limits(&mut self, place: &str, before: &Value, now: &Value) {
        for value in words(before, "enum").difference(&words(now, "enum")) {
            if !now["enum"].is_null() {
                self.add(place, &format!("{value:?} is no longer accepted"));
            }
        }
        let tighter = |limit: &str, is_upper: bool| {
            let now = now[limit].as_f64()?;
            let old = before[limit].as_f64();
            let is_tighter = old.is_none_or(|old| if is_upper { now < old } else { now > old });
            is_tighter.then(|| format!("{limit} went from {} to {now}", before[limit]))
        };
        let upper = UPPER_LIMITS.iter().filter_map(|it| tighter(it, true));
        let lower = LOWER_LIMITS.iter().filter_map(|it| tighter(it, false));
        for what in upper.chain(lower) {
            self.add(place, &what);
        }
    }

    fn required(&mut self, place: &str, direction: Direction, before: &Value, now: &Value) {
        let (old, new) = (words(before, "required"), words(now, "required"));
        match direction {
            Direction::Request => {
                for name in new.difference(&old) {
                    self.add(place, &format!("{name} is required now"));
                }
            }
            Direction::Response => {
                for name in old.difference(&new) {
                    self.add(place, &format!("{name} is no longer promised"));
                }
            }
        }
    }
}

/// The schema that a reference leads to.
fn resolved(document: &Value, schema: &Value) -> Value {
    let pointer = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    let target = pointer.and_then(|pointer| document.pointer(pointer));
    target.unwrap_or(schema).clone()
}

/// A schema that got alternatives is compared with the alternative that was there before: values of
/// the others belong to requests that were not possible before.
fn with_alternatives(document: &Value, before: &Value, now: Value) -> Value {
    if !before["oneOf"].is_null() || now["oneOf"].is_null() {
        return now;
    }
    let all = alternatives(document, &now);
    let offered: BTreeSet<&str> = all.iter().flat_map(types).collect();
    let wanted: BTreeSet<&str> = types(before).collect();
    let is_same = |it: &&Value| types(it).any(|kind| kind != "null" && wanted.contains(kind));
    match all.iter().find(is_same) {
        Some(same) if wanted.is_subset(&offered) => {
            let mut same = same.clone();
            same["type"] = before["type"].clone();
            same
        }
        _ => now,
    }
}

/// All alternatives of a schema, with those of the schemas that it refers to.
fn alternatives(document: &Value, schema: &Value) -> Vec<Value> {
    let schema = resolved(document, schema);
    match schema["oneOf"].as_array() {
        Some(inner) => inner
            .iter()
            .flat_map(|it| alternatives(document, it))
            .collect(),
        None => vec![schema],
    }
}

/// The types of a schema: one, or an array of them.
fn types(schema: &Value) -> impl Iterator<Item = &str> {
    let one = schema["type"].as_str();
    let many = schema["type"].as_array().into_iter().flatten();
    one.into_iter().chain(many.filter_map(Value::as_str))
}
