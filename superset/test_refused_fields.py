"""Fields of the vendors' APIs that Longshore does not have: none is ignored in silence."""

import pytest
from conftest import chat, json_format, text, tool, user

VENDOR_FIELDS = {
    "response_format": {"type": "json_object"},
    "output_format": {},
    "functions": [],
    "function_call": "auto",
    "toolConfig": {},
    "tool_config": {},
    "parallel_tool_calls": False,
    "reasoning": {"effort": "low"},
    "reasoning_effort": "low",
    "thinkingConfig": {},
    "thinking_budget": 1024,
    "enable_thinking": True,
    "generationConfig": {},
    "generation_config": {},
    "max_completion_tokens": 5,
    "max_output_tokens": 5,
    "stop": ["END"],
    "input": "Hello",
    "contents": [],
    "prompt": "Hello",
    "instructions": "Be brief.",
    "systemInstruction": {},
    "cachedContent": "cachedContents/1",
    "task_type": "RETRIEVAL_QUERY",
    "outputDimensionality": 4,
    "encoding_format": "base64",
    "n": 2,
    "candidateCount": 2,
    "logprobs": True,
    "top_logprobs": 2,
    "include": [],
    "frequency_penalty": 1,
    "presence_penalty": 1,
    "repetition_penalty": 1,
    "logit_bias": {},
    "min_p": 0.1,
    "verbosity": "low",
    "grammar": "root ::= x",
    "guided_json": {},
    "service_tier": "flex",
    "serviceTier": "flex",
    "speed": "fast",
    "fallbacks": [],
    "modalities": ["audio"],
    "audio": {},
    "prediction": {},
    "web_search_options": {},
    "mcp_servers": [],
    "container": "c",
    "previous_response_id": "resp_1",
    "conversation": "c",
    "context_management": {},
    "truncation": "auto",
    "safetySettings": [],
    "betas": ["x"],
    "citations": {"enabled": True},
    "response_json_schema": {},
    "responseJsonSchema": {},
    "response_modalities": ["AUDIO"],
    "response_logprobs": True,
    "speech_config": {},
    "speechConfig": {},
    "image": {},
    "image_config": {},
    "imageConfig": {},
    "media_resolution": "LOW",
    "mediaResolution": "LOW",
    "automatic_function_calling": {},
    "max_tool_calls": 2,
    "thinkingBudget": 1024,
    "thinkingLevel": "LOW",
    "includeThoughts": True,
    "google_search": {},
    "url_context": {},
    "retrieval": {},
    "mcp": {},
    "lora_path": "adapter",
    "use_beam_search": True,
    "custom_logit_processor": "code",
    "logits_processors": [],
    "samplers": ["top_k"],
    "stop_token_ids": [7],
    "allowed_token_ids": [7],
    "maxTokens": 5,
    "toolChoice": {"type": "any"},
    "webhook": "https://example.com/",
}


@pytest.mark.parametrize("name", VENDOR_FIELDS)
def test_a_field_of_a_vendor_is_refused_at_its_place(pro, name):
    [fault] = pro.faults(chat("svc-mock", **{name: VENDOR_FIELDS[name]}))
    assert fault.place == f"params.{name}"
    assert fault.message.startswith("Longshore has no field of this name.")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("response_format", "output_config.format"),
        ("functions", "tools"),
        ("tool_config", "tool_choice"),
        ("parallel_tool_calls", "disable_parallel_tool_use"),
        ("reasoning_effort", "output_config.effort"),
        ("thinking_budget", "thinking"),
        ("max_completion_tokens", "max_tokens"),
        ("stop", "stop_sequences"),
        ("contents", "messages"),
        ("systemInstruction", "system"),
        ("cachedContent", "cache_control"),
        ("task_type", "input_type"),
        ("outputDimensionality", "dimensions"),
        ("service_tier", "deadline_seconds"),
        ("response_json_schema", "output_config.format"),
        ("includeThoughts", "thinking.display"),
        ("thinkingLevel", "output_config.effort"),
        ("google_search", "tools that you run"),
        ("stop_token_ids", "stop_sequences"),
        ("toolChoice", "tool_choice"),
        ("webhook", "callback_url"),
    ],
)
def test_the_message_has_our_spelling(pro, name, ours):
    [fault] = pro.faults(chat("svc-mock", **{name: VENDOR_FIELDS[name]}))
    assert ours in fault.message


OURS = {
    "model": "svc-mock",
    "max_tokens": 5,
    "messages": [user("Hello")],
    "system": "Be brief.",
    "temperature": 0.5,
    "stop_sequences": ["END"],
    "tools": [tool()],
    "tool_choice": {"type": "auto"},
    "output_config": {"effort": "low"},
    "thinking": {"type": "adaptive"},
    "cache_control": {"type": "ephemeral"},
    "seed": 7,
    "provider_options": {},
    "input_text": "Hello",
    "dimensions": 4,
    "input_type": "query",
}


