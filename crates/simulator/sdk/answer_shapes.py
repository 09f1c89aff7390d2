"""How an answer ends, what it consists of and which tokens it counts, in the same words for each API."""

PART_NAMES = {
    "text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "tool_use": "call",
    "function_call": "call",
    "thinking": "thought",
    "reasoning": "thought",
}


def shape(api, body):
    """The ending, as the API spells it, and the parts."""
    match api:
        case "responses":
            return responses_shape(body)
        case "anthropic":
            return body["stop_reason"], [PART_NAMES[block["type"]] for block in body["content"]]
        case "gemini":
            return gemini_shape(body)
        case _:
            return chat_shape(body["choices"][0])


def chat_shape(choice):
    message = choice["message"]
    fields = {"reasoning_content": "thought", "content": "text", "refusal": "refusal"}
    parts = [part for field, part in fields.items() if message.get(field) is not None]
    return choice["finish_reason"], parts + ["call"] * len(message.get("tool_calls", []))


def responses_shape(body):
    if body["error"] is not None:
        ending = body["error"]["code"]
    elif body["incomplete_details"] is not None:
        assert body["status"] == "incomplete"
        ending = body["incomplete_details"]["reason"]
    else:
        ending = body["status"]
    parts = []
    for item in body["output"]:
        parts += [part["type"] for part in item["content"]] if item["type"] == "message" else [item["type"]]
    return ending, [PART_NAMES[part] for part in parts]


def gemini_shape(body):
    if "promptFeedback" in body:
        return body["promptFeedback"]["blockReason"], []
    candidate = body["candidates"][0]
    parts = candidate["content"]["parts"]
    names = ["call" if "functionCall" in part else "thought" if part.get("thought") else "text" for part in parts]
    return candidate["finishReason"], names


def token_counts(api, body):
    """Tokens read from a cache, written to it, and thought."""
    match api:
        case "responses":
            read, output = body["usage"]["input_tokens_details"], body["usage"]["output_tokens_details"]
            return read["cached_tokens"], read["cache_write_tokens"], output["reasoning_tokens"]
        case "anthropic":
            usage = body["usage"]
            thought = usage.get("output_tokens_details", {}).get("thinking_tokens", 0)
            return usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"], thought
        case "gemini":
            usage = body["usageMetadata"]
            return usage.get("cachedContentTokenCount", 0), 0, usage.get("thoughtsTokenCount", 0)
        case _:
            read, output = body["usage"]["prompt_tokens_details"], body["usage"]["completion_tokens_details"]
            return read["cached_tokens"], read.get("cache_write_tokens", 0), output["reasoning_tokens"]
