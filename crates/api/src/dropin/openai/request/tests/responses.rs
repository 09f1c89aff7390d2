//! Responses.

use serde_json::{Value, json};

use super::response;

#[test]
fn a_text_is_a_message_and_instructions_are_the_system_prompt() {
    let params = response(json!({
        "instructions": "Be brief.", "max_output_tokens": 50, "temperature": 0.5, "store": false,
        "truncation": "disabled", "include": ["reasoning.encrypted_content"], "background": false,
    }));
    let expected = json!({
        "model": "m", "max_tokens": 50, "system": "Be brief.",
        "messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5,
    });
    assert_eq!(params, Ok(expected));
}

#[test]
fn items_of_an_answer_are_one_message() {
    let image = format!("file_{:032x}", 1);
    let params = response(json!({"input": [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Hi"},
            {"type": "input_image", "file_id": image, "detail": "auto"},
            {"type": "input_file", "file_id": image},
        ]},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "v1.openai.x",
         "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "redacted:d"},
        {"type": "reasoning", "id": "rs_3", "summary": []},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [
            {"type": "output_text", "text": "Wait.", "annotations": [], "logprobs": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f",
         "arguments": "{\"x\":1}", "status": "completed"},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
        {"role": "user", "content": "And?"},
    ]}));
    let image = json!({"type": "image", "source": {"file_id": image}});
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, image, image]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "a\n\nb", "signature": "v1.openai.x"},
            {"type": "redacted_thinking", "data": "d"},
            {"type": "text", "text": "Wait."},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "one"},
            {"type": "text", "text": "And?"},
        ]},
    ]);
    let params = params.map(|params| (params["system"].clone(), params["messages"].clone()));
    assert_eq!(params, Ok((json!("Be brief."), expected)));
}

#[test]
fn tools_schemas_and_thoughts() {
    let schema = json!({"type": "object"});
    let params = response(json!({
        "tools": [{"type": "function", "name": "f", "parameters": schema, "strict": null}],
        "tool_choice": {"type": "function", "name": "f"},
        "text": {"format": {"type": "json_schema", "name": "a", "schema": schema}, "verbosity": "low"},
        "reasoning": {"effort": "xhigh", "summary": "auto"},
    }));
    let picked = params.map(|params| {
        let names = [
            "tools",
            "tool_choice",
            "output_config",
            "thinking",
            "provider_options",
        ];
        Value::Array(names.map(|name| params[name].clone()).to_vec())
    });
    let expected = json!([
        [{"name": "f", "input_schema": schema}],
        {"type": "tool", "name": "f"},
        {"format": {"type": "json_schema", "schema": schema, "name": "a"}, "effort": "xhigh"},
        {"type": "adaptive", "display": "summarized"},
        {"openai": {"verbosity": "low"}},
    ]);
    assert_eq!(picked, Ok(expected));
    let off = response(json!({"reasoning": {"effort": "none", "summary": "auto"}}));
    let thinking = off.map(|params| params["thinking"].clone());
    assert_eq!(thinking, Ok(json!({"type": "disabled"})));
}
