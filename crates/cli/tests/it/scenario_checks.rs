//! Compares what steps returned with what the scenarios expect.

use client::client_error::ClientError;
use serde_json::Value;

use crate::program::CommandOutput;

pub(crate) type StepResult = Result<(), String>;

/// The result, or None if the expected error came.
pub(crate) fn check_error<T>(
    result: Result<T, ClientError>,
    expect: &Value,
) -> Result<Option<T>, String> {
    let expected = expect["status"].as_u64();
    match result {
        Ok(_) if expected.is_some() => Err(format!("no error, but {expect} was expected")),
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            let status = error.status().map(u64::from);
            let code = error.refusal().and_then(|refusal| refusal.code.clone());
            let expected_code = expect["code"].as_str().map(str::to_owned);
            if expected.is_some()
                && status == expected
                && (expected_code.is_none() || code == expected_code)
            {
                return Ok(None);
            }
            Err(error.to_string())
        }
    }
}

/// A tracking record against the expected text or error.
pub(crate) fn check_answer(ended: &CommandOutput, expect: &Value) -> Result<String, String> {
    let record = parse(&ended.stdout, ended)?;
    if let Some(text) = expect["text"].as_str() {
        equal("text", Some(&text.to_owned()), Some(&text_of(&record)))?;
    }
    for field in ["error", "error_code"] {
        if let Some(expected) = expect.get(field) {
            equal(field, Some(expected), record.get(field))?;
        }
    }
    Ok(record["cargo_id"].as_str().unwrap_or_default().to_owned())
}

pub(crate) fn text_of(record: &Value) -> String {
    let blocks = record
        .pointer("/response/content")
        .and_then(Value::as_array);
    let texts = blocks.into_iter().flatten();
    texts.filter_map(|block| block["text"].as_str()).collect()
}

pub(crate) fn parse(line: &str, ended: &CommandOutput) -> Result<Value, String> {
    serde_json::from_str(line)
        .map_err(|error| format!("{error}: exit {}: {}", ended.code, ended.stderr))
}

pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(
    what: &str,
    expected: Option<&T>,
    found: Option<&T>,
) -> StepResult {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what} is {found:?}, not {expected:?}"))
}

/// Whether the found object has the expected fields, at every depth.
pub(crate) fn contains(found: &Value, expected: &Value) -> StepResult {
    match expected {
        Value::Object(fields) => {
            for (name, expected) in fields {
                contains(&found[name.as_str()], expected).map_err(|it| format!("{name}: {it}"))?;
            }
            Ok(())
        }
        Value::Null => Ok(()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            equal("value", Some(expected), Some(found))
        }
    }
}

pub(crate) fn decode_base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap_or_default()
}
