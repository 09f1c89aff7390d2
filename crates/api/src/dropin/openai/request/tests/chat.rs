//! Chat Completions.

use serde_json::{Value, json};

use super::{chat, convert};
use crate::dropin::openai::endpoint::Endpoint;

fn messages(messages: &Value) -> Result<Value, String> {
    let params = chat(json!({"messages": messages}))?;
    Ok(json!([params.get("system"), params.get("messages")]))
}

#[test]
fn a_plain_chat_has_the_limit_of_its_model() {
    let plain = json!({
        "model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "Hi"}],
    });
    assert_eq!(chat(json!({})), Ok(plain));
    let limit = |fields: Value| chat(fields).map(|params| params["max_tokens"].clone());
    assert_eq!(limit(json!({"model": "large"})), Ok(json!(64_000)));
    assert_eq!(limit(json!({"max_tokens": 5})), Ok(json!(5)));
    assert_eq!(limit(json!({"max_completion_tokens": 6})), Ok(json!(6)));
    let both = json!({"max_completion_tokens": 6, "max_tokens": 6});
    assert_eq!(limit(both), Ok(json!(6)));
    assert!(limit(json!({"max_completion_tokens": 6, "max_tokens": 7})).is_err());
    assert_eq!(limit(json!({"max_tokens": null})), Ok(json!(4096)));
}

#[test]
fn fields_with_another_name_or_form() {
    for (given, name, expected) in [
        (json!({"stop": "END"}), "stop_sequences", json!(["END"])),
        (
            json!({"stop": ["a", "b"]}),
            "stop_sequences",
            json!(["a", "b"]),
        ),
        (json!({"temperature": 0.5}), "temperature", json!(0.5)),
        (json!({"top_p": 0.25}), "top_p", json!(0.25)),
        (json!({"top_k": 40}), "top_k", json!(40)),
        (json!({"seed": 7}), "seed", json!(7)),
        (
            json!({"reasoning_effort": "high"}),
            "output_config",
            json!({"effort": "high"}),
        ),
        (
            json!({"reasoning_effort": "none"}),
            "thinking",
            json!({"type": "disabled"}),
        ),
        (
            json!({"verbosity": "low"}),
            "provider_options",
            json!({"openai": {"verbosity": "low"}}),
        ),
        (
            json!({"presence_penalty": 0.5, "frequency_penalty": 0}),
            "provider_options",
            json!({"openai": {"presence_penalty": 0.5}}),
        ),
    ] {
        let params = chat(given.clone());
        assert_eq!(
            params.map(|params| params[name].clone()),
            Ok(expected),
            "{given}"
        );
    }
}

#[test]
fn fields_that_ask_for_what_happens_anyway() {
    let plain = chat(json!({}));
    for accepted in [
        json!({"n": 1, "stream": false, "logprobs": false, "top_logprobs": 0}),
        json!({"store": true, "prompt_cache_key": "k", "prompt_cache_retention": "24h"}),
        json!({"service_tier": "auto"}),
        json!({"service_tier": "default"}),
        json!({"response_format": {"type": "text"}}),
        json!({"modalities": ["text"]}),
        json!({"verbosity": "medium", "logit_bias": {}, "presence_penalty": 0.0}),
        json!({"stop": null, "stop_sequences": null, "functions": null, "anything": null}),
        json!({"stop": []}),
        json!({"tools": [], "tool_choice": "none"}),
        json!({"tool_choice": "auto", "parallel_tool_calls": true}),
        json!({"parallel_tool_calls": false}),
    ] {
        assert_eq!(chat(accepted.clone()), plain, "{accepted}");
    }
}

#[test]
fn tags_of_a_request() {
    let body = json!({
        "model": "m", "messages": [{"role": "user", "content": "Hi"}],
        "metadata": {"run": "7"}, "user": "u-1", "safety_identifier": "s",
    });
    let converted = convert(Endpoint::ChatCompletions, body);
    let metadata = converted.map(|it| it.metadata.map(Value::Object));
    let expected = json!({"run": "7", "user": "u-1", "safety_identifier": "s"});
    assert_eq!(metadata, Ok(Some(expected)));
}

#[test]
fn instructions_at_the_head_are_the_system_prompt() {
    let given = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "Now be long."},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ]);
    let expected = json!(["Be brief.\n\nBe kind.", [
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "Now be long."},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ]]);
    assert_eq!(messages(&given), Ok(expected));
}

