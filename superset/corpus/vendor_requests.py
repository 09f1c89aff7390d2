"""Requests as callers of each vendor's own API would write them, and conversations that every vendor refuses."""

from corpus.model_rules import CALL, DATA, FORMAT, MARK, QUESTION, RESULT, SCHEMA, TOOL, Case, assistant, user

LONG_MARK = MARK | {"ttl": "1h"}
TOOLS = {"tools": [TOOL]}

VENDOR_REQUESTS: dict[str, list[Case]] = {
    "openai": [
        Case("json_object", {"response_format": {"type": "json_object"}}, "params.response_format"),
        Case("reasoning_effort", {"reasoning_effort": "low"}, "params.reasoning_effort"),
        Case("reasoning", {"reasoning": {"effort": "low"}}, "params.reasoning"),
        Case("max_completion_tokens", {"max_completion_tokens": 50}, "params.max_completion_tokens"),
        Case("stop", {"stop": ["END"]}, "params.stop"),
        Case("n", {"n": 2}, "params.n"),
        Case("logprobs", {"logprobs": True}, "params.logprobs"),
        Case("functions", {"functions": [{"name": "f"}]}, "params.functions"),
        Case("nested tool", {"tools": [{"type": "function", "function": {"name": "f"}}]}, "params.tools.0.function"),
        Case(
            "flat tool",
            {"tools": [{"type": "function", "name": "f", "parameters": {}}]},
            "params.tools.0.parameters",
        ),
        Case("choice as text", TOOLS | {"tool_choice": "required"}, "params.tool_choice"),
        Case("choice of a function", TOOLS | {"tool_choice": {"type": "function"}}, "params.tool_choice.type"),
        Case("parallel_tool_calls", TOOLS | {"parallel_tool_calls": False}, "params.parallel_tool_calls"),
        Case("service_tier", {"service_tier": "flex"}, "params.service_tier"),
        Case("input", {"input": "Hello"}, "params.input"),
        Case("instructions", {"instructions": "Be brief."}, "params.instructions"),
        Case("previous response", {"previous_response_id": "resp_1"}, "params.previous_response_id"),
        Case("tool role", {"messages": [QUESTION, {"role": "tool", "content": "x"}]}, "params.messages.1.role"),
        Case("penalty", {"presence_penalty": 1}, "params.presence_penalty"),
        Case("option", {"provider_options": {"openai": {"store": True}}}, "params.provider_options.openai.store"),
    ],
    "anthropic": [
        Case("citations", {"citations": {"enabled": True}}, "params.citations"),
        Case("server tool", {"tools": [TOOL | {"type": "web_search_20250305"}]}, "params.tools.0.type"),
        Case("mcp", {"mcp_servers": [{"url": "https://a.example"}]}, "params.mcp_servers"),
        Case("container", {"container": "c"}, "params.container"),
        Case("old format", {"output_format": {"type": "json_schema"}}, "params.output_format"),
        Case("between_tools", {"thinking": {"type": "between_tools"}}, "params.thinking.type"),
        Case("speed", {"speed": "fast"}, "params.speed"),
        Case("betas", {"betas": ["x"]}, "params.betas"),
        Case("fallbacks", {"fallbacks": []}, "params.fallbacks"),
        Case("region", {"inference_geo": "us"}, "params.inference_geo"),
        Case("examples of input", {"tools": [TOOL | {"input_examples": []}]}, "params.tools.0.input_examples"),
        Case(
            "signature of Anthropic",
            {
                "messages": [
                    QUESTION,
                    assistant([{"type": "thinking", "thinking": "Hm.", "signature": "ErUB"}]),
                    user("Sure?"),
                ]
            },
            "params.messages.1.content.0.signature",
        ),
        Case(
            "option",
            {"provider_options": {"anthropic": {"speed": "fast"}}},
            "params.provider_options.anthropic.speed",
        ),
    ],
    "gemini": [
        Case("contents", {"contents": []}, "params.contents"),
        Case("generationConfig", {"generationConfig": {"seed": 1}}, "params.generationConfig"),
        Case("systemInstruction", {"systemInstruction": {}}, "params.systemInstruction"),
        Case("toolConfig", TOOLS | {"toolConfig": {}}, "params.toolConfig"),
        Case("declarations", {"tools": [{"functionDeclarations": []}]}, "params.tools.0.functionDeclarations"),
        Case("responseSchema", {"responseSchema": SCHEMA}, "params.responseSchema"),
        Case("thinkingConfig", {"thinkingConfig": {"thinkingBudget": 0}}, "params.thinkingConfig"),
        Case("cachedContent", {"cachedContent": "cachedContents/1"}, "params.cachedContent"),
        Case("candidateCount", {"candidateCount": 2}, "params.candidateCount"),
        Case("safetySettings", {"safetySettings": []}, "params.safetySettings"),
        Case("parts", {"messages": [{"role": "user", "parts": [{"text": "x"}]}]}, "params.messages.0.parts"),
        Case("model role", {"messages": [QUESTION, {"role": "model", "content": "x"}]}, "params.messages.1.role"),
        Case("option", {"provider_options": {"gemini": {"labels": {}}}}, "params.provider_options.gemini.labels"),
    ],
    "server": [
        Case("guided_json", {"guided_json": SCHEMA}, "params.guided_json"),
        Case("grammar", {"grammar": "root ::= x"}, "params.grammar"),
        Case("min_p", {"min_p": 0.1}, "params.min_p"),
        Case("repetition_penalty", {"repetition_penalty": 1.1}, "params.repetition_penalty"),
        Case("template", {"chat_template_kwargs": {"enable_thinking": False}}, "params.chat_template_kwargs"),
        Case("ignore_eos", {"ignore_eos": True}, "params.ignore_eos"),
        Case("priority", {"priority": 1}, "params.priority"),
        Case(
            "option",
            {"provider_options": {"server": {"lora_path": "x"}}},
            "params.provider_options.server.lora_path",
        ),
    ],
}


