//! Answers whose shape the request fixes: by a JSON schema, or by a forced call of a tool.

use serde_json::{Value, json};

use crate::chaos::server::environment::RealModelEnvironment;
use crate::chaos::server::{self, questions};
use crate::harness::{CallbackLog, PollLimits, Result, TrialVerdict, judge, report_progress};

const SCHEMAS_PER_CALL: usize = 5;
const COLORS: [&str; 3] = ["red", "green", "blue"];
const MAX_CRATES: u64 = 99;
const TOOL: &str = "count_crates";
const OTHER_TOOL: &str = "paint_crates";
/// Also enough for an answer with as many blanks as the server's grammar allows.
const MAX_TOKENS: u64 = 200;

/// Loads cargo of both kinds, waits for their callbacks, and judges the answers.
pub async fn run(
    verdict: &mut TrialVerdict,
    environment: &RealModelEnvironment,
    schemas: usize,
) -> Result<()> {
    let calls = schemas.div_ceil(SCHEMAS_PER_CALL);
    report_progress(format!(
        "loading {schemas} cargo with a schema, {calls} with a forced call"
    ));
    let receipts = &environment.service.callback_sink.receipts;
    let (schema_log, call_log) = (CallbackLog::new(receipts), CallbackLog::new(receipts));
    let callback_url = &environment.service.callers.callback_url;
    let loads = (0..schemas).map(|number| build_load(&schema_params(number), callback_url));
    server::load_cargo(environment, &schema_log, loads).await?;
    let loads = (0..calls).map(|number| build_load(&call_params(number), callback_url));
    server::load_cargo(environment, &call_log, loads).await?;
    let timeout = server::callback_timeout(schemas + calls);
    let limits = PollLimits::new(timeout, server::POLL_INTERVAL);
    limits
        .wait_until(|| schema_log.is_complete() && call_log.is_complete())
        .await;

    let mut misshapen = Vec::new();
    let (valid, others) = split_answers(environment, &schema_log, follows_schema);
    let schemas_valid = valid.len();
    misshapen.extend(others);
    let (calling, others) = split_answers(environment, &call_log, calls_tool);
    let calls_valid = calling.len();
    let (cut, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_cut);
    misshapen.extend(others);
    let misshapen: Vec<_> = misshapen.iter().map(Value::to_string).collect();
    judge! { verdict;
        record "schemas_loaded" => schemas,
        record "schemas_valid" => schemas_valid,
        record "calls_loaded" => calls,
        record "calls_valid" => calls_valid,
        record "calls_cut" => cut.len(),
        check "every answer follows its schema" => schemas_valid == schemas,
        check "most answers to a forced call are calls of the tool" => is_most(calls_valid, calls),
        check "every answer without its call ends with max_tokens" => calls_valid + cut.len() == calls,
        check "all cargo with a schema or a tool is delivered" =>
            schema_log.is_complete() && call_log.is_complete(),
    }
    verdict.check_none("no answer is misshapen", "misshapen", &misshapen);
    Ok(())
}

/// The callbacks of a log: the valid ones, and the others.
fn split_answers(
    environment: &RealModelEnvironment,
    callback_log: &CallbackLog,
    is_valid: impl Fn(&Value) -> bool,
) -> (Vec<Value>, Vec<Value>) {
    let bodies = environment.service.callback_sink.receipts.bodies();
    let loaded = callback_log.load_log.acknowledged();
    let bodies = loaded.keys().filter_map(|cargo| bodies.get(cargo));
    bodies
        .map(|body| serde_json::from_slice::<Value>(body).unwrap_or_default())
        .partition(is_valid)
}

/// The body of a load, and its unique text.
fn build_load(params: &Value, callback_url: &str) -> (String, String) {
    let text = params.pointer("/messages/0/content");
    let text = text.and_then(Value::as_str).unwrap_or_default().to_owned();
    let body = json!({"params": params, "callback_url": callback_url});
    (body.to_string(), text)
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "color": {"type": "string", "enum": COLORS},
            "crates": {"type": "integer", "minimum": 0, "maximum": MAX_CRATES},
        },
        "required": ["color", "crates"],
        "additionalProperties": false,
    })
}