#[test]
fn calls_and_results_of_tools_become_blocks() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let given = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "refusal": null, "annotations": [],
         "tool_calls": [call("a", "{\"x\":1}"), call("b", ""), call("c", "{\"x")]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "two"}]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "", "tool_calls": [call("d", "{}")]},
        {"role": "tool", "tool_call_id": "d", "content": "four"},
    ]);
    let use_of =
        |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "f", "input": input});
    let result = |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let expected = json!([null, [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            use_of("a", json!({"x": 1})), use_of("b", json!({})),
            use_of("c", json!({"_raw": "{\"x"})),
        ]},
        {"role": "user", "content": [
            result("a", json!("one")), result("b", json!([{"type": "text", "text": "two"}])),
            result("c", json!("")), {"type": "text", "text": "And?"},
        ]},
        {"role": "assistant", "content": [use_of("d", json!({}))]},
        {"role": "user", "content": [result("d", json!("four"))]},
    ]]);
    assert_eq!(messages(&given), Ok(expected));
}

#[test]
fn tools_and_the_choice_among_them() {
    let function = json!({"name": "f", "description": "d", "parameters": {"type": "object"}});
    let tools = json!([
        {"type": "function", "function": function},
        {"type": "function", "function": {"name": "g", "strict": true, "parameters": null}},
    ]);
    let expected = json!([
        {"name": "f", "description": "d", "input_schema": {"type": "object"}},
        {"name": "g", "input_schema": {"type": "object", "properties": {}}, "strict": true},
    ]);
    let params = chat(json!({"tools": tools}));
    assert_eq!(params.map(|params| params["tools"].clone()), Ok(expected));
    let named = json!({"type": "function", "function": {"name": "f"}});
    for (choice, parallel, expected) in [
        (json!("auto"), json!(null), json!({"type": "auto"})),
        (json!("required"), json!(true), json!({"type": "any"})),
        (json!("none"), json!(false), json!({"type": "none"})),
        (
            named.clone(),
            json!(null),
            json!({"type": "tool", "name": "f"}),
        ),
        (
            named,
            json!(false),
            json!({"type": "tool", "name": "f", "disable_parallel_tool_use": true}),
        ),
        (
            json!(null),
            json!(false),
            json!({"type": "auto", "disable_parallel_tool_use": true}),
        ),
    ] {
        let fields =
            json!({"tools": tools, "tool_choice": choice, "parallel_tool_calls": parallel});
        let params = chat(fields.clone());
        let choice = params.map(|params| params["tool_choice"].clone());
        assert_eq!(choice, Ok(expected), "{fields}");
    }
}

#[test]
fn answers_with_a_schema() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let given = json!({"response_format": {"type": "json_schema", "json_schema": {
        "name": "answer", "strict": true, "schema": schema,
    }}, "reasoning_effort": "low"});
    let expected = json!({
        "format": {"type": "json_schema", "schema": schema, "name": "answer"}, "effort": "low",
    });
    let params = chat(given);
    assert_eq!(
        params.map(|params| params["output_config"].clone()),
        Ok(expected)
    );
    let described = json!({"response_format": {"type": "json_schema", "json_schema": {
        "name": "answer", "description": "A city.", "schema": {"type": "object"},
    }}});
    let params = chat(described).map(|it| it["output_config"]["format"]["schema"].clone());
    assert_eq!(
        params,
        Ok(json!({"type": "object", "description": "A city."}))
    );
}

#[test]
fn files_of_the_project() {
    let [image, document, video] = [1, 2, 3].map(|number| format!("file_{number:032x}"));
    let given = json!([{"role": "user", "content": [
        {"type": "text", "text": "Look.", "prompt_cache_breakpoint": {"mode": "explicit"}},
        {"type": "image_url", "image_url": {"url": format!("longshore://{image}"), "detail": "auto"}},
        {"type": "file", "file": {"file_id": image}},
        {"type": "file", "file": {"file_id": document, "filename": "a.pdf"}},
        {"type": "file", "file": {"file_id": video}},
    ]}]);
    let block = |kind: &str, id: &str| json!({"type": kind, "source": {"file_id": id}});
    let expected = json!([null, [{"role": "user", "content": [
        {"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}},
        block("image", &image), block("image", &image), block("document", &document),
        block("video", &video),
    ]}]]);
    assert_eq!(messages(&given), Ok(expected));
}