@pytest.mark.parametrize("name", OURS)
def test_a_field_for_the_model_is_refused_beside_params(pro, name):
    [fault] = pro.faults(chat("svc-mock"), **{name: OURS[name]})
    assert fault.place == name
    assert fault.message == f"Longshore has no field of this name beside params. Put {name} in params."


@pytest.mark.parametrize("name", VENDOR_FIELDS)
def test_a_field_of_a_vendor_is_refused_beside_params(pro, name):
    assert pro.places(chat("svc-mock"), **{name: VENDOR_FIELDS[name]}) == [name]


@pytest.mark.parametrize("name", ["response_format", "reasoning_effort", "stop", "toolChoice"])
def test_the_message_beside_params_says_where_our_field_belongs(pro, name):
    [fault] = pro.faults(chat("svc-mock"), **{name: VENDOR_FIELDS[name]})
    assert fault.message.endswith("in params.")


@pytest.mark.parametrize("name", ["tool_calls", "toolCalls", "tool_call_id", "reasoning_content", "parts", "audio"])
def test_a_vendors_field_of_a_message_is_refused(pro, name):
    message = user("Hello") | {name: "x"}
    assert pro.places(chat("svc-mock", messages=[message])) == [f"params.messages.0.{name}"]


@pytest.mark.parametrize(
    "name", ["citations", "title", "detail", "prompt_cache_breakpoint", "thoughtSignature", "cacheControl"]
)
def test_a_vendors_field_of_a_block_is_refused(pro, name):
    params = chat("svc-mock", [text("Hello", **{name: {}})])
    assert pro.places(params) == [f"params.messages.0.content.0.{name}"]


@pytest.mark.parametrize("kind", ["image_url", "input_text", "file", "input_audio", "search_result", "server_tool_use"])
def test_a_vendors_block_is_refused(pro, kind):
    places = pro.places(chat("svc-mock", [{"type": kind, "text": "x"}]))
    assert places == ["params.messages.0.content.0.type"]


@pytest.mark.parametrize("name", ["parameters", "input_examples", "defer_loading", "inputSchema", "format"])
def test_a_vendors_field_of_a_tool_is_refused(pro, name):
    params = chat("chat", tools=[tool(**{name: {}})])
    assert pro.places(params) == [f"params.tools.0.{name}"]


def test_a_tool_of_chat_completions_is_refused_with_our_form(pro):
    nested = {"type": "function", "function": {"name": "f", "parameters": {}}}
    faults = pro.faults(chat("chat", tools=[nested]))
    assert {fault.place for fault in faults} == {
        "params.tools.0.function",
        "params.tools.0.type",
        "params.tools.0.name",
        "params.tools.0.input_schema",
    }


@pytest.mark.parametrize("kind", ["web_search_20250305", "code_execution_20250522", "mcp", "function", "computer"])
def test_a_tool_that_the_provider_runs_is_refused(pro, kind):
    assert pro.places(chat("claude", tools=[tool(type=kind)])) == ["params.tools.0.type"]


@pytest.mark.parametrize("name", ["function", "allowed_tools", "mode"])
def test_a_vendors_field_of_the_choice_is_refused(pro, name):
    params = chat("chat", tools=[tool()], tool_choice={"type": "auto", name: {}})
    assert pro.places(params) == [f"params.tool_choice.{name}"]


@pytest.mark.parametrize("name", ["strict", "description", "json_schema"])
def test_a_vendors_field_of_the_format_is_refused(pro, name):
    params = chat("chat", output_config=json_format(**{name: "x"}))
    assert pro.places(params) == [f"params.output_config.format.{name}"]


@pytest.mark.parametrize("name", ["effort", "thinkingLevel", "includeThoughts", "summary"])
def test_a_vendors_field_of_thinking_is_refused(pro, name):
    params = chat("claude", thinking={"type": "adaptive", name: "x"})
    assert pro.places(params) == [f"params.thinking.{name}"]


# --- values ---