/// A high temperature tempts the model to leave the schema; the seed makes its answer repeatable.
fn schema_params(number: usize) -> Value {
    let text = format!("Describe pile {number}: its color, and how many crates it has.");
    json!({"model": questions::MODEL, "max_tokens": MAX_TOKENS, "temperature": 1.0, "seed": number,
        "messages": [{"role": "user", "content": text}],
        "output_config": {"format": {"type": "json_schema", "schema": schema()}}})
}

fn call_params(number: usize) -> Value {
    let tool = |name: &str, description: &str| json!({"name": name, "description": description, "input_schema": schema()});
    let text = format!("Pile {number} has 7 red crates. Call {TOOL} for it.");
    json!({"model": questions::MODEL, "max_tokens": MAX_TOKENS, "temperature": 0.0,
        "messages": [{"role": "user", "content": text}],
        "tools": [tool(OTHER_TOOL, "Paints crates."), tool(TOOL, "Counts crates.")],
        "tool_choice": {"type": "tool", "name": TOOL, "disable_parallel_tool_use": true}})
}

fn follows_schema(body: &Value) -> bool {
    let text = body.pointer("/response/content/0/text");
    let text = text.and_then(Value::as_str).unwrap_or_default();
    serde_json::from_str(text).is_ok_and(|answer: Value| has_shape(&answer))
}

fn calls_tool(body: &Value) -> bool {
    let blocks = body.pointer("/response/content").and_then(Value::as_array);
    let is_call = |block: &Value| {
        text_of(block, "type") == "tool_use"
            && text_of(block, "name") == TOOL
            && block.get("input").is_some_and(has_shape)
    };
    blocks.into_iter().flatten().any(is_call)
}

/// llama.cpp lets the model write text before a forced call. Sometimes it writes until `max_tokens`.
fn is_cut(body: &Value) -> bool {
    questions::stop_reason(body) == "max_tokens"
}

const fn is_most(part: usize, all: usize) -> bool {
    all == 0 || part * 2 > all
}

fn has_shape(answer: &Value) -> bool {
    let crates = answer.get("crates").and_then(Value::as_u64);
    COLORS.contains(&text_of(answer, "color"))
        && crates.is_some_and(|it| it <= MAX_CRATES)
        && answer.as_object().is_some_and(|it| it.len() == 2)
}

fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    let text = value.get(field).and_then(Value::as_str);
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_needs_every_property_and_no_other() {
        assert!(has_shape(&json!({"color": "red", "crates": 7})));
        for answer in [
            json!({"color": "pink", "crates": 7}),
            json!({"color": "red", "crates": 7.5}),
            json!({"color": "red", "crates": 100}),
            json!({"color": "red"}),
            json!({"color": "red", "crates": 7, "more": 1}),
            json!("red"),
        ] {
            assert!(!has_shape(&answer), "{answer}");
        }
    }

    #[test]
    fn a_call_is_a_block_of_the_forced_tool() {
        let body = |block: Value| json!({"response": {"content": [block]}});
        let call = |name: &str| {
            body(json!({"type": "tool_use", "id": "a", "name": name,
                "input": {"color": "red", "crates": 7}}))
        };
        assert!(calls_tool(&call(TOOL)));
        assert!(!calls_tool(&call(OTHER_TOOL)));
        let text = body(json!({"type": "text", "text": r#"{"color": "red", "crates": 7}"#}));
        assert!(follows_schema(&text) && !calls_tool(&text));
        assert!(!follows_schema(&body(json!({"type": "text", "text": "{"}))));
    }

    #[test]
    fn an_answer_without_its_call_may_only_be_cut() {
        let body = |reason: &str| {
            json!({"success": true, "response": {"stop_reason": reason,
                "content": [{"type": "text", "text": "The pile"}]}})
        };
        assert!(is_cut(&body("max_tokens")) && !calls_tool(&body("max_tokens")));
        for reason in ["end_turn", "tool_use", "refusal"] {
            assert!(!is_cut(&body(reason)), "{reason}");
        }
        assert!(!is_cut(&json!({"success": false, "response": null})));
    }

    #[test]
    fn most_is_more_than_half() {
        assert!(is_most(1, 1) && is_most(11, 20) && is_most(0, 0));
        assert!(!is_most(10, 20) && !is_most(0, 1));
    }
}