def turns(*messages: DATA) -> DATA:
    return TOOLS | {"messages": [QUESTION, *messages]}


def marked(count: int, mark: DATA) -> DATA:
    return {"messages": [user([{"type": "text", "text": f"part {n}", "cache_control": mark} for n in range(count)])]}


WORDS = {"type": "text", "text": "Here:"}
FORCED = {"tool_choice": {"type": "any"}}
BUDGET = {"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 2048}}

CONVERSATIONS = [
    Case("unanswered call", turns(assistant([CALL]), user("Well?")), "params.messages.1.content.0.id"),
    Case("call at the end", turns(assistant([CALL])), "params.messages.1.content.0.id"),
    Case("result without a call", turns(assistant("Hm."), user([RESULT])), "params.messages.2.content.0.tool_use_id"),
    Case("result after words", turns(assistant([CALL]), user([WORDS, RESULT])), "params.messages.2.content.1"),
    Case("two results", turns(assistant([CALL]), user([RESULT, RESULT])), "params.messages.2.content.1.tool_use_id"),
    Case("two calls of one id", turns(assistant([CALL, CALL]), user([RESULT])), "params.messages.1.content.1.id"),
    Case(
        "unknown tool",
        turns(assistant([CALL | {"name": "other"}]), user([RESULT])),
        "params.messages.1.content.0.name",
    ),
    Case(
        "calls without tools",
        {"messages": [QUESTION, assistant([CALL]), user([RESULT])]},
        "params.tools",
    ),
    Case("choice without tools", FORCED, "params.tool_choice"),
    Case("empty tools with a choice", FORCED | {"tools": []}, "params.tool_choice"),
    Case(
        "choice of an unknown tool",
        TOOLS | {"tool_choice": {"type": "tool", "name": "x"}},
        "params.tool_choice.name",
    ),
    Case("tools of one name", {"tools": [TOOL, TOOL]}, "params.tools.1.name"),
    Case("long name", {"tools": [TOOL | {"name": "x" * 65}]}, "params.tools.0.name"),
    Case("name of a dot", {"tools": [TOOL | {"name": "a.b"}]}, "params.tools.0.name"),
    Case(
        "tool of a text",
        {"tools": [TOOL | {"input_schema": {"type": "string"}}]},
        "params.tools.0.input_schema.type",
    ),
    Case("129 tools", {"tools": [TOOL | {"name": f"t{n}"} for n in range(129)]}, "params.tools"),
    Case(
        "arguments as text",
        turns(assistant([CALL | {"input": "{}"}]), user([RESULT])),
        "params.messages.1.content.0.input",
    ),
    Case("schema and stop", {"output_config": FORMAT, "stop_sequences": ["END"]}, "params.stop_sequences"),
    Case("five marks", marked(5, MARK), "params.messages.0.content.4.cache_control"),
    Case(
        "long mark after a short one",
        marked(1, LONG_MARK) | {"tools": [TOOL | {"cache_control": MARK}]},
        "params.messages.0.content.0.cache_control.ttl",
    ),
    Case("budget and forced call", TOOLS | FORCED | BUDGET, "params.tool_choice.type"),
    Case("budget of max_tokens", BUDGET | {"max_tokens": 2048}, "params.thinking.budget_tokens"),
    Case(
        "small budget",
        BUDGET | {"thinking": {"type": "enabled", "budget_tokens": 512}},
        "params.thinking.budget_tokens",
    ),
    Case(
        "effort without thinking",
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}},
        "params.output_config.effort",
    ),
]
"""Every model refuses them."""