VALUES = [
    ("tools", {}, ""),
    ("tools", [5], ".0"),
    ("tools", [{"input_schema": {"type": "object"}}], ".0.name"),
    ("tools", [{"name": "a"}], ".0.input_schema"),
    ("tools", [tool("a b")], ".0.name"),
    ("tools", [tool("1a")], ".0.name"),
    ("tools", [tool("")], ".0.name"),
    ("tools", [tool("x" * 65)], ".0.name"),
    ("tools", [tool(description=5)], ".0.description"),
    ("tools", [tool(strict="yes")], ".0.strict"),
    ("tools", [tool(input_schema=[])], ".0.input_schema"),
    ("tools", [tool(input_schema={"type": "string"})], ".0.input_schema.type"),
    ("tools", [tool(cache_control="ephemeral")], ".0.cache_control"),
    ("tools", [tool(cache_control={"type": "persistent"})], ".0.cache_control.type"),
    ("tools", [tool(cache_control={"type": "ephemeral", "ttl": "2h"})], ".0.cache_control.ttl"),
    ("tools", [tool(f"tool_{number}") for number in range(129)], ""),
    ("tools", [tool(description="x" * 262_144)], ""),
    ("tool_choice", "auto", ""),
    ("tool_choice", {}, ".type"),
    ("tool_choice", {"type": "required"}, ".type"),
    ("tool_choice", {"type": "tool"}, ".name"),
    ("tool_choice", {"type": "any", "name": "find_crate"}, ".name"),
    ("tool_choice", {"type": "auto", "disable_parallel_tool_use": 1}, ".disable_parallel_tool_use"),
    ("tool_choice", {"type": "none", "disable_parallel_tool_use": True}, ".disable_parallel_tool_use"),
    ("output_config", "json", ""),
    ("output_config", {"effort": "minimal"}, ".effort"),
    ("output_config", {"effort": 5}, ".effort"),
    ("output_config", {"format": "json"}, ".format"),
    ("output_config", {"format": {"type": "json_object", "schema": {}}}, ".format.type"),
    ("output_config", {"format": {"type": "json_schema"}}, ".format.schema"),
    ("output_config", {"format": {"type": "json_schema", "schema": []}}, ".format.schema"),
    ("output_config", json_format(name="a b"), ".format.name"),
    ("thinking", True, ""),
    ("thinking", {}, ".type"),
    ("thinking", {"type": "between_tools"}, ".type"),
    ("thinking", {"type": "enabled"}, ".budget_tokens"),
    ("thinking", {"type": "enabled", "budget_tokens": -1}, ".budget_tokens"),
    ("thinking", {"type": "enabled", "budget_tokens": "2048"}, ".budget_tokens"),
    ("thinking", {"type": "adaptive", "budget_tokens": 2048}, ".budget_tokens"),
    ("thinking", {"type": "adaptive", "display": "full"}, ".display"),
    ("thinking", {"type": "disabled", "display": "omitted"}, ".display"),
    ("cache_control", True, ""),
    ("cache_control", {}, ".type"),
    ("cache_control", {"type": "ephemeral", "ttl": 300}, ".ttl"),
    ("seed", -1, ""),
    ("seed", 2**31, ""),
    ("seed", 1.5, ""),
    ("seed", "7", ""),
    ("system", [], ""),
    ("system", [{"type": "text"}], ".0.text"),
    ("system", [{"type": "image", "text": "a"}], ".0.type"),
    ("system", [5], ".0"),
    ("provider_options", [], ""),
    ("provider_options", {"openai": 5}, ".openai"),
    ("provider_options", {"openai": {"verbosity": [[[[[]]]]]}}, ".openai.verbosity"),
    ("provider_options", {"openai": {"verbosity": "x" * 4096}}, ".openai.verbosity"),
    ("dimensions", 8, ""),
    ("input_type", "query", ""),
]


VALUE_IDS = [f"{field}-{number}" for number, (field, *_) in enumerate(VALUES)]


@pytest.mark.parametrize(("field", "value", "below"), VALUES, ids=VALUE_IDS)
def test_an_invalid_value_is_refused_at_its_place(pro, field, value, below):
    params = {field: value}
    if field == "tool_choice":
        params["tools"] = [tool()]
    assert pro.places(chat("chat", **params)) == [f"params.{field}{below}"]


@pytest.mark.parametrize("call_id", ["", "a b", "x" * 65, "ü", "a.b"])
def test_an_id_of_a_call_is_a_word(pro, call_id):
    block = {"type": "tool_use", "id": call_id, "name": "f", "input": {}}
    params = chat("chat", messages=[{"role": "assistant", "content": [block]}], tools=[tool()])
    assert pro.places(params) == ["params.messages.0.content.0.id"]


@pytest.mark.parametrize("arguments", ["{}", [], 5])
def test_the_input_of_a_call_is_an_object(pro, arguments):
    block = {"type": "tool_use", "id": "a", "name": "f", "input": arguments}
    params = chat("chat", messages=[{"role": "assistant", "content": [block]}], tools=[tool()])
    assert pro.places(params) == ["params.messages.0.content.0.input"]


def test_a_schema_is_at_most_32_levels_deep(pro):
    deep = {"type": "object"}
    for _ in range(32):
        deep = {"type": "object", "properties": {"a": deep}}
    [fault] = pro.faults(chat("chat", tools=[tool(input_schema=deep)]))
    assert fault.place == "params.tools.0.input_schema"


@pytest.mark.parametrize("key", ["logit_bias", "store", "previous_response_id", "service_tier", "tools", "n"])
def test_an_option_that_the_operator_does_not_allow_is_refused(pro, key):
    params = chat("chat", provider_options={"openai": {key: 1}})
    assert pro.places(params) == [f"params.provider_options.openai.{key}"]


@pytest.mark.parametrize("kind", ["anthropic", "gemini", "server", "nonsense"])
def test_options_for_a_provider_of_another_kind_are_refused(pro, kind):
    params = chat("chat", provider_options={kind: {"verbosity": "low"}})
    assert pro.places(params) == [f"params.provider_options.{kind}"]
