//! One line of a file of requests.
//!
//! It is the body of a load, `{"custom_id", "params"}` (also Anthropic's batch line), a line of
//! `OpenAI`'s batch file, or bare `params`.

use clap::Args;
use client::load_check;
use domain::cargo_group::CustomId;
use serde_json::{Map, Value};

use crate::requests::openai_line;

/// Fields that `run` sets itself.
const RESERVED_FIELDS: &[&str] = &["group_id", "position", "idempotency_key"];

/// Values for lines that lack them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct LineDefaults {
    /// The model of lines that name none.
    #[arg(long, short)]
    pub model: Option<String>,
    /// The `max_tokens` of chat lines that have none.
    #[arg(long)]
    pub max_tokens: Option<u32>,
    /// The system prompt of chat lines that have none.
    #[arg(long)]
    pub system: Option<String>,
}

/// A request without faults.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedRequest {
    pub custom_id: Option<String>,
    /// The body of the load, without `custom_id`.
    pub load: Map<String, Value>,
}

/// Reads a line. The error has all of its faults.
pub fn parse(line: &[u8], defaults: &LineDefaults) -> Result<ParsedRequest, Vec<String>> {
    if line.len() > load_check::MAX_LOAD_BYTES {
        return Err(vec!["the line is larger than 10 MB".to_owned()]);
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let place = error.column();
        vec![format!("not JSON, at character {place}")]
    })?;
    let Value::Object(mut fields) = value else {
        return Err(vec!["not a JSON object".to_owned()]);
    };
    let mut faults = Vec::new();
    let custom_id = match fields.remove("custom_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if CustomId::new(&id).is_ok() => Some(id),
        Some(_) => {
            faults.push("custom_id is not a text of 1 to 256 visible characters".to_owned());
            None
        }
    };
    for name in RESERVED_FIELDS {
        if fields.contains_key(*name) {
            faults.push(format!("{name} is set by longshore: remove it"));
        }
    }
    let mut load = to_load(fields).map_err(|fault| vec![fault])?;
    fill(&mut load, defaults);
    faults.extend(load_check::find_faults(&load));
    if faults.is_empty() {
        Ok(ParsedRequest { custom_id, load })
    } else {
        Err(faults)
    }
}

fn to_load(fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
    if let (Some(Value::String(url)), Some(Value::Object(body))) =
        (fields.get("url"), fields.get("body"))
    {
        let params = openai_line::convert(url, body)?;
        return Ok(wrap_params(params));
    }
    let is_bare = fields.contains_key("messages") || fields.contains_key("input_text");
    if is_bare && !fields.contains_key("params") {
        return Ok(wrap_params(fields));
    }
    Ok(fields)
}

fn wrap_params(params: Map<String, Value>) -> Map<String, Value> {
    let mut load = Map::new();
    load.insert("params".to_owned(), Value::Object(params));
    load
}

fn fill(load: &mut Map<String, Value>, defaults: &LineDefaults) {
    let Some(Value::Object(params)) = load.get_mut("params") else {
        return;
    };
    let is_chat = params.contains_key("messages");
    let of_chat = |value: Option<Value>| value.filter(|_| is_chat);
    let values = [
        ("model", defaults.model.clone().map(Value::String)),
        ("max_tokens", of_chat(defaults.max_tokens.map(Value::from))),
        (
            "system",
            of_chat(defaults.system.clone().map(Value::String)),
        ),
    ];
    for (name, value) in values {
        let is_missing = params.get(name).is_none_or(Value::is_null);
        if let Some(value) = value.filter(|_| is_missing) {
            params.insert(name.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(line: &str) -> Result<ParsedRequest, String> {
        let defaults = LineDefaults {
            model: Some("m".to_owned()),
            max_tokens: Some(9),
            system: None,
        };
        parse(line.as_bytes(), &defaults).map_err(|faults| faults.join("; "))
    }

    #[test]
    fn four_forms_are_the_same_request() {
        let messages = r#""messages":[{"role":"user","content":"a"}]"#;
        let lines = [
            format!(r"{{{messages}}}"),
            format!(r#"{{"params":{{{messages}}}}}"#),
            format!(r#"{{"custom_id":"x","params":{{{messages},"max_tokens":9}}}}"#),
            format!(
                r#"{{"custom_id":"x","method":"POST","url":"/v1/chat/completions","body":{{"model":"m",{messages}}}}}"#
            ),
        ];
        let parsed = lines.map(|line| parse_text(&line).unwrap());
        let [first, rest @ ..] = &parsed;
        for line in rest {
            assert_eq!(line.load, first.load);
        }
        let ids = parsed.each_ref().map(|line| line.custom_id.as_deref());
        assert_eq!(ids, [None, None, Some("x"), Some("x")]);
    }

    #[test]
    fn faults_are_named() {
        let fault = |line: &str| parse_text(line).unwrap_err();
        assert_eq!(fault("{"), "not JSON, at character 1");
        assert_eq!(fault("[]"), "not a JSON object");
        assert_eq!(
            fault(r#"{"group_id":"grp_1","custom_id":""}"#),
            "custom_id is not a text of 1 to 256 visible characters; group_id is set by \
             longshore: remove it; params is missing"
        );
    }
}
